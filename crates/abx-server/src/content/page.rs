//! The page, right and wrong.

use super::tail::Tail;
use crate::faults::InjectedFault;

#[derive(Debug)]
pub(super) struct PageResponses {
    pub(super) bytes: Vec<u8>,
    /// The same with one byte changed; empty if never requested.
    changed: Vec<u8>,
    pub(super) content_type: &'static str,
}

impl PageResponses {
    pub(super) fn new(bytes: Option<u64>, needs_changed: bool) -> PageResponses {
        let (bytes, content_type) = match bytes {
            None => (USUAL_PAGE.to_vec(), "text/html"),
            Some(length) => {
                let length = usize::try_from(length).expect("the page's length was checked");
                let bytes = PATTERN.iter().copied().cycle().take(length).collect();
                (bytes, "text/plain")
            }
        };
        let mut changed = Vec::new();
        if needs_changed {
            changed.clone_from(&bytes);
            let middle = changed.len() / 2;
            changed[middle] ^= 1;
        }
        PageResponses {
            bytes,
            changed,
            content_type,
        }
    }

    pub(super) fn copy(&self, is_changed: bool) -> &[u8] {
        if is_changed {
            &self.changed
        } else {
            &self.bytes
        }
    }

    /// The length that the head announces, and the length that is sent.
    pub(super) fn lengths(&self, injected: InjectedFault) -> (usize, usize) {
        let length = self.bytes.len();
        match injected {
            InjectedFault::CloseEarly => (length, length / 2),
            InjectedFault::WrongLength => (length - 1, length - 1),
            InjectedFault::None | InjectedFault::Fail | InjectedFault::WrongBody => {
                (length, length)
            }
        }
    }

    /// Writes what belongs into one segment with the head, and gives the rest as a tail.
    pub(super) fn write(&self, is_changed: bool, length: usize, out: &mut Vec<u8>) -> Tail {
        let start = length.min(INLINE_BYTES_MAX);
        out.extend_from_slice(&self.copy(is_changed)[..start]);
        if start == length {
            Tail::None
        } else {
            Tail::PageResponses {
                is_changed,
                range: start..length,
            }
        }
    }
}

/// The usual page: small, so that a load measures the server and not the copying.
const USUAL_PAGE: &[u8; 87] =
    b"<!doctype html><title>abx</title><p>A page to be measured: always the same, never big.\n";

/// What a page of a chosen length repeats.
const PATTERN: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n";

/// How much of a page goes into the buffer of the head.
const INLINE_BYTES_MAX: usize = 16 * 1024;
