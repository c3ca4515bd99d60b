//! WebSocket: the session of one connection ([`session`]), and the chat rooms with their members
//! ([`rooms`]).

pub(crate) mod rooms;
pub(crate) mod session;
