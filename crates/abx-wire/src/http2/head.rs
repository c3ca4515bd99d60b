//! The meaning of a response's header block (RFC 9113, sections 8.2 and 8.3).

use super::fault::Fault;
use super::fields::{check_regular, content_length};
use super::hpack::HeaderDecoder;

/// Longer blocks are not remembered.
const MEMO_BYTES_MAX: usize = 2048;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StreamHead {
    pub(super) status: u16,
    pub(super) content_length: Option<u64>,
}

/// Reads the heads of one connection. A server sends the same block again and again, whose
/// meaning is the same as long as the table that it refers to is: it is decoded once.
#[derive(Debug, Default)]
pub(super) struct HeadReader {
    decoder: HeaderDecoder,
    /// The last block that did not change the table; empty if there is none.
    block: Vec<u8>,
    changes: u64,
    head: Option<StreamHead>,
    /// Fields of the last head as HTTP/1.1 writes them.
    text: Vec<u8>,
    keeps_all: bool,
}

impl HeadReader {
    /// Keeps the text of all fields, rather than only of those that a load needs.
    pub(super) fn keep_all(&mut self) {
        self.keeps_all = true;
    }

    /// The last head as HTTP/1.1 writes it: its status, and the fields that are kept.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Reads the block of a head. The inner error is a broken rule of heads.
    ///
    /// # Errors
    /// A [`Fault`] of the connection.
    pub(super) fn head(&mut self, block: &[u8]) -> Result<Result<StreamHead, &'static str>, Fault> {
        if let Some(head) = self.head
            && self.changes == self.decoder.changes()
            && self.block == block
        {
            return Ok(Ok(head));
        }
        self.head = None;
        self.text.clear();
        let before = self.decoder.changes();
        let mut fields = FieldReader::of(Section::Head);
        let (text, keeps_all) = (&mut self.text, self.keeps_all);
        self.decoder.decode(block, |name, value| {
            fields.take(name, value);
            keep(text, keeps_all, name, value);
        })?;
        self.text.extend_from_slice(b"\r\n");
        let read = fields.head();
        self.changes = self.decoder.changes();
        if let Ok(head) = read
            && before == self.changes
            && block.len() <= MEMO_BYTES_MAX
        {
            self.head = Some(head);
            self.block.clear();
            self.block.extend_from_slice(block);
        }
        Ok(read)
    }

    /// Reads the block of a trailer, or one that no stream awaits.
    ///
    /// # Errors
    /// As [`HeadReader::head`].
    pub(super) fn trailer(&mut self, block: &[u8]) -> Result<Result<(), &'static str>, Fault> {
        let mut fields = FieldReader::of(Section::Trailer);
        self.decoder
            .decode(block, |name, value| fields.take(name, value))?;
        Ok(fields.fault.map_or(Ok(()), Err))
    }
}

/// Appends a field as a line of HTTP/1, if it is one to keep.
fn keep(text: &mut Vec<u8>, keeps_all: bool, name: &[u8], value: &[u8]) {
    match name {
        b":status" => push(text, &[b"HTTP/1.1 ", value]),
        [b':', ..] => {}
        b"server-timing" => push(text, &[name, b": ", value]),
        _ if keeps_all => push(text, &[name, b": ", value]),
        _ => {}
    }
}

fn push(text: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| text.extend_from_slice(part));
    text.extend_from_slice(b"\r\n");
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Head,
    Trailer,
}

/// Checks each field.
struct FieldReader {
    section: Section,
    status: Option<u16>,
    content_length: Option<u64>,
    has_regular: bool,
    /// The first rule that is broken.
    fault: Option<&'static str>,
}

impl FieldReader {
    fn of(section: Section) -> FieldReader {
        FieldReader {
            section,
            status: None,
            content_length: None,
            has_regular: false,
            fault: None,
        }
    }

    fn take(&mut self, name: &[u8], value: &[u8]) {
        let checked = match name {
            [b':', ..] => self.pseudo(name, value),
            _ => self.regular(name, value),
        };
        self.fault = self.fault.or(checked.err());
    }

    fn pseudo(&mut self, name: &[u8], value: &[u8]) -> Result<(), &'static str> {
        if self.section == Section::Trailer {
            return Err("a trailer has a pseudo-header field");
        }
        if name != b":status" || self.has_regular || self.status.is_some() {
            return Err("a head has a pseudo-header field other than :status");
        }
        let [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = value else {
            return Err("a status is not a number of three digits");
        };
        let digit = |byte: u8| u16::from(byte - b'0');
        self.status = Some(digit(*a) * 100 + digit(*b) * 10 + digit(*c));
        Ok(())
    }

    fn regular(&mut self, name: &[u8], value: &[u8]) -> Result<(), &'static str> {
        self.has_regular = true;
        check_regular(name, value)?;
        if name == b"content-length" {
            self.content_length = Some(content_length(value, self.content_length)?);
        }
        Ok(())
    }

    fn head(&self) -> Result<StreamHead, &'static str> {
        match (self.fault, self.status) {
            (Some(fault), _) => Err(fault),
            (None, None) => Err("a head has no status"),
            (None, Some(status)) => Ok(StreamHead {
                status,
                content_length: self.content_length,
            }),
        }
    }
}
