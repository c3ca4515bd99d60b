//! Distributions of times: histograms, their quantiles, and figures made of them.

pub(crate) mod histogram;
pub(crate) mod histograms;
pub(crate) mod phase_times;
pub(crate) mod phases;
pub(crate) mod quantile;
pub(crate) mod server_times;
pub(crate) mod steps;
pub(crate) mod times;
