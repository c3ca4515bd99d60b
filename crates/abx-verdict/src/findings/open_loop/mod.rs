//! Whether an open loop kept its pace, and which comparisons remain possible.

pub(crate) mod capacity;
pub(crate) mod kept_up;
pub(super) mod late_sends;
pub(super) mod loop_lag;
pub(super) mod offered_rate_not_reached;
pub(super) mod pace;
pub(super) mod queued;
pub(super) mod times_at_least;
pub(crate) mod too_few_requests;
pub(crate) mod unknown_times;
