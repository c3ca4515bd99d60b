//! How times are distributed: histograms, their quantiles, and what is made of these.

pub(crate) mod histogram;
pub(crate) mod histograms;
pub(crate) mod phase_times;
pub(crate) mod phases;
pub(crate) mod quantile;
pub(crate) mod server_times;
pub(crate) mod steps;
pub(crate) mod times;
