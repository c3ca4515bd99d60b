//! Versions of HTTP.

/// The version of the protocol that one side uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0: a connection ends after one response, unless both sides agree otherwise.
    Http10,
    /// HTTP/1.1: a connection is kept, unless one side says otherwise.
    Http11,
}
