//! The rest of a response, after the bytes that were written.

use std::io;
use std::ops::Range;

use abx_sys::FilePart;
use rustix::net::SendFlags;

use super::files::{FoundFile, READ_BYTES_MAX, read_piece};
use crate::config::SendMethod;

#[derive(Debug)]
pub(crate) enum Tail {
    None,
    PageResponses {
        is_changed: bool,
        range: Range<usize>,
    },
    /// A file that sendfile sends.
    Sendfile(FilePart),
    /// A file that is read into the buffer of written bytes.
    Read(FilePart),
    /// A file that a ring reads and sends, after the written bytes.
    Uring(FilePart),
}

impl Tail {
    pub(super) fn of(file: FoundFile) -> Tail {
        let sending = file.sending;
        let part = file.part();
        match sending {
            SendMethod::Sendfile => Tail::Sendfile(part),
            SendMethod::Read => Tail::Read(part),
            SendMethod::Uring => Tail::Uring(part),
        }
    }

    /// Appends the next piece of a file to the bytes to send, as long as there are few.
    pub(crate) fn fill(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        if let Tail::Read(part) = self
            && out.len() < READ_BYTES_MAX
        {
            read_piece(part, out)?;
            if part.left == 0 {
                *self = Tail::None;
            }
        }
        Ok(())
    }

    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Tail::None)
    }

    /// The flags for sending the bytes before the tail: a head without its file would become a
    /// separate segment.
    pub(crate) fn flags(&self) -> SendFlags {
        match self {
            Tail::None => SendFlags::NOSIGNAL,
            _ => SendFlags::NOSIGNAL | SendFlags::MORE,
        }
    }
}
