//! WebSocket (RFC 6455), both sides of a connection, without extensions.
//!
//! [`Client`] begins with an [`Opening`]; [`Server`] begins with the [`Offer`]
//! in the head that [`crate::http1::Server`] read. Both then are pull parsers:
//! they take bytes from the front of a slice and give one [`Event`] per
//! call, so payloads are never copied. Bytes that a peer must receive at once (the
//! response to a ping, to a close, to nonsense) go to the caller's `out`.

mod bytes;
mod client;
mod close;
mod close_code;
mod endpoint;
mod event;
mod fault;
mod frame;
mod handshake;
mod inbound;
mod mask;
mod outbound;
mod server;
mod utf8;

pub use client::{Client, ClientOptions};
pub use close::Close;
pub use close_code::CloseCode;
pub use event::{BEGINNING_BYTES, Event, Message, MessageKind};
pub use fault::Fault;
pub use handshake::{EncodedOpening, NONCE_BYTES, Offer, OfferFault, Opening, OpeningError};
pub use inbound::{MESSAGE_BYTES_MAX, SizeLimits};
pub use mask::Masking;
pub use outbound::{
    CONTROL_BYTES_MAX, FragmentPlace, NotOpen, masked_message_frame, message_frame,
};
pub use server::Server;
