//! Header blocks: the payload of a HEADERS frame, and of the CONTINUATION frames after it (RFC
//! 9113, sections 6.2 and 6.10).

use std::borrow::Cow;

use super::fault::Fault;
use super::frame::{self, FrameHeader};
use crate::http1::HEAD_BYTES_MAX;

/// A header block.
#[derive(Debug)]
pub(super) struct HeaderBlock<'a> {
    pub(super) stream: u32,
    pub(super) ends_stream: bool,
    /// Its fields, encoded.
    pub(super) bytes: Cow<'a, [u8]>,
}

/// Puts header blocks together. At most one is incomplete.
#[derive(Debug, Default)]
pub(super) struct HeaderBlocks {
    open: Option<HeaderBlock<'static>>,
}

impl HeaderBlocks {
    /// Checks that no other frame interrupts an incomplete block.
    #[inline(always)]
    pub(super) fn check_next(&self, head: FrameHeader) -> Result<(), Fault> {
        match &self.open {
            Some(open) if (head.kind, head.stream) != (frame::CONTINUATION, open.stream) => {
                Err(Fault::Broken("a header block is interrupted"))
            }
            _ => Ok(()),
        }
    }

    /// Takes a HEADERS frame. Returns the block if the frame contains all of it.
    #[inline(always)]
    pub(super) fn begin<'a>(
        &mut self,
        head: FrameHeader,
        payload: &'a [u8],
    ) -> Result<Option<HeaderBlock<'a>>, Fault> {
        let (mut bytes, mut padding) = (payload, 0);
        if head.has(frame::PADDED) {
            let (first, rest) = bytes.split_first().ok_or(Fault::FrameSize)?;
            (bytes, padding) = (rest, usize::from(*first));
        }
        if head.has(frame::PRIORITISED) {
            bytes = bytes.get(5..).ok_or(Fault::FrameSize)?;
        }
        let length = bytes.len().checked_sub(padding).ok_or(PADDING)?;
        let bytes = &bytes[..length];
        let (stream, ends_stream) = (head.stream, head.has(frame::END_STREAM));
        if head.has(frame::END_HEADERS) {
            let bytes = Cow::Borrowed(bytes);
            return Ok(Some(HeaderBlock {
                stream,
                ends_stream,
                bytes,
            }));
        }
        self.open = Some(HeaderBlock {
            stream,
            ends_stream,
            bytes: Cow::Owned(bytes.to_vec()),
        });
        Ok(None)
    }

    /// Takes a CONTINUATION frame. Returns the block if the frame completes it.
    pub(super) fn extend(
        &mut self,
        head: FrameHeader,
        payload: &[u8],
    ) -> Result<Option<HeaderBlock<'static>>, Fault> {
        let none = Fault::Broken("a CONTINUATION frame continues no header block");
        let mut open = self.open.take().ok_or(none)?;
        let bytes = open.bytes.to_mut();
        bytes.extend_from_slice(payload);
        if bytes.len() > HEAD_BYTES_MAX {
            return Err(Fault::HeadTooLarge);
        }
        if head.has(frame::END_HEADERS) {
            return Ok(Some(open));
        }
        self.open = Some(open);
        Ok(None)
    }
}

/// The fault of a frame whose padding exceeds it.
pub(super) const PADDING: Fault = Fault::Broken("padding is longer than its frame");
