//! The results of one load: outcomes, times and counts, and the offered load. Tallies merge in any
//! order. Start at [`tally`].

pub(crate) mod arrivals;
pub(crate) mod broadcasts;
pub(crate) mod course;
pub(crate) mod distribution;
pub(crate) mod expected_status;
pub(crate) mod held;
pub(crate) mod opening;
pub(crate) mod outcome;
pub(crate) mod request_log;
pub(crate) mod session_sample;
pub(crate) mod share;
pub(crate) mod statuses;
pub(crate) mod sum;
pub(crate) mod tally;
pub(crate) mod timeline;
