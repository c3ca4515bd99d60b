//! Findings that limit a claim.

mod agents;
mod failures;
pub(crate) mod generator;
mod machine;
mod pace;
mod readings;
mod services;
mod starts;
mod steady;
