//! Users and their sessions.

mod scenarios;
mod sessions;
mod visits;
