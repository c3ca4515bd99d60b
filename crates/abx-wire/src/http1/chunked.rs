//! The chunked transfer coding (RFC 9112, section 7.1): takes the framing off the bytes.

use super::fault::{Fault, HEAD_BYTES_MAX};
use super::input::take;

/// Where in a chunked body the next byte belongs.
///
/// Nothing is kept of the bytes themselves. Extensions are skipped; a trailer's fields
/// have to be fields, so that the head of the next response is never taken for them.
#[derive(Debug)]
pub(super) struct Chunks {
    state: ChunkState,
    /// Bytes of the current size line, or of the whole trailer, so far.
    line_bytes: usize,
}

#[derive(Debug, Clone, Copy)]
enum ChunkState {
    /// Before the first digit of a size.
    SizeStart,
    /// After a digit; the value so far.
    Size(u64),
    /// After the size: an extension or white space.
    Extension(u64),
    /// After the size line's CR.
    SizeEnd(u64),
    /// Inside a chunk's data; the bytes still to come, never zero.
    Data(u64),
    /// After the data: CR, then LF.
    DataCr,
    DataLf,
    /// At the start of a line of the trailer.
    TrailerStart,
    /// Inside the name of a trailer's field, inside its value, and after its CR.
    TrailerName,
    TrailerValue,
    TrailerCr,
    /// After the CR of the empty line that ends the body.
    LastLf,
}

/// What the front of the input was.
pub(super) enum Chunk<'a> {
    /// Part of the body, never empty.
    Data(&'a [u8]),
    End,
    More,
}

impl Chunks {
    pub(super) fn new() -> Chunks {
        Chunks {
            state: ChunkState::SizeStart,
            line_bytes: 0,
        }
    }

    /// Takes bytes up to the next piece of the body, or to the body's end.
    pub(super) fn receive<'a>(&mut self, input: &mut &'a [u8]) -> Result<Chunk<'a>, Fault> {
        while let [byte, rest @ ..] = *input {
            if let ChunkState::Data(left) = self.state {
                let data = take(input, left);
                let left = left - data.len() as u64;
                self.state = match left {
                    0 => ChunkState::DataCr,
                    left => ChunkState::Data(left),
                };
                return Ok(Chunk::Data(data));
            }
            *input = rest;
            self.line_bytes += 1;
            if self.line_bytes > HEAD_BYTES_MAX {
                return Err(Fault::BadChunk);
            }
            if let (ChunkState::LastLf, b'\n') = (self.state, *byte) {
                return Ok(Chunk::End);
            }
            self.state = self.after(*byte).ok_or(Fault::BadChunk)?;
        }
        Ok(Chunk::More)
    }

    /// The state after one byte of framing; `None` when the byte has no right to be here.
    fn after(&mut self, byte: u8) -> Option<ChunkState> {
        Some(match (self.state, byte) {
            (ChunkState::SizeStart, _) => ChunkState::Size(hex_digit(byte)?),
            (ChunkState::Size(size), b'\r') => ChunkState::SizeEnd(size),
            (ChunkState::Size(size), b';' | b' ' | b'\t') => ChunkState::Extension(size),
            (ChunkState::Size(size), _) => {
                ChunkState::Size(size.checked_mul(16)?.checked_add(hex_digit(byte)?)?)
            }
            (ChunkState::Extension(size), b'\r') => ChunkState::SizeEnd(size),
            (ChunkState::Extension(size), byte) if byte != b'\n' => ChunkState::Extension(size),
            (ChunkState::SizeEnd(size), b'\n') => {
                self.line_bytes = 0;
                match size {
                    0 => ChunkState::TrailerStart,
                    size => ChunkState::Data(size),
                }
            }
            (ChunkState::DataCr, b'\r') => ChunkState::DataLf,
            (ChunkState::DataLf, b'\n') => {
                self.line_bytes = 0;
                ChunkState::SizeStart
            }
            (ChunkState::TrailerStart, b'\r') => ChunkState::LastLf,
            (ChunkState::TrailerName, b':') => ChunkState::TrailerValue,
            (ChunkState::TrailerStart | ChunkState::TrailerName, _) if is_name(byte) => {
                ChunkState::TrailerName
            }
            (ChunkState::TrailerValue, b'\r') => ChunkState::TrailerCr,
            (ChunkState::TrailerValue, _) if is_value(byte) => ChunkState::TrailerValue,
            (ChunkState::TrailerCr, b'\n') => ChunkState::TrailerStart,
            _ => return None,
        })
    }
}

/// Whether a byte may stand in the name of a field: a token (RFC 9110, section 5.6.2).
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Whether a byte may stand in the value of a field (RFC 9110, section 5.5).
fn is_value(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~' | 0x80..)
}

fn hex_digit(byte: u8) -> Option<u64> {
    char::from(byte).to_digit(16).map(u64::from)
}
