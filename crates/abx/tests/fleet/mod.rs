//! Load from several machines.

pub mod agents;
pub mod bus;
pub mod fleet_targets;
pub mod kubernetes;
pub mod lost;
pub mod machines;
