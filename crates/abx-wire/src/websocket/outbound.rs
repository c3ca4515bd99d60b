//! What one side sends: from messages to frames.

use super::close::Close;
use super::event::MessageKind;
use super::frame::{CONTROL_PAYLOAD_BYTES_MAX, FrameHead, Opcode, Sender};
use super::mask::{Masking, apply};

/// The longest payload of a ping, in bytes. The reason of a close can have two bytes less.
pub const CONTROL_BYTES_MAX: usize = CONTROL_PAYLOAD_BYTES_MAX as usize;

/// A fragment's place in its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FragmentPlace {
    Inner,
    /// The message ends with it.
    Last,
}

/// Nothing can be sent: the handshake is not done, or the connection is closing or broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the WebSocket is not open: send after the handshake and before either side closes")]
pub struct NotOpen;

/// Writes a complete message as a server sends it, to the end of `out`.
///
/// It is the same for every client, so a message to many of them is written once. `payload`
/// of a text must be UTF-8, which is not checked. Allocates nothing but room in `out`.
pub fn message_frame(kind: MessageKind, payload: &[u8], out: &mut Vec<u8>) {
    FrameHead {
        opcode: Opcode::Data(kind),
        is_last: true,
        bytes: payload.len() as u64,
        mask: [0; 4],
    }
    .write(Sender::Server, out);
    out.extend_from_slice(payload);
}

/// Writes a complete message as a client sends it, to the end of `out`.
///
/// For callers that send the same message again and again, and so encode it once with one
/// mask: see [`Masking::Fixed`]. `payload` of a text must be UTF-8, which is not checked.
pub fn masked_message_frame(kind: MessageKind, payload: &[u8], mask: [u8; 4], out: &mut Vec<u8>) {
    let mut client = Outbound::Client {
        masking: Masking::Fixed(mask),
        is_inside_message: false,
    };
    client.fragment(kind, payload, FragmentPlace::Last, out);
}

#[derive(Debug)]
pub(super) enum Outbound {
    Client {
        masking: Masking,
        is_inside_message: bool,
    },
    Server {
        is_inside_message: bool,
    },
}

impl Outbound {
    /// Writes one fragment; the first one carries the message's kind.
    pub(super) fn fragment(
        &mut self,
        kind: MessageKind,
        payload: &[u8],
        place: FragmentPlace,
        out: &mut Vec<u8>,
    ) {
        let (Outbound::Client {
            is_inside_message, ..
        }
        | Outbound::Server { is_inside_message }) = self;
        let continues = place == FragmentPlace::Inner;
        let opcode = if std::mem::replace(is_inside_message, continues) {
            Opcode::Continuation
        } else {
            Opcode::Data(kind)
        };
        self.frame(opcode, place, payload, out);
    }

    pub(super) fn control(&mut self, opcode: Opcode, payload: &[u8], out: &mut Vec<u8>) {
        assert!(
            payload.len() <= CONTROL_BYTES_MAX,
            "a control frame of {} bytes",
            payload.len()
        );
        self.frame(opcode, FragmentPlace::Last, payload, out);
    }

    pub(super) fn close(&mut self, close: Close<'_>, out: &mut Vec<u8>) {
        let mut payload = [0; CONTROL_BYTES_MAX];
        let mut end = 0;
        if let Some(code) = close.code {
            payload[..2].copy_from_slice(&code.number().to_be_bytes());
            end = 2 + close.reason.len();
            assert!(end <= CONTROL_BYTES_MAX, "a close of {end} bytes");
            payload[2..end].copy_from_slice(close.reason.as_bytes());
        }
        self.control(Opcode::Close, &payload[..end], out);
    }

    fn frame(&mut self, opcode: Opcode, place: FragmentPlace, payload: &[u8], out: &mut Vec<u8>) {
        let (sender, mask) = match self {
            Outbound::Client { masking, .. } => (Sender::Client, masking.next()),
            Outbound::Server { .. } => (Sender::Server, [0; 4]),
        };
        FrameHead {
            opcode,
            is_last: place == FragmentPlace::Last,
            bytes: payload.len() as u64,
            mask,
        }
        .write(sender, out);
        let start = out.len();
        out.extend_from_slice(payload);
        if sender == Sender::Client {
            apply(mask, 0, &mut out[start..]);
        }
    }
}
