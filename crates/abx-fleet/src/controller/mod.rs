//! A controller: it gathers agents, and has them generate one load together.

mod deadline;
mod discovery;
pub mod fleet;
mod line;
mod liveness;
mod member;
mod plan;
mod progress;

pub use plan::{FleetEvent, FleetListener, FleetPlan};
