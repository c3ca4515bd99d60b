//! The text of a file, plain or compressed by zstd. The first bytes of a file show its form; the
//! name of a new file sets it.

#[cfg(any(test, fuzzing))]
pub mod fuzz;

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use abx_engine::input_file::open_input;

/// The most that a file may hold, compressed or not: 256 MiB, thirty times the largest study known.
/// A larger file is not read any further.
const TEXT_BYTES_MAX: u64 = 256 << 20;
/// The first bytes of a file compressed by zstd (RFC 8878, 3.1.1).
const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();
/// The suffix of a name that requests compression.
const ENDING: &str = "zst";

/// The trade-off between the time to write a file and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// Hundreds of MB per second: for files that are replaced again and again.
    Quick,
    /// A few MB per second, and a fifth smaller: for files that stay as they are.
    Small,
}

impl Packing {
    /// The level of zstd.
    fn level(self) -> i32 {
        match self {
            Packing::Quick => 3,
            Packing::Small => 19,
        }
    }
}

/// Reads the text of a file, whether it is compressed or not.
///
/// # Errors
/// The error of the system; [`io::ErrorKind::InvalidData`], with a remedy, for a file that is
/// damaged, cut off, no text, or larger than 256 MiB.
pub fn read_text(path: &Path) -> io::Result<String> {
    text_of(open_input(path)?, TEXT_BYTES_MAX)
}

/// The text of these bytes, if it is no longer than `bytes_max`.
fn text_of(bytes: impl Read, bytes_max: u64) -> io::Result<String> {
    let mut text = String::new();
    read_into(&mut text, bytes, bytes_max)?;
    Ok(text)
}

fn read_into(text: &mut String, bytes: impl Read, bytes_max: u64) -> io::Result<()> {
    let mut bytes = BufReader::new(bytes);
    if bytes.fill_buf()?.starts_with(&MAGIC) {
        let unpacked = zstd::Decoder::with_buffer(bytes)?;
        let result = unpacked.take(bytes_max + 1).read_to_string(text);
        result.map_err(damaged)?;
    } else {
        bytes.take(bytes_max + 1).read_to_string(text)?;
    }
    if text.len() as u64 > bytes_max {
        let mib = bytes_max >> 20;
        let why = format!("it holds more than {mib} MiB, which no record does: give another file");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(())
}

fn damaged(error: io::Error) -> io::Error {
    let why = format!(
        "its zstd data are damaged or cut off ({error}): copy the file again, or test it with \
         `zstd -t`"
    );
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Writes to a file, compressed if `path` ends in `.zst`, and returns the file.
pub(super) fn fill<W: Write>(
    file: W,
    path: &Path,
    packing: Packing,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<W> {
    if path.extension().is_none_or(|suffix| suffix != ENDING) {
        let mut file = BufWriter::new(file);
        write(&mut file)?;
        return file.into_inner().map_err(io::IntoInnerError::into_error);
    }
    pack(file, packing, write)
}

fn pack<W: Write>(
    to: W,
    packing: Packing,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<W> {
    let mut packer = zstd::Encoder::new(to, packing.level())?;
    // Without a checksum, a changed bit may go unnoticed.
    packer.include_checksum(true)?;
    let mut packer = BufWriter::new(packer);
    write(&mut packer)?;
    let packer = packer.into_inner();
    packer.map_err(io::IntoInnerError::into_error)?.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        pack(Vec::new(), Packing::Quick, |to| to.write_all(text)).unwrap()
    }

    #[test]
    fn what_fuzzing_kept_is_read_or_refused() {
        // Method: the fuzz target's body, on kept inputs and changes of them.
        abx_corpus::replay("record_file", 1_000, fuzz::any_bytes);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..300), is_packed: bool,
        ) {
            // Method: noise, and noise that begins as zstd does.
            let magic: &[u8] = if is_packed { &MAGIC } else { &[] };
            fuzz::any_bytes(&[magic, &bytes].concat());
        }
    }

    #[test]
    fn a_file_larger_than_any_record_is_refused_unread() {
        // Method: 64 MiB of zeroes, compressed to 6 kB and plain, against a limit of 1 MiB. One
        // byte more than the limit is read, to detect the excess. A file of exactly 1 MiB is read.
        let long = vec![b'0'; 64 << 20];
        let bomb = packed(&long);
        assert!(bomb.len() < 20_000);
        for bytes in [&bomb, &long] {
            let mut text = String::new();
            let error = read_into(&mut text, &bytes[..], 1 << 20).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().contains("more than 1 MiB"), "{error}");
            assert_eq!(text.len(), (1 << 20) + 1);
        }
        let longest = packed(&long[..1 << 20]);
        assert_eq!(text_of(&longest[..], 1 << 20).unwrap().len(), 1 << 20);
    }

    #[test]
    fn every_cut_and_every_harmful_change_of_a_byte_is_detected() {
        // Method: a compressed text, cut before every byte and changed at every byte.
        let text = "{\"schema\":\"abx.study/1\"}".repeat(9);
        let bytes = packed(text.as_bytes());
        assert_eq!(text_of(&bytes[..], 1 << 20).unwrap(), text);
        for index in MAGIC.len()..bytes.len() {
            let error = text_of(&bytes[..index], 1 << 20).unwrap_err();
            assert!(error.to_string().contains("cut off"), "{index}: {error}");
            let mut changed = bytes.clone();
            changed[index] ^= 0x10;
            let read = text_of(&changed[..], 1 << 20);
            assert!(read.is_err() || read.unwrap() == text, "{index}");
        }
    }
}
