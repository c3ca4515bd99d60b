//! The two sides of a measurement: the host that subjects run on and the host that load comes from.
//! On one machine both are this machine; their readings stay separate, since load may come from
//! elsewhere.

mod call_profiler;
mod emptied;
pub mod generator;
mod idle_time;
pub mod other_programs;
pub mod processors;
pub mod profile_edge;
pub mod profiler;
pub mod services;
pub mod subjects;
