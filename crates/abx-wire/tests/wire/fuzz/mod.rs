//! Properties that hold for any bytes from a peer, shared with the fuzz targets.

pub mod http1;
pub mod http2;
mod pieces;
pub mod websocket;
