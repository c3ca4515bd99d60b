//! A twin of the network for tests: virtual time, peers that follow scripts, faults by seed.
//!
//! [`Sim`] is a back end of the engine like the others. [`Network`] describes the network and the
//! peer, a [`PeerScript`] the peer's steps on its connections, and a [`Hub`] the reactions of a
//! WebSocket server. [`Loopback`] follows the same scripts over real sockets.

#![allow(clippy::unwrap_used, reason = "this crate is for tests")]

pub mod certificate;
mod hub;
mod hub_peer;
mod inbox;
mod loopback;
mod network;
mod peer;
mod script;
mod sealed;
mod sim;

pub use hub::{Act, Hub, HubMessage, Rule, frame, to_all};
pub use loopback::Loopback;
pub use network::{Accepting, Discipline, Network, NetworkFaults, Service};
pub use script::{Choice, PeerScript, PeerStep, UNUSED_ADDRESS};
pub use sealed::{Sealed, sealed};
pub use sim::Sim;
