//! Loads, their requests and their outcomes.

pub mod endless;
pub mod odd_inputs;
pub mod opened;
pub mod paused;
pub mod placeholders;
pub mod replay;
pub mod requests;
pub mod requests_of_clients;
pub mod runs;
pub mod scenario_comparisons;
pub mod scenarios;
pub mod secrets;
pub mod trusted;
pub mod watched;
