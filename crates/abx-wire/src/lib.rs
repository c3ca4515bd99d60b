//! Bytes to events and back, for HTTP/1.0, HTTP/1.1, HTTP/2 and WebSocket.
//!
//! Nothing here opens a socket, reads a clock or starts a thread: the caller
//! owns the bytes and their timing. Start at [`http1::Client`] for the
//! side that makes load and at [`http1::Server`] for the side that responds;
//! [`websocket::Client`] and [`websocket::Server`] continue from there. [`http2::Client`] and
//! [`http2::Server`] are the two sides of HTTP/2.

pub mod http1;
pub mod http2;
pub mod websocket;
