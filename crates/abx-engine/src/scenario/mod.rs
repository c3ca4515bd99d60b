//! Users that each make sessions of several requests in order, with values carried from one
//! response to the next, as for a login.
//!
//! A pool sends requests that were encoded before, over and over, and its unit is the request.
//! Here the unit is the session: its next request is written when the response before it has
//! been read, it has a connection of its own, and one failed step ends it. The back ends and
//! the parser are the same, and so is the loop, of which [`runner::ScenarioRunner`] is one
//! driver. The crate's `trial.rs` makes one session before a load, and [`ScenarioPool`] is a
//! pool like any other.

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
