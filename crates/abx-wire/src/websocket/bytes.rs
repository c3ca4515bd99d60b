//! The bytes of one call, as each side may use them.

use super::mask::{Mask, apply};

/// Received bytes, taken from the front.
///
/// A client reads payloads in place; a server must first unmask them there.
#[derive(Debug)]
pub(super) enum Bytes<'i> {
    Shared(&'i [u8]),
    Mutable(&'i mut [u8]),
}

impl<'i> Bytes<'i> {
    pub(super) fn peek(&self) -> &[u8] {
        match self {
            Bytes::Shared(bytes) => bytes,
            Bytes::Mutable(bytes) => bytes,
        }
    }

    /// Drops this many bytes from the front.
    pub(super) fn advance(&mut self, count: usize) {
        self.take(count);
    }

    pub(super) fn clear(&mut self) {
        self.advance(self.peek().len());
    }

    /// Takes this many bytes of a payload, the first of which is at `offset`, and unmasks them.
    pub(super) fn take_payload(&mut self, count: usize, mask: Mask, offset: u64) -> &'i [u8] {
        match self {
            // Frames that a client receives have no mask.
            Bytes::Shared(_) => {}
            Bytes::Mutable(bytes) => apply(mask, offset, &mut bytes[..count]),
        }
        self.take(count)
    }

    /// The remaining bytes of a client's input.
    pub(super) fn into_shared(self) -> &'i [u8] {
        match self {
            Bytes::Shared(bytes) => bytes,
            Bytes::Mutable(bytes) => bytes,
        }
    }

    /// The remaining bytes of a server's input.
    pub(super) fn into_mutable(self) -> &'i mut [u8] {
        match self {
            Bytes::Mutable(bytes) => bytes,
            Bytes::Shared(_) => unreachable!("a server gives bytes that it may change"),
        }
    }

    fn take(&mut self, count: usize) -> &'i [u8] {
        match self {
            Bytes::Shared(bytes) => {
                let (taken, rest) = bytes.split_at(count);
                *bytes = rest;
                taken
            }
            Bytes::Mutable(bytes) => {
                let (taken, rest) = std::mem::take(bytes).split_at_mut(count);
                *bytes = rest;
                taken
            }
        }
    }
}
