//! WebSocket: the conversation of one connection ([`session`]), and the members of a chat
//! that get its messages ([`rooms`]).

pub(crate) mod rooms;
pub(crate) mod session;
