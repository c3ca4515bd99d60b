//! The fate of requests, messages and connections.

pub(super) mod body_varies;
pub(super) mod connections_not_held;
pub(super) mod connections_not_kept;
pub(super) mod delayed_acknowledgements;
pub(super) mod failed_requests;
pub(super) mod generator_exhausted;
pub(super) mod lacked;
pub(super) mod listeners_missed;
pub(crate) mod no_responses;
pub(super) mod not_connected;
pub(super) mod not_resumed;
pub(super) mod requests_resent;
pub(super) mod stopped_responding;
pub(super) mod unequal_responses;
