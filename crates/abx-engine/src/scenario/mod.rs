//! Users that each make sessions of several requests in order, with values carried from one
//! response to the next, as for a login.
//!
//! The unit of other pools is the request, and they send requests that were encoded before.
//! Here the unit is the session: each request is written after the previous response was read,
//! the session has a separate connection, and a failed step ends it. The back ends, the parser
//! and the event loop are the same; [`runner::ScenarioRunner`] is a driver of that loop. The
//! crate's `trial.rs` makes one session before a load, and [`ScenarioPool`] is a pool like any
//! other.

mod cookies;
mod count;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub(crate) mod plan;
mod pool;
pub(crate) mod runner;
pub(crate) mod tally;
mod user;

pub use pool::ScenarioPool;
pub use tally::ScenarioTally;
