//! The machine: its clock, processors, memory and counters.

pub mod alarm;
pub mod canary;
pub mod clock;
pub mod conditions;
pub mod counters;
pub mod cpus;
pub mod kept_file;
pub mod machine;
pub mod page_cache;
pub mod pressure;
pub mod strain;
pub mod throttling;
