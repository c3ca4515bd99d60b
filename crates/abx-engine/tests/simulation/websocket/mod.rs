//! Loads over WebSocket.

pub(crate) mod broadcasts;
pub(crate) mod echoes;
