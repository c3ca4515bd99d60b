//! What one side receives: from bytes to frames, from frames to messages.

use super::bytes::Bytes;
use super::event::{BEGINNING_BYTES, Message, MessageKind};
use super::fault::Fault;
use super::frame::{CONTROL_PAYLOAD_BYTES_MAX, FRAME_HEAD_BYTES_MAX, FrameHead, Opcode, Sender};
use super::mask::Mask;
use super::utf8::{NotUtf8, Utf8};

/// The longest message that abx sends and accepts, in bytes: 16 MiB.
pub const MESSAGE_BYTES_MAX: u32 = 16 << 20;

/// Limits on what is accepted from a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeLimits {
    /// The longest payload of one frame, in bytes.
    pub frame_bytes: u64,
    /// The longest message, all fragments together, in bytes.
    pub message_bytes: u64,
}

impl Default for SizeLimits {
    /// [`MESSAGE_BYTES_MAX`] for both.
    fn default() -> SizeLimits {
        SizeLimits {
            frame_bytes: MESSAGE_BYTES_MAX.into(),
            message_bytes: MESSAGE_BYTES_MAX.into(),
        }
    }
}

/// The position in the stream of frames.
#[derive(Debug)]
pub(super) struct Inbound {
    /// The side of the peer.
    sender: Sender,
    limits: SizeLimits,
    /// The part of a frame's head that has arrived so far.
    stash: [u8; FRAME_HEAD_BYTES_MAX],
    stash_bytes: usize,
    frame: Option<Frame>,
    /// The message that has begun and not ended.
    message: Option<Message>,
    text: Utf8,
    /// The payload of the last control frame, or of the one in progress.
    control: [u8; CONTROL_PAYLOAD_BYTES_MAX as usize],
    control_bytes: usize,
}

/// A frame whose head has arrived.
#[derive(Debug, Clone, Copy)]
struct Frame {
    opcode: Opcode,
    is_last: bool,
    mask: Mask,
    /// Payload bytes that have arrived.
    received: u64,
    /// Payload bytes still to come.
    left: u64,
}

/// What was read from the front of the input.
pub(super) enum InboundStep<'i> {
    More,
    Data {
        kind: MessageKind,
        bytes: &'i [u8],
    },
    Message(Message),
    /// A complete control frame; its payload is in [`Inbound::control`].
    Control(Opcode),
}

impl Inbound {
    pub(super) fn new(sender: Sender, limits: SizeLimits) -> Inbound {
        Inbound {
            sender,
            limits,
            stash: [0; FRAME_HEAD_BYTES_MAX],
            stash_bytes: 0,
            frame: None,
            message: None,
            text: Utf8::default(),
            control: [0; CONTROL_PAYLOAD_BYTES_MAX as usize],
            control_bytes: 0,
        }
    }

    /// Takes bytes up to the next step to report. Must not be called again after a fault.
    pub(super) fn next<'i>(&mut self, bytes: &mut Bytes<'i>) -> Result<InboundStep<'i>, Fault> {
        loop {
            let Some(frame) = &mut self.frame else {
                match self.take_head(bytes)? {
                    Some(head) => self.begin(head)?,
                    None => return Ok(InboundStep::More),
                }
                continue;
            };
            if frame.left == 0 {
                match self.end_frame()? {
                    Some(step) => return Ok(step),
                    None => continue,
                }
            }
            let available = bytes.peek().len();
            if available == 0 {
                return Ok(InboundStep::More);
            }
            let count = usize::try_from(frame.left).map_or(available, |left| left.min(available));
            let payload = bytes.take_payload(count, frame.mask, frame.received);
            frame.received += count as u64;
            frame.left -= count as u64;
            if frame.opcode.is_control() {
                let end = self.control_bytes + count;
                self.control[self.control_bytes..end].copy_from_slice(payload);
                self.control_bytes = end;
                continue;
            }
            let message = self.message.as_mut().expect("a data frame has its message");
            message.add(payload);
            let kind = message.kind;
            if kind == MessageKind::Text {
                self.text.push(payload)?;
            }
            return Ok(InboundStep::Data {
                kind,
                bytes: payload,
            });
        }
    }

    /// The payload of the last control frame.
    pub(super) fn control(&self) -> &[u8] {
        &self.control[..self.control_bytes]
    }

    /// Bytes of a binary payload that are still to come and need not be looked at.
    pub(super) fn payload_ahead(&self) -> u64 {
        match (&self.frame, &self.message) {
            (Some(frame), Some(message))
                if !frame.opcode.is_control()
                    && message.kind == MessageKind::Binary
                    && message.beginning_bytes() == BEGINNING_BYTES =>
            {
                frame.left
            }
            _ => 0,
        }
    }

    /// Accounts for payload bytes that the caller received and threw away.
    pub(super) fn skip(&mut self, bytes: u64) {
        let ahead = self.payload_ahead();
        assert!(
            bytes <= ahead,
            "{bytes} bytes skipped where {ahead} are left"
        );
        if let (Some(frame), Some(message)) = (&mut self.frame, &mut self.message) {
            frame.received += bytes;
            frame.left -= bytes;
            message.bytes += bytes;
        }
    }

    /// Takes a frame's head, or all of `bytes` into the stash if the head is incomplete.
    fn take_head(&mut self, bytes: &mut Bytes<'_>) -> Result<Option<FrameHead>, Fault> {
        let stashed = self.stash_bytes;
        if stashed == 0
            && let Some((head, length)) = FrameHead::read(bytes.peek(), self.sender)?
        {
            bytes.advance(length);
            return Ok(Some(head));
        }
        let input = bytes.peek();
        let fitting = input.len().min(FRAME_HEAD_BYTES_MAX - stashed);
        self.stash[stashed..stashed + fitting].copy_from_slice(&input[..fitting]);
        let parsed = FrameHead::read(&self.stash[..stashed + fitting], self.sender)?;
        let Some((head, length)) = parsed else {
            // The longest head fits, so all of the input went into the stash.
            self.stash_bytes = stashed + fitting;
            bytes.advance(fitting);
            return Ok(None);
        };
        // The stash alone was no complete head, so the end lies in the input.
        bytes.advance(length - stashed);
        self.stash_bytes = 0;
        Ok(Some(head))
    }

    /// Begins a frame, which must be in sequence and within the limits.
    fn begin(&mut self, head: FrameHead) -> Result<(), Fault> {
        match head.opcode {
            Opcode::Data(_) if self.message.is_some() => return Err(Fault::UnfinishedMessage),
            Opcode::Data(kind) => self.message = Some(Message::new(kind)),
            Opcode::Continuation => {}
            Opcode::Close | Opcode::Ping | Opcode::Pong => self.control_bytes = 0,
        }
        if !head.opcode.is_control() {
            let message = self.message.as_mut().ok_or(Fault::LooseFragment)?;
            if head.bytes > self.limits.frame_bytes {
                return Err(Fault::FrameTooLarge);
            }
            if message.bytes.saturating_add(head.bytes) > self.limits.message_bytes {
                return Err(Fault::MessageTooLarge);
            }
            message.fragments += 1;
        }
        self.frame = Some(Frame {
            opcode: head.opcode,
            is_last: head.is_last,
            mask: head.mask,
            received: 0,
            left: head.bytes,
        });
        Ok(())
    }

    /// Ends a frame; returns the control frame or message that is complete with it.
    fn end_frame(&mut self) -> Result<Option<InboundStep<'static>>, Fault> {
        let frame = self.frame.take().expect("it has just ended");
        if frame.opcode.is_control() {
            return Ok(Some(InboundStep::Control(frame.opcode)));
        }
        if !frame.is_last {
            return Ok(None);
        }
        self.text.finish()?;
        let message = self.message.take().expect("a data frame has its message");
        Ok(Some(InboundStep::Message(message)))
    }
}

impl From<NotUtf8> for Fault {
    fn from(_: NotUtf8) -> Fault {
        Fault::InvalidUtf8
    }
}
