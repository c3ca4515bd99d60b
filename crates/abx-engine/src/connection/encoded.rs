//! A request of the plan as the back end knows it.

use abx_wire::http1::AnswerKind;

use crate::io::RequestId;

/// One request of the plan as the back end knows it: several copies, of which
/// any number goes out by one call, as the end of them.
#[derive(Clone, Copy)]
pub(crate) struct Encoded {
    pub(crate) id: RequestId,
    /// Of one copy.
    pub(crate) bytes: usize,
    pub(crate) copies: usize,
    pub(crate) kind: AnswerKind,
    /// Whether the rest of its answer's body is worth skipping.
    pub(crate) has_large_answer: bool,
    /// Whether it may be sent again when nobody knows what became of it.
    pub(crate) is_idempotent: bool,
}
