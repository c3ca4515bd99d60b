//! The last head that was read, so that the same bytes are not read again.

use super::head::{Head, ResponseKind};

/// Longer heads are not kept.
const BYTES_MAX: usize = 2048;

/// Remembers one head and its meaning.
///
/// The meaning of a head follows from its bytes and the kind of response alone, and a
/// server sends the same head again and again, except for the date each second. So
/// a comparison of bytes stands in for most of the parsing: a tenth of the
/// instructions. A memo may serve any number of connections.
#[derive(Debug, Default)]
pub struct HeadMemo {
    /// A whole head, its empty line included; empty when there is none.
    bytes: Vec<u8>,
    known: Option<(ResponseKind, Head)>,
}

impl HeadMemo {
    /// The head at the front of `input`, with its length, when it is the one that
    /// is remembered.
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

    /// Whether the remembered head stands at the front of `input`.
    #[inline]
    pub(super) fn is_front_of(&self, input: &[u8]) -> bool {
        input.starts_with(&self.bytes)
    }

    /// Remembers a whole head instead of the last one.
    pub(super) fn keep(&mut self, bytes: &[u8], kind: ResponseKind, head: Head) {
        if bytes.len() > BYTES_MAX {
            return;
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.known = Some((kind, head));
    }
}
