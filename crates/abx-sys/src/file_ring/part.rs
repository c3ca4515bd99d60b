//! A part of a file, sent piece by piece.

use std::os::fd::OwnedFd;

/// The part of a file that is still to be sent.
#[derive(Debug)]
pub struct FilePart {
    pub file: OwnedFd,
    /// The offset of the next byte.
    pub offset: u64,
    /// How many bytes are left, from there on.
    pub left: u64,
}

/// The most bytes that are read from a file at once.
pub const FILE_PIECE_BYTES_MAX: usize = 64 * 1024;
