//! Faults that make a connection useless, and the limits of heads.

/// Why the bytes of a connection cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Fault {
    #[error("its first line or a header breaks the grammar")]
    Malformed,
    /// The head is longer than [`HEAD_BYTES_MAX`].
    #[error("its head is longer than 256 KiB")]
    HeadTooLarge,
    /// The head has more than [`HEADERS_MAX`] headers.
    #[error("its head has more than 256 header fields")]
    TooManyHeaders,
    #[error("its Content-Length is not a number, or several values differ")]
    BadContentLength,
    /// More than [`INTERIM_MAX`] interim heads (1xx) arrived before a final one.
    #[error("more than 32 interim responses (1xx) came before its final one")]
    TooManyInterim,
    #[error("its Transfer-Encoding is not `chunked`")]
    UnknownTransferEncoding,
    #[error("a chunk of the body is malformed")]
    BadChunk,
    #[error("the server sent unsolicited bytes")]
    Unasked,
    /// The peer uses TLS: its first byte begins a record of TLS (RFC 8446, section 5.1).
    #[error("it is TLS, not HTTP: the server expects https:// on this port")]
    Tls,
    /// The peer uses HTTP/2: its first byte begins a frame (RFC 9113, section 4.1).
    #[error("it is HTTP/2, not HTTP/1.1: the server expects HTTP/2 on this port")]
    Http2,
    #[error("the connection was closed before the first byte of the response")]
    ClosedIdle,
    #[error("the connection was closed during the response")]
    ClosedEarly,
}

/// The longest head that is read, in bytes, including its empty line.
pub const HEAD_BYTES_MAX: usize = 256 * 1024;

/// The largest number of header fields that is read.
pub const HEADERS_MAX: usize = 256;

/// The most interim heads (1xx, except 101) before a final one, in every version of HTTP.
pub const INTERIM_MAX: u32 = 32;
