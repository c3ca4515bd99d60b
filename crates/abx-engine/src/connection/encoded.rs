//! A request of the plan as it is sent.

use abx_wire::http1::ResponseKind;

use crate::connection::template::RequestTemplate;

/// One request of the plan as it is sent: several copies, of which any number goes out by
/// one call, as the end of them.
pub(crate) struct Encoded {
    pub(crate) copies: Vec<u8>,
    pub(crate) count: usize,
    /// Bytes of one copy.
    pub(crate) bytes: usize,
    pub(crate) kind: ResponseKind,
    /// Whether the rest of its response's body is worth skipping.
    pub(crate) has_large_response: bool,
    /// Whether it may be sent again when nobody knows what became of it.
    pub(crate) is_idempotent: bool,
    /// What it is put together by each time, when it has placeholders. Then there are no
    /// copies: each goes out by a call of its own.
    pub(crate) template: Option<Box<RequestTemplate>>,
}
