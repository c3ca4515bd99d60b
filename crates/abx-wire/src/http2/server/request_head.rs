//! The meaning of a request's header block (RFC 9113, section 8.3.1).

use super::super::fault::Fault;
use super::super::fields::{check_regular, content_length};
use super::super::hpack::HeaderDecoder;
use super::event::StreamRequest;
use crate::http1::Method;

/// Longer blocks are not remembered.
const MEMO_BYTES_MAX: usize = 2048;

/// Reads the heads of one connection. A client that makes load sends the same block again and
/// again, whose meaning is the same as long as the table that it refers to is.
#[derive(Debug)]
pub(super) struct RequestReader {
    decoder: HeaderDecoder,
    /// The last block that did not change the table; empty if there is none.
    block: Vec<u8>,
    changes: u64,
    head: HeadFields,
}

/// The fields of a head that matter here.
#[derive(Debug)]
struct HeadFields {
    section: Section,
    method: Option<Method>,
    is_connect: bool,
    /// The values of the fields so far; they are checked at the end.
    target: String,
    has_path: bool,
    has_scheme: bool,
    authority: Option<Vec<u8>>,
    host: Option<Vec<u8>>,
    content_length: Option<u64>,
    expects_continue: bool,
    has_regular: bool,
    /// The first rule that is broken.
    fault: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Head,
    Trailer,
}

impl Default for RequestReader {
    fn default() -> RequestReader {
        RequestReader {
            decoder: HeaderDecoder::default(),
            block: Vec::new(),
            changes: 0,
            head: HeadFields::of(Section::Head),
        }
    }
}

impl RequestReader {
    /// Reads the block of a head, and returns the length that it announces for its body. The inner
    /// error is a broken rule of heads.
    ///
    /// # Errors
    /// A [`Fault`] of the connection.
    pub(super) fn read(
        &mut self,
        block: &[u8],
    ) -> Result<Result<Option<u64>, &'static str>, Fault> {
        if !self.block.is_empty() && self.changes == self.decoder.changes() && self.block == block {
            return Ok(Ok(self.head.content_length));
        }
        self.block.clear();
        let before = self.decoder.changes();
        self.head = HeadFields::of(Section::Head);
        let head = &mut self.head;
        self.decoder
            .decode(block, |name, value| head.take(name, value))?;
        self.changes = self.decoder.changes();
        let checked = self.head.check();
        if checked.is_ok() && before == self.changes && block.len() <= MEMO_BYTES_MAX {
            self.block.extend_from_slice(block);
        }
        Ok(checked.map(|()| self.head.content_length))
    }

    /// The head that was read last, which broke no rule.
    pub(super) fn last(&self) -> StreamRequest<'_> {
        StreamRequest {
            method: self.head.method.unwrap_or(Method::Other),
            target: &self.head.target,
            expects_continue: self.head.expects_continue,
        }
    }

    /// Reads the block of a trailer, or one that no stream awaits, since it may change the table.
    ///
    /// # Errors
    /// As [`RequestReader::read`].
    pub(super) fn trailer(&mut self, block: &[u8]) -> Result<Result<(), &'static str>, Fault> {
        let mut fields = HeadFields::of(Section::Trailer);
        self.decoder
            .decode(block, |name, value| fields.take(name, value))?;
        Ok(fields.fault.map_or(Ok(()), Err))
    }
}

impl HeadFields {
    fn of(section: Section) -> HeadFields {
        HeadFields {
            section,
            method: None,
            is_connect: false,
            target: String::new(),
            has_path: false,
            has_scheme: false,
            authority: None,
            host: None,
            content_length: None,
            expects_continue: false,
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
        if self.has_regular {
            return Err("a pseudo-header field follows a regular one");
        }
        let is_again = match name {
            b":method" => self.method.replace(method(value)?).is_some(),
            b":scheme" => std::mem::replace(&mut self.has_scheme, true),
            b":authority" => self.authority.replace(value.to_vec()).is_some(),
            b":path" => std::mem::replace(&mut self.has_path, true),
            _ => return Err("a request has an unknown pseudo-header field"),
        };
        match name {
            b":method" => self.is_connect = value == b"CONNECT",
            b":path" => self.target = path(value)?.to_owned(),
            _ => {}
        }
        if is_again {
            Err("a pseudo-header field appears twice")
        } else {
            Ok(())
        }
    }

    fn regular(&mut self, name: &[u8], value: &[u8]) -> Result<(), &'static str> {
        self.has_regular = true;
        check_regular(name, value)?;
        let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
        if is_blank(value.first()) || is_blank(value.last()) {
            return Err("a field's value begins or ends with a space or a tab");
        }
        match name {
            b"te" if value != b"trailers" => Err("te has a value other than trailers"),
            b"content-length" => {
                self.content_length = Some(content_length(value, self.content_length)?);
                Ok(())
            }
            b"expect" => {
                self.expects_continue = value.eq_ignore_ascii_case(b"100-continue");
                Ok(())
            }
            b"host" => match self.host.replace(value.to_vec()) {
                Some(_) => Err("a head has two host fields"),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Checks the fields as a whole.
    fn check(&mut self) -> Result<(), &'static str> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if self.method.is_none() {
            return Err("a head has no method");
        }
        if self.is_connect {
            return self.check_connect();
        }
        if !self.has_scheme || !self.has_path {
            return Err("a head has no scheme or no path");
        }
        match (&self.authority, &self.host) {
            (Some(authority), Some(host)) if !authority.eq_ignore_ascii_case(host) => {
                Err(":authority and host differ")
            }
            _ => Ok(()),
        }
    }

    /// Checks that CONNECT has an authority and no path (section 8.5).
    fn check_connect(&mut self) -> Result<(), &'static str> {
        let named = self.authority.as_deref().map(text);
        match named {
            Some(Ok(authority)) if !self.has_scheme && !self.has_path => {
                self.target = authority.to_owned();
                Ok(())
            }
            _ => Err("CONNECT has no authority, or has a scheme or a path"),
        }
    }
}

fn method(value: &[u8]) -> Result<Method, &'static str> {
    match value {
        b"GET" => Ok(Method::Get),
        b"HEAD" => Ok(Method::Head),
        b"POST" => Ok(Method::Post),
        _ if !value.is_empty() && value.iter().all(u8::is_ascii_graphic) => Ok(Method::Other),
        _ => Err("a method is not a token"),
    }
}

fn path(value: &[u8]) -> Result<&str, &'static str> {
    match value {
        b"*" | [b'/', ..] => text(value),
        _ => Err("a path does not begin with a slash"),
    }
}

/// A text without spaces and control bytes.
fn text(value: &[u8]) -> Result<&str, &'static str> {
    let is_plain = value.iter().all(|byte| *byte > b' ' && *byte != 0x7f);
    let text = std::str::from_utf8(value).ok().filter(|_| is_plain);
    text.ok_or("a path or a host has a space or a control character, or is not UTF-8")
}
