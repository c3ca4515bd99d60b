//! The chunked transfer coding (RFC 9112, section 7.1): framing away, bytes through.

use super::{Fault, HEAD_BYTES_MAX, take};

/// Where in a chunked body the next byte belongs.
///
/// Nothing is kept of the bytes themselves; extensions and trailers are dropped.
#[derive(Debug)]
pub(super) struct Chunks {
    place: Place,
    /// Bytes of the current size line, or of the whole trailer, so far.
    line_bytes: usize,
}

#[derive(Debug, Clone, Copy)]
enum Place {
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
    /// Inside a line of the trailer, and after its CR.
    Trailer,
    TrailerCr,
    /// After the CR of the empty line that ends the body.
    LastLf,
}

/// What the front of the input was.
pub(super) enum Chunk<'a> {
    /// Part of the body, never empty.
    Data(&'a [u8]),
    /// The body has ended.
    End,
    /// The input is used up.
    More,
}

impl Chunks {
    pub(super) fn new() -> Chunks {
        Chunks {
            place: Place::SizeStart,
            line_bytes: 0,
        }
    }

    /// Takes bytes up to the next piece of the body, or to the body's end.
    pub(super) fn receive<'a>(&mut self, input: &mut &'a [u8]) -> Result<Chunk<'a>, Fault> {
        while let [byte, rest @ ..] = *input {
            if let Place::Data(left) = self.place {
                let data = take(input, left);
                let left = left - data.len() as u64;
                self.place = match left {
                    0 => Place::DataCr,
                    left => Place::Data(left),
                };
                return Ok(Chunk::Data(data));
            }
            *input = rest;
            self.line_bytes += 1;
            if self.line_bytes > HEAD_BYTES_MAX {
                return Err(Fault::BadChunk);
            }
            if let (Place::LastLf, b'\n') = (self.place, *byte) {
                return Ok(Chunk::End);
            }
            self.place = self.after(*byte).ok_or(Fault::BadChunk)?;
        }
        Ok(Chunk::More)
    }

    /// The place behind one byte of framing; `None` when the byte has no right to be here.
    fn after(&mut self, byte: u8) -> Option<Place> {
        Some(match (self.place, byte) {
            (Place::SizeStart, _) => Place::Size(hex_digit(byte)?),
            (Place::Size(size), b'\r') => Place::SizeEnd(size),
            (Place::Size(size), b';' | b' ' | b'\t') => Place::Extension(size),
            (Place::Size(size), _) => {
                Place::Size(size.checked_mul(16)?.checked_add(hex_digit(byte)?)?)
            }
            (Place::Extension(size), b'\r') => Place::SizeEnd(size),
            (Place::Extension(size), byte) if byte != b'\n' => Place::Extension(size),
            (Place::SizeEnd(size), b'\n') => {
                self.line_bytes = 0;
                match size {
                    0 => Place::TrailerStart,
                    size => Place::Data(size),
                }
            }
            (Place::DataCr, b'\r') => Place::DataLf,
            (Place::DataLf, b'\n') => {
                self.line_bytes = 0;
                Place::SizeStart
            }
            (Place::TrailerStart, b'\r') => Place::LastLf,
            (Place::TrailerStart | Place::Trailer, byte) if byte != b'\n' => match byte {
                b'\r' => Place::TrailerCr,
                _ => Place::Trailer,
            },
            (Place::TrailerCr, b'\n') => Place::TrailerStart,
            _ => return None,
        })
    }
}

fn hex_digit(byte: u8) -> Option<u64> {
    char::from(byte).to_digit(16).map(u64::from)
}
