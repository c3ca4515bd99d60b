//! Expectations of a study, and whether its intervals meet them. An expectation is not part of a
//! record. Start at [`Expectation::parse`] for the syntax, at [`expectation_results`] for the
//! results.

#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod limit_state;
mod reading;
mod result;
mod results;
mod statement;
mod threshold;
mod words;

pub use limit_state::{LimitState, blocks_until_settled, limit_state, limit_state_under};
pub use result::{Doubt, ExpectationResult, GoalReading, Standing};
pub use results::expectation_results;
pub use statement::{Expectation, RatioExpectation, Sign, Threshold};
pub use words::{ExpectationError, KnownNames};
