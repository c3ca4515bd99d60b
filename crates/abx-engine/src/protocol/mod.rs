//! What the connections of a pool carry.
//!
//! The pool knows connections, requests in flight and their times; a
//! [`Protocol`] knows what the bytes mean. It is a type parameter of the pool,
//! so that what runs per request is compiled for each and asks no more.

pub(crate) mod check;
mod contract;
pub(crate) mod http;
mod http2;
pub(crate) mod intake;
pub(crate) mod message;
mod websocket;

pub use contract::{Lost, Protocol};
pub use http::Http;
pub use http2::Http2;
pub(crate) use websocket::ReceivedMessage;
pub use websocket::WebSocket;
