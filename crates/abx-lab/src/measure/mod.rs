//! Loads servers that run, and reads their use and that of the machine meanwhile.

pub mod abort;
pub mod block;
pub mod exploration;
pub mod host;
pub mod idle_connections;
pub mod machine;
pub mod meter;
pub mod opened_pool;
pub mod pilot;
pub mod planned_load;
pub mod rate_search;
pub mod rate_steps;
pub mod running_services;
pub mod running_subjects;
#[cfg(test)]
pub mod simulation;
pub mod timeout_waits;
