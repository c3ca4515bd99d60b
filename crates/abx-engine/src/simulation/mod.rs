//! The engine over a network of virtual time, with faults by seed: tests only.
//!
//! [`network`] is a back end like the others, [`script`] what its peers do, and
//! [`contract`] the rules that every back end keeps. The others load a pool over it.

mod broadcasts;
mod broken_peers;
pub(crate) mod certificate;
mod closes;
mod contract;
mod counted;
mod courses;
mod echoes;
mod endless;
pub(crate) mod network;
mod opened;
mod paced;
mod pauses;
mod phased;
mod pipelined;
mod replays;
mod rests;
pub(crate) mod scenarios;
pub(crate) mod script;
pub(crate) mod sealed;
mod sessions;
mod several_workers;
mod simulated;
mod streams;
mod timelines;
mod visits;
