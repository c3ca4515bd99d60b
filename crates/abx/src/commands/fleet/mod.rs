//! Commands for load from several machines.

pub mod agent;
#[cfg(feature = "nats")]
pub mod bus;
pub mod collect;
