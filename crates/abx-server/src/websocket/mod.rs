//! WebSocket: the conversation of one connection ([`session`]), and who hears what is
//! said in a chat ([`rooms`]).

pub(crate) mod rooms;
pub(crate) mod session;
