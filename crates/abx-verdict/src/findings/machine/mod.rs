//! Disturbances by the machine and its other programs.

pub(super) mod background_work;
pub(super) mod descriptors;
pub(super) mod disturbed_rounds;
pub(crate) mod foreign_cpu;
pub(super) mod generator_paused;
pub(crate) mod generator_wait;
pub(super) mod heat_throttled;
pub(super) mod not_checked;
pub(crate) mod other_programs;
pub(super) mod part_of_time;
pub(super) mod pressure;
pub(super) mod speed_changed;
pub(crate) mod steal;
pub(super) mod throttled;
