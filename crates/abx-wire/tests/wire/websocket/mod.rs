//! WebSocket: handshakes, frames and closes of both sides.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

mod closing;
mod frames;
mod handshake;
mod properties;
mod support;
