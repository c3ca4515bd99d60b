//! The head of a frame (RFC 6455, section 5.2), from bytes and to bytes.

use super::event::MessageKind;
use super::fault::Fault;
use super::mask::Mask;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opcode {
    Continuation,
    Data(MessageKind),
    Close,
    Ping,
    Pong,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    Client,
    /// Its frames are not.
    Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub(super) opcode: Opcode,
    /// The message has no further frame.
    pub(super) is_last: bool,
    /// Length of the payload, in bytes.
    pub(super) bytes: u64,
    /// All zeroes if there is no mask.
    pub(super) mask: Mask,
}

/// The longest head, in bytes.
pub(super) const FRAME_HEAD_BYTES_MAX: usize = 14;

/// The longest payload of a control frame, in bytes.
pub(super) const CONTROL_PAYLOAD_BYTES_MAX: u64 = 125;

impl Opcode {
    fn of(number: u8) -> Option<Opcode> {
        Some(match number {
            0 => Opcode::Continuation,
            1 => Opcode::Data(MessageKind::Text),
            2 => Opcode::Data(MessageKind::Binary),
            8 => Opcode::Close,
            9 => Opcode::Ping,
            10 => Opcode::Pong,
            _ => return None,
        })
    }

    fn number(self) -> u8 {
        match self {
            Opcode::Continuation => 0,
            Opcode::Data(MessageKind::Text) => 1,
            Opcode::Data(MessageKind::Binary) => 2,
            Opcode::Close => 8,
            Opcode::Ping => 9,
            Opcode::Pong => 10,
        }
    }

    pub(super) fn is_control(self) -> bool {
        matches!(self, Opcode::Close | Opcode::Ping | Opcode::Pong)
    }
}

impl FrameHead {
    /// Reads a head from the front of `bytes` and returns it with its own length;
    /// `None` if it extends beyond them.
    ///
    /// A fault is reported as soon as its byte is there, so that the pieces in which bytes arrive
    /// cannot change which fault it is.
    pub(super) fn read(bytes: &[u8], sender: Sender) -> Result<Option<(FrameHead, usize)>, Fault> {
        let Some(first) = bytes.first() else {
            return Ok(None);
        };
        if first & 0x70 != 0 {
            return Err(Fault::ReservedBits);
        }
        let opcode = Opcode::of(first & 0x0F).ok_or(Fault::UnknownOpcode(first & 0x0F))?;
        let is_last = first & 0x80 != 0;
        if opcode.is_control() && !is_last {
            return Err(Fault::FragmentedControl);
        }
        let Some(second) = bytes.get(1) else {
            return Ok(None);
        };
        let is_masked = second & 0x80 != 0;
        match sender {
            Sender::Client if !is_masked => return Err(Fault::Unmasked),
            Sender::Server if is_masked => return Err(Fault::Masked),
            Sender::Client | Sender::Server => {}
        }
        let short = second & 0x7F;
        if opcode.is_control() && u64::from(short) > CONTROL_PAYLOAD_BYTES_MAX {
            return Err(Fault::ControlTooLarge);
        }
        let Some((length, length_bytes)) = read_length(short, &bytes[2..])? else {
            return Ok(None);
        };
        let mut end = 2 + length_bytes;
        let mut mask = [0; 4];
        if is_masked {
            let Some(mask_bytes) = bytes.get(end..end + 4) else {
                return Ok(None);
            };
            mask.copy_from_slice(mask_bytes);
            end += 4;
        }
        let head = FrameHead {
            opcode,
            is_last,
            bytes: length,
            mask,
        };
        Ok(Some((head, end)))
    }

    /// Writes the head to the end of `out`; `mask` is written only for a client.
    pub(super) fn write(&self, sender: Sender, out: &mut Vec<u8>) {
        let mask_bit = match sender {
            Sender::Client => 0x80,
            Sender::Server => 0,
        };
        let mut head = [0; FRAME_HEAD_BYTES_MAX];
        head[0] = u8::from(self.is_last) << 7 | self.opcode.number();
        let mut end = 2;
        head[1] = mask_bit
            | match self.bytes {
                // Below 126, so it fits.
                short @ 0..126 => short as u8,
                medium @ 126..=0xFFFF => {
                    head[2..4].copy_from_slice(&(medium as u16).to_be_bytes());
                    end = 4;
                    126
                }
                long => {
                    head[2..10].copy_from_slice(&long.to_be_bytes());
                    end = 10;
                    127
                }
            };
        if sender == Sender::Client {
            head[end..end + 4].copy_from_slice(&self.mask);
            end += 4;
        }
        out.extend_from_slice(&head[..end]);
    }
}

/// The length that follows the second byte, with the bytes that it takes.
fn read_length(short: u8, bytes: &[u8]) -> Result<Option<(u64, usize)>, Fault> {
    let (length, taken, shortest) = match short {
        126 => match bytes.first_chunk() {
            Some(length) => (u64::from(u16::from_be_bytes(*length)), 2, 126),
            None => return Ok(None),
        },
        127 => match bytes.first_chunk() {
            Some(length) => (u64::from_be_bytes(*length), 8, 0x1_0000),
            None => return Ok(None),
        },
        short => (u64::from(short), 0, 0),
    };
    // The highest bit must be zero.
    if length < shortest || length > i64::MAX as u64 {
        return Err(Fault::BadLength);
    }
    Ok(Some((length, taken)))
}
