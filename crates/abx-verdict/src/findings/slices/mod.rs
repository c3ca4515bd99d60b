//! Whether the slices of a load represent it.

pub(super) mod few_times;
pub(super) mod little_law;
pub(super) mod never_steady;
pub(super) mod not_settled;
pub(super) mod ran_as_trials;
pub(super) mod silent_connections;
pub(super) mod turns;
pub(super) mod uneven_service;
pub(super) mod warm_up_counted;
