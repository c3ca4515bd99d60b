//! Bytes as a network may cut them.

/// Cuts `bytes` in pieces of 1 to 64 bytes; the same seed gives the same cuts.
pub fn pieces(mut bytes: &[u8], seed: u8) -> Vec<&[u8]> {
    let largest = 1_u32 << (seed % 7);
    let mut random = u32::from(seed);
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let length = ((random >> 16) % largest + 1) as usize;
        let (piece, rest) = bytes.split_at(length.min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}
