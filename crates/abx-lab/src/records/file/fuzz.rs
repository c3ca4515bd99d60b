//! Properties of any bytes that are read as a file, checked by a fuzz target and by a property
//! test.

use super::{MAGIC, Packing, pack, text_of};

/// The most bytes of text that are read.
const BYTES_MAX: u64 = 1 << 20;

/// Any bytes are read or refused: bytes other than zstd are read as they are, no text exceeds the
/// limit, and a compressed text is read back.
///
/// # Panics
/// If a promise is broken.
pub fn any_bytes(bytes: &[u8]) {
    let read = text_of(bytes, BYTES_MAX);
    if let Ok(text) = &read {
        assert!(text.len() as u64 <= BYTES_MAX);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let fits = text.len() as u64 <= BYTES_MAX;
    if !bytes.starts_with(&MAGIC) {
        assert_eq!(read.ok().as_deref(), fits.then_some(text));
    }
    let packed = pack(Vec::new(), Packing::Quick, |to| to.write_all(bytes));
    let packed = packed.expect("memory takes all that is written");
    let unpacked = text_of(&packed[..], BYTES_MAX);
    assert_eq!(unpacked.ok().as_deref(), fits.then_some(text));
    let cut = &packed[..packed.len() - 1];
    assert!(text_of(cut, BYTES_MAX).is_err(), "a cut is not noticed");
}
