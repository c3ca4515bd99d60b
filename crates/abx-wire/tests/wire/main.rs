//! Bytes to events and back: HTTP of both sides, HTTP/2 and WebSocket.

mod client;
mod fuzz;
mod http10;
mod http2;
mod kept;
mod memo;
mod pipeline;
mod properties;
mod request;
mod server;
mod server_timing;
mod skip;
mod websocket;
