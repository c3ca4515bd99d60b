//! A part of a file, sent piece by piece.

use std::os::fd::OwnedFd;

/// What is still to be sent of a file.
#[derive(Debug)]
pub struct FilePart {
    pub file: OwnedFd,
    /// Where the next byte is.
    pub offset: u64,
    /// How many bytes are left, from there on.
    pub left: u64,
}

/// The most that is read of a file at once, in bytes.
pub const FILE_PIECE_BYTES_MAX: usize = 64 * 1024;
