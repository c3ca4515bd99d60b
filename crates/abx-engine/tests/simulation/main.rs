//! The engine over a network of virtual time, with faults by seed.
//!
//! `contract.rs` has the rules that every back end keeps; the other files load a pool over the
//! simulated back end.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

mod connections;
mod contract;
mod loads;
mod pipelined;
mod replays;
mod several_workers;
mod simulated;
mod streams;
mod times;
mod users;
mod websocket;
