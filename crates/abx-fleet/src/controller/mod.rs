//! A controller: it gathers agents, and has them make one load together.

mod deadline;
pub mod fleet;
mod gathering;
mod line;
mod member;
mod plan;
mod progress;
mod roll_call;

pub use plan::{FleetNews, FleetPlan, TellFleet};
