//! WebSocket: handshakes, frames and closes of both sides.

mod closing;
mod frames;
mod handshake;
mod properties;
mod support;
