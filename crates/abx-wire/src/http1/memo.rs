//! The last head that was parsed, so that the same bytes are not parsed again.

use super::head::{Head, ResponseKind};

/// Longer heads are not kept.
const BYTES_MAX: usize = 2048;

/// Remembers one head and its meaning.
///
/// The meaning of a head follows from its bytes and the kind of response alone, and a
/// server sends the same head again and again, except for the date each second. So a comparison
/// of bytes replaces most of the parsing, with a tenth of the instructions. A memo may serve any
/// number of connections.
#[derive(Debug, Default)]
pub struct HeadMemo {
    /// A complete head with its empty line; empty if there is none.
    bytes: Vec<u8>,
    known: Option<(ResponseKind, Head)>,
}

impl HeadMemo {
    /// The head at the front of `input`, with its length, if it is the remembered one.
    #[inline(always)]
    pub(super) fn recall(&self, input: &[u8], kind: ResponseKind) -> Option<(Head, usize)> {
        self.known(kind).filter(|_| self.is_front_of(input))
    }

    /// The remembered head, with its length.
    #[inline]
    pub(super) fn known(&self, kind: ResponseKind) -> Option<(Head, usize)> {
        let (known, head) = self.known?;
        (known == kind).then_some((head, self.bytes.len()))
    }

    /// Whether the remembered head is at the front of `input`.
    #[inline]
    pub(super) fn is_front_of(&self, input: &[u8]) -> bool {
        input.starts_with(&self.bytes)
    }

    /// Remembers a complete head instead of the last one.
    pub(super) fn keep(&mut self, bytes: &[u8], kind: ResponseKind, head: Head) {
        if bytes.len() > BYTES_MAX {
            return;
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.known = Some((kind, head));
    }
}
