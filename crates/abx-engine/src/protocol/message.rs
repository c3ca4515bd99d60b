//! The WebSocket messages of a load, which the plan and its seed determine.

use abx_evidence::Message;
use abx_wire::websocket::{BEGINNING_BYTES, MessageKind, masked_message_frame};
use xxhash_rust::xxh3::xxh3_64;

use crate::plan::BodyIdentity;
use crate::random::Random;

/// The first and the last visible character of ASCII.
const VISIBLE: (u8, u8) = (b'!', b'~');

/// The payload of a load's message: any bytes, or visible ASCII for a text. The same
/// plan and seed give the same bytes everywhere.
#[must_use]
pub fn payload(message: Message, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let (first, end) = if message.is_text() {
        (VISIBLE.0, u64::from(VISIBLE.1 - VISIBLE.0) + 1)
    } else {
        (0, 256)
    };
    let byte = |_| first + u8::try_from(random.below(end)).expect("below 256");
    (0..message.bytes).map(byte).collect()
}

pub(crate) fn frame_kind(message: Message) -> MessageKind {
    if message.is_text() {
        MessageKind::Text
    } else {
        MessageKind::Binary
    }
}

pub fn identity(message: Message, seed: u64) -> BodyIdentity {
    let payload = payload(message, seed);
    BodyIdentity {
        bytes: payload.len() as u64,
        xxh3: xxh3_64(&payload),
    }
}

/// The single frame that carries a message.
///
/// Its mask depends only on the seed. Masks should differ so that no script in a browser can
/// write chosen bytes to a network (RFC 6455, section 10.3). A load has no such script, and a
/// frame that is encoded once costs nothing per message. The server's work is the same with any
/// mask.
pub fn frame(message: Message, seed: u64) -> Vec<u8> {
    let mut random = Random::new(!seed);
    let mask = [(); 4].map(|()| u8::try_from(1 + random.below(255)).expect("below 256"));
    let mut frame = Vec::new();
    masked_message_frame(
        frame_kind(message),
        &payload(message, seed),
        mask,
        &mut frame,
    );
    frame
}

/// A message that is sent repeatedly. Its payload begins with its number, in `NUMBER_BYTES`
/// hexadecimal digits.
pub struct MessageSource {
    message: Message,
    frame: Vec<u8>,
    /// The offset of its payload in the frame, after the mask.
    payload_at: usize,
}

impl MessageSource {
    /// A source of messages of at least [`NUMBER_BYTES`].
    pub fn new(message: Message, seed: u64) -> MessageSource {
        let frame = frame(message, seed);
        MessageSource {
            payload_at: frame.len() - message.bytes as usize,
            message,
            frame,
        }
    }

    pub fn kind(&self) -> MessageKind {
        frame_kind(self.message)
    }

    pub fn bytes(&self) -> u64 {
        u64::from(self.message.bytes)
    }

    /// Writes the frame of one message to the end of `out`.
    pub fn write(&self, number: u64, out: &mut Vec<u8>) {
        let start = out.len() + self.payload_at;
        out.extend_from_slice(&self.frame);
        let mask = &self.frame[self.payload_at - 4..self.payload_at];
        for (place, masked) in out[start..start + NUMBER_BYTES].iter_mut().enumerate() {
            let shift = 4 * (NUMBER_BYTES - 1 - place);
            let digit = usize::try_from(number >> shift & 0xF).expect("below 16");
            *masked = DIGITS[digit] ^ mask[place % 4];
        }
    }
}

/// The number at the beginning of a message, if there is one.
pub fn number(beginning: &[u8]) -> Option<u64> {
    let digits = beginning.get(..NUMBER_BYTES)?;
    if !digits.iter().all(|digit| DIGITS.contains(digit)) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Length of a number, in bytes: the part of a message's beginning that is kept.
pub(crate) const NUMBER_BYTES: usize = BEGINNING_BYTES;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_and_the_seed_determine_a_payload() {
        // Method: texts are visible, binary payloads have every byte; lengths are
        // as planned; another seed gives other bytes.
        let (text, binary) = (Message::text(10_000), Message::binary(10_000));
        assert!(payload(text, 1).iter().all(u8::is_ascii_graphic));
        let mut seen: Vec<u8> = payload(binary, 1);
        assert_eq!(seen.len(), 10_000);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 256);
        assert_eq!(payload(text, 7), payload(text, 7));
        assert_ne!(payload(text, 7), payload(text, 8));
        assert_eq!(payload(Message::text(0), 1), b"");
    }
}
