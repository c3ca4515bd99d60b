//! The protocols that a pool's connections carry.
//!
//! The pool manages connections, requests in flight and their times; a
//! [`Protocol`] interprets the bytes. It is a type parameter of the pool, so that
//! the code per request is compiled for each protocol and does not check it again.

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
