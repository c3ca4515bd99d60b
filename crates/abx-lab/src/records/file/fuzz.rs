//! Properties of any bytes that are read as a file, checked by a fuzz target and by a property
//! test.

use super::{MAGIC, Packing, pack, text_of};

/// Room that no input exceeds without an error.
const ROOM: u64 = 1 << 20;

/// Any bytes are read or refused: bytes that are no zstd are read as they are, nothing is longer
/// than its room, and a compressed text comes back.
///
/// # Panics
/// When a promise is broken.
pub fn any_bytes(bytes: &[u8]) {
    let read = text_of(bytes, ROOM);
    if let Ok(text) = &read {
        assert!(text.len() as u64 <= ROOM);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let fits = text.len() as u64 <= ROOM;
    if !bytes.starts_with(&MAGIC) {
        assert_eq!(read.ok().as_deref(), fits.then_some(text));
    }
    let packed = pack(Vec::new(), Packing::Quick, |to| to.write_all(bytes));
    let packed = packed.expect("memory takes all that is written");
    let back = text_of(&packed[..], ROOM);
    assert_eq!(back.ok().as_deref(), fits.then_some(text));
    let cut = &packed[..packed.len() - 1];
    assert!(text_of(cut, ROOM).is_err(), "a cut is not noticed");
}
