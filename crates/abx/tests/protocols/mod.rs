//! Protocols: HTTP/2, TLS, WebSocket and Unix sockets.

pub mod http2;
pub mod http2_served;
pub mod tls;
pub mod tls_faults;
pub mod tls_server;
pub mod unix_sockets;
pub mod websocket;
