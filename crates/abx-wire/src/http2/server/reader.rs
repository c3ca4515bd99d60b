//! Splits bytes into frames, in whatever pieces they arrive.

use super::super::fault::Fault;
use super::super::frame::{FrameHeader, HEAD_BYTES, PAYLOAD_BYTES_MAX};

/// Splits the bytes of a connection into frames.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    state: ReadState,
    /// The received part of a frame's head or payload.
    gathered: Vec<u8>,
}

/// The position of the next byte in the frames.
#[derive(Debug, Clone, Copy, Default)]
enum ReadState {
    #[default]
    Head,
    Payload(FrameHeader),
    /// In a payload that is skipped, with the number of bytes to come.
    Skip(usize),
}

#[derive(Debug)]
pub(super) enum FramePart<'i> {
    More,
    /// The head of a frame; the caller decides what is done with its payload.
    Head(FrameHeader),
    /// A requested payload, which lies in the input.
    Payload(FrameHeader, &'i [u8]),
    /// A requested payload that arrived in parts: [take](FrameReader::take_gathered) it.
    Gathered(FrameHeader),
    /// The skipped bytes have ended.
    Skipped,
}

impl FrameReader {
    /// The next part of the input.
    ///
    /// # Errors
    /// A frame that is longer than allowed.
    pub(super) fn next<'i>(&mut self, input: &mut &'i [u8]) -> Result<FramePart<'i>, Fault> {
        match self.state {
            ReadState::Head => self.head(input),
            ReadState::Payload(head) => Ok(self.payload(head, input)),
            ReadState::Skip(left) => {
                let (part, rest) = input.split_at(input.len().min(left));
                *input = rest;
                let left = left - part.len();
                if left > 0 {
                    self.state = ReadState::Skip(left);
                    return Ok(FramePart::More);
                }
                self.state = ReadState::Head;
                Ok(FramePart::Skipped)
            }
        }
    }

    /// Requests the payload of the last frame head, to be returned as a whole.
    pub(super) fn want(&mut self, head: FrameHeader) {
        self.state = ReadState::Payload(head);
    }

    /// Skips this many bytes of the payload.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.state = ReadState::Skip(bytes);
    }

    /// The payload that arrived in parts; return its memory by [`FrameReader::give_back`].
    pub(super) fn take_gathered(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.gathered)
    }

    pub(super) fn give_back(&mut self, mut payload: Vec<u8>) {
        payload.clear();
        self.gathered = payload;
    }

    fn head<'i>(&mut self, input: &mut &'i [u8]) -> Result<FramePart<'i>, Fault> {
        let head = match input.split_first_chunk() {
            Some((head, rest)) if self.gathered.is_empty() => {
                *input = rest;
                FrameHeader::read(head)
            }
            _ => {
                self.gather(input, HEAD_BYTES);
                let Some(head) = self.gathered.first_chunk() else {
                    return Ok(FramePart::More);
                };
                let head = FrameHeader::read(head);
                self.gathered.clear();
                head
            }
        };
        if head.length > PAYLOAD_BYTES_MAX {
            Err(Fault::FrameSize)
        } else {
            Ok(FramePart::Head(head))
        }
    }

    fn payload<'i>(&mut self, head: FrameHeader, input: &mut &'i [u8]) -> FramePart<'i> {
        if self.gathered.is_empty()
            && let Some((payload, rest)) = input.split_at_checked(head.length)
        {
            *input = rest;
            self.state = ReadState::Head;
            return FramePart::Payload(head, payload);
        }
        self.gather(input, head.length);
        if self.gathered.len() < head.length {
            return FramePart::More;
        }
        self.state = ReadState::Head;
        FramePart::Gathered(head)
    }

    /// Gathers up to `bytes` bytes from the front of `input`.
    fn gather(&mut self, input: &mut &[u8], bytes: usize) {
        let missing = bytes - self.gathered.len();
        let (part, rest) = input.split_at(input.len().min(missing));
        self.gathered.extend_from_slice(part);
        *input = rest;
    }
}
