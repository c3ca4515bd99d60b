//! Both sides of HTTP/1, HTTP/2 and WebSocket: from bytes to events and back.

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
