//! Why a connection is of no further use.

use super::close_code::CloseCode;

/// Why a handshake failed, or why the bytes of a connection cannot be read any further.
///
/// Sections are those of RFC 6455.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Fault {
    /// The handshake's response breaks the grammar of HTTP (section 4.1).
    #[error("the handshake's response is not HTTP")]
    Malformed,
    /// The handshake's response is longer than [`crate::http1::HEAD_BYTES_MAX`].
    #[error("the handshake's response is longer than 256 KiB")]
    HeadTooLarge,
    /// More than [`crate::http1::INTERIM_MAX`] interim heads (1xx) arrived before the final one.
    #[error("more than 32 interim responses (1xx) came before the handshake's final one")]
    TooManyInterim,
    #[error("the handshake's response is not HTTP/1.1: {0}")]
    OtherProtocol(crate::http1::Fault),
    /// The handshake's response has another status than 101 (section 4.1).
    #[error("the handshake got status {0} instead of 101")]
    Refused(u16),
    /// `Upgrade: websocket` or `Connection: Upgrade` is missing in the response (section 4.1).
    #[error("the handshake's response lacks Upgrade: websocket or Connection: Upgrade")]
    NotUpgraded,
    /// `Sec-WebSocket-Accept` does not follow from our key (section 4.1).
    #[error("the handshake's response has a wrong Sec-WebSocket-Accept")]
    WrongAccept,
    /// The response names an extension, and none was offered (sections 4.1 and 9.1).
    #[error("the handshake's response names an extension that was not offered")]
    UnaskedExtension,
    /// The response names a subprotocol that was not offered (section 4.1).
    #[error("the handshake's response names a subprotocol that was not offered")]
    UnaskedProtocol,
    /// A reserved bit is set, and no extension gives it a meaning (section 5.2).
    #[error("a frame has a reserved bit set")]
    ReservedBits,
    /// The opcode is none of those defined (section 5.2).
    #[error("a frame has the unknown opcode {0}")]
    UnknownOpcode(u8),
    /// A control frame comes in fragments (section 5.5).
    #[error("a control frame is fragmented")]
    FragmentedControl,
    /// A control frame has more than 125 bytes (section 5.5).
    #[error("a control frame is longer than 125 bytes")]
    ControlTooLarge,
    /// A server sent a masked frame (section 5.1).
    #[error("a frame from the server is masked")]
    Masked,
    /// A client sent a frame without a mask (section 5.1).
    #[error("a frame from the client is not masked")]
    Unmasked,
    /// The length is not written in the shortest way, or has its highest bit set (section 5.2).
    #[error("a frame's length is not written in the shortest way")]
    BadLength,
    /// A frame is longer than [`super::SizeLimits::frame_bytes`] (section 10.4).
    #[error("a frame is longer than the limit")]
    FrameTooLarge,
    /// A message is longer than [`super::SizeLimits::message_bytes`] (section 10.4).
    #[error("a message is longer than the limit")]
    MessageTooLarge,
    /// A fragment continues a message, but none has begun (section 5.4).
    #[error("a fragment belongs to no message")]
    LooseFragment,
    /// A message begins before the one before it has ended (section 5.4).
    #[error("a message begins inside another")]
    UnfinishedMessage,
    /// A text, or the reason of a close, is not UTF-8 (section 8.1).
    #[error("a text is not UTF-8")]
    InvalidUtf8,
    /// The payload of a close has one byte (section 5.5.1).
    #[error("a close frame has half a status code")]
    BadClose,
    /// The code of a close must not be sent (section 7.4).
    #[error("a close has the code {0}, which must not be sent")]
    BadCloseCode(u16),
    /// The connection ended without a closing handshake (section 7.1.5, code 1006).
    #[error("the connection was closed without a closing handshake")]
    ClosedEarly,
}

impl Fault {
    /// The code that the peer receives when one of its frames has this fault; `None`
    /// if no peer can receive it.
    #[must_use]
    pub fn close_code(self) -> Option<CloseCode> {
        match self {
            Fault::Malformed
            | Fault::HeadTooLarge
            | Fault::TooManyInterim
            | Fault::OtherProtocol(_)
            | Fault::Refused(_)
            | Fault::NotUpgraded
            | Fault::WrongAccept
            | Fault::UnaskedExtension
            | Fault::UnaskedProtocol
            | Fault::ClosedEarly => None,
            Fault::FrameTooLarge | Fault::MessageTooLarge => Some(CloseCode::TOO_BIG),
            Fault::InvalidUtf8 => Some(CloseCode::INVALID_DATA),
            Fault::ReservedBits
            | Fault::UnknownOpcode(_)
            | Fault::FragmentedControl
            | Fault::ControlTooLarge
            | Fault::Masked
            | Fault::Unmasked
            | Fault::BadLength
            | Fault::LooseFragment
            | Fault::UnfinishedMessage
            | Fault::BadClose
            | Fault::BadCloseCode(_) => Some(CloseCode::PROTOCOL_ERROR),
        }
    }
}
