//! The handling of received bytes that both sides have in common.

use super::fault::{Fault, HEAD_BYTES_MAX, HEADERS_MAX};

/// Room for the headers of one head on the stack, not even cleared.
pub(super) type HeaderRoom<'a> = [std::mem::MaybeUninit<httparse::Header<'a>>; HEADERS_MAX];

/// The part of `bytes` in which a head must end.
#[inline]
pub(super) fn head_view(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(HEAD_BYTES_MAX)]
}

/// Checks a head that has not ended within `view`.
#[inline]
pub(super) fn unfinished(view: &[u8]) -> Result<(), Fault> {
    if view.len() < HEAD_BYTES_MAX {
        Ok(())
    } else {
        Err(Fault::HeadTooLarge)
    }
}

/// Drops the empty lines that some peers send after a body.
pub(super) fn skip_empty_lines(input: &mut &[u8]) {
    while let [b'\r' | b'\n', rest @ ..] = *input {
        *input = rest;
    }
}

/// Detects another protocol: no first line of HTTP/1 begins with such a byte. One byte decides, so
/// that it does not matter in which pieces the bytes arrive.
#[inline]
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
#[inline]
pub(super) fn take<'a>(input: &mut &'a [u8], limit: u64) -> &'a [u8] {
    let length = usize::try_from(limit).map_or(input.len(), |limit| limit.min(input.len()));
    let (taken, rest) = input.split_at(length);
    *input = rest;
    taken
}

pub(super) fn fault_of(error: httparse::Error) -> Fault {
    match error {
        httparse::Error::TooManyHeaders => Fault::TooManyHeaders,
        _ => Fault::Malformed,
    }
}
