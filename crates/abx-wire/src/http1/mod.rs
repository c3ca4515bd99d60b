//! HTTP/1.0 and HTTP/1.1 (RFC 9112), both sides of a connection.
//!
//! [`Client`] and [`Server`] are pull parsers: they take bytes from the front
//! of a slice and give one event for each call, so bodies are never copied.
//! [`Request::encode`] and [`response_head`] are the ways back.

mod chunked;
mod client;
mod fields;
mod head;
mod memo;
mod request;
mod response;
mod server;
mod server_timing;

pub use client::{Client, Done, Event};
pub use head::{ResponseKind, response_header, response_headers};
pub use memo::HeadMemo;
pub use request::{EncodedParts, Persistence, Request, RequestError};
pub use response::{Http1ResponseHead, response_head};
pub use server::{Method, RequestHead, Server, ServerEvent};
pub use server_timing::{ServerTiming, server_timings};

/// The version of the protocol that one side speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0: a connection ends after one response, unless both sides agree otherwise.
    Http10,
    /// HTTP/1.1: a connection is kept, unless one side says otherwise.
    Http11,
}

/// Why the bytes of a connection make no sense any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Fault {
    /// The first line or a header breaks the grammar, or HTTP/1.1 asks without one `Host`.
    #[error("its first line or a header breaks the grammar")]
    Malformed,
    /// The head is longer than [`HEAD_BYTES_MAX`].
    #[error("its head is longer than 256 KiB")]
    HeadTooLarge,
    /// The head has more than [`HEADERS_MAX`] headers.
    #[error("its head has more than 256 header fields")]
    TooManyHeaders,
    /// `Content-Length` is no number, or there are several that differ.
    #[error("its Content-Length is no number, or there are several that differ")]
    BadContentLength,
    /// More than [`INTERIM_MAX`] interim heads (1xx) came before a final one.
    #[error("more than 32 interim heads (1xx) came before its final one")]
    TooManyInterim,
    /// The body is transferred in another way than `chunked`.
    #[error("its Transfer-Encoding is not `chunked`")]
    UnknownTransferEncoding,
    /// A chunk's size or line end is wrong, or its line or the trailer is too long.
    #[error("a chunk is broken")]
    BadChunk,
    /// Bytes came that no request asked for.
    #[error("more bytes came than were asked for")]
    Unasked,
    /// The peer speaks TLS: its first byte begins a record of TLS (RFC 8446, section 5.1).
    #[error("it is TLS, not HTTP: the server expects https:// on this port")]
    Tls,
    /// The peer speaks HTTP/2: its first byte begins a frame (RFC 9113, section 4.1).
    #[error("it is HTTP/2, not HTTP/1.1: the server expects HTTP/2 on this port")]
    Http2,
    /// The peer closed, or said that it would, before the first byte of the response.
    #[error("the connection was closed before its first byte")]
    ClosedIdle,
    /// The peer closed inside a head or a body.
    #[error("the connection was closed in its middle")]
    ClosedEarly,
}

/// The longest head that is read, in bytes, its empty line included.
pub const HEAD_BYTES_MAX: usize = 256 * 1024;

/// The largest number of header fields that is read.
pub const HEADERS_MAX: usize = 256;

/// So many interim heads (1xx, except 101) may come before a final one, in every version of HTTP.
pub const INTERIM_MAX: u32 = 32;

/// Room for the headers of one head on the stack, not even cleared.
type HeaderRoom<'a> = [std::mem::MaybeUninit<httparse::Header<'a>>; HEADERS_MAX];

/// The part of `bytes` in which a head must end.
fn head_view(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(HEAD_BYTES_MAX)]
}

/// What a head that has not ended within `view` means.
fn unfinished(view: &[u8]) -> Result<(), Fault> {
    if view.len() < HEAD_BYTES_MAX {
        Ok(())
    } else {
        Err(Fault::HeadTooLarge)
    }
}

/// Drops the empty lines that some peers send after a body.
fn skip_empty_lines(input: &mut &[u8]) {
    while let [b'\r' | b'\n', rest @ ..] = *input {
        *input = rest;
    }
}

/// What another protocol is told by: no first line of HTTP/1 begins with such a byte.
/// One byte decides, so that it does not matter in which pieces the bytes come.
pub(crate) fn other_protocol(bytes: &[u8]) -> Option<Fault> {
    match bytes.first()? {
        // An alert, or a handshake.
        0x15 | 0x16 => Some(Fault::Tls),
        // A frame of less than 65,536 bytes; a server's first one is SETTINGS.
        0x00 => Some(Fault::Http2),
        _ => None,
    }
}

/// Takes up to `limit` bytes from the front of `input`.
fn take<'a>(input: &mut &'a [u8], limit: u64) -> &'a [u8] {
    let length = usize::try_from(limit).map_or(input.len(), |limit| limit.min(input.len()));
    let (taken, rest) = input.split_at(length);
    *input = rest;
    taken
}

fn fault_of(error: httparse::Error) -> Fault {
    match error {
        httparse::Error::TooManyHeaders => Fault::TooManyHeaders,
        _ => Fault::Malformed,
    }
}
