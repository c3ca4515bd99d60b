//! A request of the plan as it is sent.

use crate::plan::{LoadPlan, WeightedRequest};
use abx_wire::http1::ResponseKind;

use crate::connection::template::RequestTemplate;

/// One request of the plan as it is sent: several copies, so that one call can send any number of
/// them, taken from the end.
pub(crate) struct Encoded {
    pub(crate) copies: Vec<u8>,
    pub(crate) count: usize,
    /// Bytes of one copy.
    pub(crate) bytes: usize,
    pub(crate) kind: ResponseKind,
    /// Whether the rest of the response body is worth skipping.
    pub(crate) has_large_response: bool,
    /// Whether it may be sent again if its effect is unknown.
    pub(crate) is_idempotent: bool,
    /// Builds the request each time, if it has placeholders. Then there are no copies, and
    /// each request takes a separate call.
    pub(crate) template: Option<Box<RequestTemplate>>,
}

/// The least rest of a body that is worth skipping, in bytes.
///
/// Skipping costs two more receives and saves a copy of the body. Measured: nginx
/// with sendfile on loopback, 50 connections on one thread, alternate slices of 200 ms that
/// read and skipped, median CPU time per request. 12 and 16 KiB: equal; 20 KiB: 2 % less;
/// 34 kB: 14 % less; 64 KiB: 27 %; 96 KiB: 38 %.
pub(crate) const SKIP_MIN: u64 = 16 * 1024;
/// The most bytes of the first receive of a response if its body is to be skipped:
/// a usual head, and little of the body.
pub(crate) const HEAD_BYTES: u16 = 2048;

/// Whether the responses to a request are known to have a body that is worth
/// skipping, even after the part that comes with the head.
pub(crate) fn has_large_response(plan: &LoadPlan, weighted: &WeightedRequest) -> bool {
    // Only reading shows that a text is UTF-8.
    let is_text = plan
        .shape
        .message()
        .is_some_and(abx_evidence::Message::is_text);
    let body = weighted.expect.body.filter(|_| !is_text);
    body.is_some_and(|body| body.bytes >= SKIP_MIN + u64::from(HEAD_BYTES))
}
