//! Which side was the limit.

pub(crate) mod compared;
pub(super) mod disturbances;
pub(super) mod generator_bound;
pub(super) mod near_ceiling;
pub(super) mod not_saturated;
pub(super) mod service_bound;
pub(super) mod shared_cpus;
