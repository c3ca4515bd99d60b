//! What must hold for any bytes from a peer. The fuzz targets take these bodies from here.

pub mod http1;
pub mod http2;
mod pieces;
pub mod websocket;
