//! The server's end of one connection: frames in, requests out. Start at [`Server`].

mod connection;
mod control;
mod event;
mod head_writer;
mod reader;
mod request_head;
mod responses;
mod streams;

pub use connection::{STREAMS_MAX, Server, UNACKNOWLEDGED_MAX};
pub use event::{RequestEvent, StreamRequest};
pub use head_writer::ResponseHead;
