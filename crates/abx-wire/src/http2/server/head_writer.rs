//! Heads of responses, encoded.

use super::super::frame;
use super::super::hpack;

/// The first block declares our table empty, whatever the client allows, so that no further
/// update is needed when it allows less (RFC 7541, section 4.2).
const NO_TABLE: &[u8] = &[0x20];

/// The contents of a response's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseHead {
    pub status: u16,
    /// Length of the body in bytes; for HEAD, of the body that GET would return.
    pub content_length: u64,
    pub content_type: &'static str,
}

/// Encodes heads, and remembers the last one, which refers to no table that changes.
#[derive(Debug, Default)]
pub(super) struct HeadWriter {
    last: Option<ResponseHead>,
    block: Vec<u8>,
    /// Whether the client knows that our table is empty.
    is_begun: bool,
}

impl HeadWriter {
    pub(super) fn write(
        &mut self,
        stream: u32,
        head: &ResponseHead,
        ends: bool,
        out: &mut Vec<u8>,
    ) {
        if self.last.as_ref() != Some(head) {
            self.encode(head);
        }
        frame::headers(out, stream, self.update(), &self.block, ends);
    }

    pub(super) fn update(&mut self) -> &'static [u8] {
        if std::mem::replace(&mut self.is_begun, true) {
            &[]
        } else {
            NO_TABLE
        }
    }

    fn encode(&mut self, head: &ResponseHead) {
        let block = &mut self.block;
        block.clear();
        hpack::field(block, ":status", &head.status.to_string());
        hpack::field(block, "server", concat!("abx/", env!("CARGO_PKG_VERSION")));
        hpack::field(block, "content-length", &head.content_length.to_string());
        hpack::field(block, "content-type", head.content_type);
        // RFC 9110 requires this header with this status.
        if head.status == 405 {
            hpack::field(block, "allow", "GET, HEAD, POST");
        }
        self.last = Some(*head);
    }
}
