//! The machine: its CPUs, memory and counters.

pub mod alarm;
pub mod calibration;
pub mod conditions;
pub mod control_group;
pub mod counters;
pub mod cpus;
pub mod fresh_pages;
pub mod machine;
pub mod page_cache;
pub mod pressure;
pub mod strain;
pub mod throttling;
