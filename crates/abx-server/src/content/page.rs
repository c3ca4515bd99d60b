//! The page, correct and with one byte changed.

use super::tail::Tail;
use crate::faults::InjectedFault;

#[derive(Debug)]
pub(super) struct PageResponses {
    pub(super) bytes: Vec<u8>,
    /// The page with one byte changed; empty if no fault needs it.
    changed: Vec<u8>,
    pub(super) content_type: &'static str,
}

impl PageResponses {
    pub(super) fn new(bytes: Option<u64>, needs_changed: bool) -> PageResponses {
        let (bytes, content_type) = match bytes {
            None => (DEFAULT_PAGE.to_vec(), "text/html"),
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

    /// The announced length, and the length that is sent.
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

    /// Writes the bytes that are sent together with the head, and returns the rest as a tail.
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

/// The default page: small, so that a load measures the server, not copying.
const DEFAULT_PAGE: &[u8; 87] =
    b"<!doctype html><title>abx</title><p>A page to be measured: always the same, never big.\n";

/// The pattern that a page of a chosen length repeats.
const PATTERN: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n";

/// The most bytes of a page that share a buffer with the head.
const INLINE_BYTES_MAX: usize = 16 * 1024;
