//! The head of a response: where its body ends, and whether the connection is kept.

use super::fault::{Fault, HEADERS_MAX};
use super::fields::{Coding, Fields};
use super::input::{HeaderRoom, fault_of};
use super::version::Version;

/// The framing that a response may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseKind {
    /// The response's head shows whether a body follows.
    WithBody,
    /// The response to a HEAD request: no body follows, whatever the head announces.
    HeadOnly,
}

/// The parsed contents of a complete head.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) content_length: Option<u64>,
    pub(super) framing: Framing,
    pub(super) reusable: bool,
}

impl Head {
    #[inline]
    pub(super) fn is_interim(&self) -> bool {
        is_interim(self.status)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Framing {
    Sized(u64),
    Chunked,
    UntilClose,
}

/// Reads a head from the front of `view` and returns it with its length.
pub(super) fn parse_head(view: &[u8], kind: ResponseKind) -> Result<Option<(Head, usize)>, Fault> {
    let mut room: HeaderRoom<'_> = [const { std::mem::MaybeUninit::uninit() }; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut []);
    let parsed =
        response_parser().parse_response_with_uninit_headers(&mut response, view, &mut room);
    let httparse::Status::Complete(length) = parsed.map_err(fault_of)? else {
        return Ok(None);
    };
    let status = response.code.expect("a whole head has a status");
    let version = match response.version {
        Some(0) => Version::Http10,
        _ => Version::Http11,
    };
    let fields = Fields::read(response.headers)?;
    let head = frame(status, version, kind, &fields)?;
    Ok(Some((head, length)))
}

/// Decides where the response ends (RFC 9112, section 6.3) and whether the connection is kept
/// (section 9.3).
///
/// The version is that of the response. A response of HTTP/1.1 keeps a connection
/// even after a request of HTTP/1.0: only the caller knows whether it requested that.
fn frame(
    status: u16,
    version: Version,
    kind: ResponseKind,
    fields: &Fields,
) -> Result<Head, Fault> {
    let is_kept = !fields.close && (version == Version::Http11 || fields.keep_alive);
    let has_no_body = kind == ResponseKind::HeadOnly || matches!(status, 100..=199 | 204 | 304);
    let (framing, reusable) = match (fields.coding, fields.content_length) {
        // After 101 the connection uses another protocol.
        _ if has_no_body => (Framing::Sized(0), is_kept && status != 101),
        (Coding::Unknown, _) => return Err(Fault::UnknownTransferEncoding),
        // Chunks together with a length, or from HTTP/1.0, are readable but suspect: the standard
        // requires the connection to be closed afterwards.
        (Coding::Chunked, length) => (
            Framing::Chunked,
            is_kept && length.is_none() && version == Version::Http11,
        ),
        (Coding::Plain, Some(length)) => (Framing::Sized(length), is_kept),
        (Coding::Plain, None) => (Framing::UntilClose, false),
    };
    Ok(Head {
        status,
        content_length: fields.content_length,
        framing,
        reusable,
    })
}

/// The value of a header in the bytes of a response, for callers that have kept
/// them from its first byte; `None` when it is absent or not text. Interim heads
/// (1xx, except for 101) are skipped.
///
/// For probes: it parses the heads again and allocates.
#[must_use]
pub fn response_header(response: &[u8], name: &str) -> Option<String> {
    response_headers(response, name).into_iter().next()
}

/// All values of a header that may occur several times, in order. Values that are not text are
/// left out, and a folded value is on one line (RFC 9112, section 5.2).
#[must_use]
pub fn response_headers(mut response: &[u8], name: &str) -> Vec<String> {
    loop {
        let mut room: HeaderRoom<'_> = [const { std::mem::MaybeUninit::uninit() }; HEADERS_MAX];
        let mut head = httparse::Response::new(&mut []);
        let parsed =
            response_parser().parse_response_with_uninit_headers(&mut head, response, &mut room);
        let (Ok(httparse::Status::Complete(length)), Some(status)) = (parsed, head.code) else {
            return Vec::new();
        };
        if is_interim(status) {
            response = &response[length..];
            continue;
        }
        let named = head
            .headers
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case(name))
            .filter_map(|header| std::str::from_utf8(header.value).ok());
        let on_one_line = |value: &str| value.trim().replace(['\r', '\n'], " ");
        return named.map(on_one_line).collect();
    }
}

/// A parser that accepts folded headers, as a user agent must (RFC 9112, section 5.2).
fn response_parser() -> httparse::ParserConfig {
    let mut config = httparse::ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    config
}

/// Whether another head of the same response follows a head with this status.
#[inline]
fn is_interim(status: u16) -> bool {
    matches!(status, 100..=199) && status != 101
}
