//! What is still to be sent behind the bytes of a response that were written out.

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
    /// A file that is read into the buffer of the bytes that are written out.
    Read(FilePart),
    /// A file that a ring reads and sends, with these bytes before it.
    Uring(FilePart),
}

impl Tail {
    pub(super) fn of(found_file: FoundFile) -> Tail {
        let sending = found_file.sending;
        let part = found_file.part();
        match sending {
            SendMethod::Sendfile => Tail::Sendfile(part),
            SendMethod::Read => Tail::Read(part),
            SendMethod::Uring => Tail::Uring(part),
        }
    }

    /// Brings the next piece of a file that is read behind the bytes to send, as
    /// long as they are few.
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

    /// How the bytes before it are sent: a head without its file would go out as
    /// a segment of its own.
    pub(crate) fn flags(&self) -> SendFlags {
        match self {
            Tail::None => SendFlags::NOSIGNAL,
            _ => SendFlags::NOSIGNAL | SendFlags::MORE,
        }
    }
}
