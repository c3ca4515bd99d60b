//! Faults of connections and of single streams, and the codes that a peer receives.

/// Why a connection is of no further use.
///
/// Sections are those of RFC 9113, unless another one is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Fault {
    #[error("it is HTTP/1, not HTTP/2: the server does not support HTTP/2 on this port")]
    Http1,
    /// The peer uses TLS (RFC 8446, section 5.1).
    #[error("it is TLS, not HTTP/2: the server expects https:// on this port")]
    Tls,
    #[error("{0}")]
    Broken(&'static str),
    /// A frame is longer than allowed, or does not have the length of its type (section 4.2).
    #[error("a frame has a wrong length")]
    FrameSize,
    /// More was sent than there was room for, or room grew over its limit (section 5.2).
    #[error("flow control was violated")]
    FlowControl,
    /// A header block cannot be decoded (RFC 7541).
    #[error("a header block cannot be decompressed")]
    Compression,
    /// A head has more than [`crate::http1::HEAD_BYTES_MAX`] bytes, compressed or not, or
    /// more than [`crate::http1::HEADERS_MAX`] fields.
    #[error("a head is longer than 256 KiB or has more than 256 header fields")]
    HeadTooLarge,
    /// A frame arrived on a stream that had ended (section 5.1).
    #[error("a frame came on a stream that had ended")]
    StreamClosed,
    /// More than [`QUIET_FRAMES_MAX`] frames arrived without a part of a response, or from a client
    /// without a part of a request.
    #[error("10,000 frames came that belong to no request or response")]
    Flood,
    /// A client gave up more than [`super::UNACKNOWLEDGED_MAX`] streams before their responses.
    #[error("1,000 streams were opened and given up")]
    Abandoned,
    /// More than [`UNREAD_REPLIES_BYTES_MAX`] of replies, pongs above all, wait for a peer that
    /// does not read them.
    #[error("1 MiB of replies to its pings and settings wait, and it reads none of them")]
    UnreadReplies,
}

/// Why one stream has no correct response; the others continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum StreamFault {
    /// The server reset it, with this code (section 7).
    #[error("the server reset the stream: {}", code_name(*.0))]
    Reset(u32),
    /// Its response breaks a rule (section 8.1.1).
    #[error("{0}")]
    Malformed(&'static str),
}

/// The most frames without a part of a response.
pub const QUIET_FRAMES_MAX: u32 = 10_000;

/// The most bytes of replies that may wait to be sent, without those that one receive adds.
pub const UNREAD_REPLIES_BYTES_MAX: usize = 1024 * 1024;

impl Fault {
    /// The code that the peer receives (section 7).
    pub(super) fn code(self) -> u32 {
        match self {
            Fault::Http1 | Fault::Tls | Fault::Broken(_) => PROTOCOL_ERROR,
            Fault::FlowControl => FLOW_CONTROL_ERROR,
            Fault::StreamClosed => STREAM_CLOSED,
            Fault::FrameSize => FRAME_SIZE_ERROR,
            Fault::Compression => COMPRESSION_ERROR,
            Fault::HeadTooLarge | Fault::Flood | Fault::Abandoned | Fault::UnreadReplies => {
                ENHANCE_YOUR_CALM
            }
        }
    }
}

/// The name of an error code (section 7).
#[must_use]
pub fn code_name(code: u32) -> &'static str {
    const NAMES: [&str; 14] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];
    let name = usize::try_from(code).ok().and_then(|code| NAMES.get(code));
    name.copied().unwrap_or("an unknown code")
}

/// Error codes (RFC 9113, section 7).
pub(super) const PROTOCOL_ERROR: u32 = 0x1;
pub(super) const INTERNAL_ERROR: u32 = 0x2;
pub(super) const FLOW_CONTROL_ERROR: u32 = 0x3;
pub(super) const STREAM_CLOSED: u32 = 0x5;
pub(super) const FRAME_SIZE_ERROR: u32 = 0x6;
pub(super) const REFUSED_STREAM: u32 = 0x7;
pub(super) const CANCEL: u32 = 0x8;
pub(super) const COMPRESSION_ERROR: u32 = 0x9;
pub(super) const ENHANCE_YOUR_CALM: u32 = 0xb;
