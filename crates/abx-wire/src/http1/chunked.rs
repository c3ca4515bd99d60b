//! The chunked transfer coding (RFC 9112, section 7.1): removes the framing from a body.

use super::fault::{Fault, HEAD_BYTES_MAX};
use super::input::take;

/// The position of the next byte in a chunked body.
///
/// The bytes themselves are not kept. Extensions are skipped. A trailer's lines must be fields, so
/// that the head of the next response is never read as a part of it.
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

/// The content of the front of the input.
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
        if let Some((size, rest)) = self.plain_size(input) {
            *input = rest;
            self.begin(size);
        }
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

    /// The size of the next chunk and what follows it, if all framing before the chunk's data is
    /// here and has no extension, as in nearly all cases.
    fn plain_size<'a>(&self, input: &'a [u8]) -> Option<(u64, &'a [u8])> {
        let line = match self.state {
            ChunkState::SizeStart => input,
            ChunkState::DataCr => input.strip_prefix(b"\r\n")?,
            _ => return None,
        };
        let mut size = 0;
        for (place, byte) in line.iter().take(SIZE_DIGITS_MAX + 1).enumerate() {
            match hex_digit(*byte) {
                Some(digit) if place < SIZE_DIGITS_MAX => size = size << 4 | digit,
                None if place > 0 => return Some((size, line[place..].strip_prefix(b"\r\n")?)),
                _ => break,
            }
        }
        None
    }

    /// Begins the data of a chunk, or the trailer, after a complete size line.
    fn begin(&mut self, size: u64) {
        self.line_bytes = 0;
        self.state = match size {
            0 => ChunkState::TrailerStart,
            size => ChunkState::Data(size),
        };
    }

    /// The state after one byte of framing; `None` if the byte is not allowed here.
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

/// Digits of the largest size.
const SIZE_DIGITS_MAX: usize = 16;

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

#[cfg(test)]
mod tests {
    use super::*;

    /// The data and whether the end came, or the fault.
    fn received(pieces: &[&[u8]]) -> Result<(Vec<u8>, bool), Fault> {
        let (mut chunks, mut data) = (Chunks::new(), Vec::new());
        for piece in pieces {
            let mut input = *piece;
            loop {
                match chunks.receive(&mut input)? {
                    Chunk::Data(part) => data.extend_from_slice(part),
                    Chunk::End => return Ok((data, true)),
                    Chunk::More => break,
                }
            }
        }
        Ok((data, false))
    }

    #[test]
    fn a_size_line_means_the_same_at_once_and_byte_by_byte() {
        // Method: bodies whose size lines are plain, with extensions, wrong, or incomplete; each
        // at once, and a byte at a time, so that no size line arrives complete.
        let bodies: [&[u8]; 13] = [
            b"3\r\nabc\r\n0\r\n\r\n",
            b"00000000000000A\r\n0123456789\r\n0\r\nname: value\r\n\r\n",
            b"0000000000000003\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
            b"00000000000000003\r\nabc\r\n0\r\n\r\n",
            b"1ffffffffffffffff\r\nabc",
            b"ffffffffffffffff\r\nabc",
            b"3;name=value\r\nabc\r\n0 \r\n\r\n",
            b"3\nabc\r\n0\r\n\r\n",
            b"\r\nabc\r\n0\r\n\r\n",
            b"3\rxabc\r\n0\r\n\r\n",
            b"3\r\nabcd\r\n0\r\n\r\n",
            b"g\r\n",
            b"3\r\nab",
        ];
        for body in bodies {
            let bytes: Vec<&[u8]> = body.chunks(1).collect();
            let shown = String::from_utf8_lossy(body);
            assert_eq!(received(&[body]), received(&bytes), "{shown}");
        }
        assert_eq!(received(&[bodies[0]]), Ok((b"abc".to_vec(), true)));
    }
}
