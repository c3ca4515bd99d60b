//! HTTP/2 (RFC 9113), both sides of a connection, without server push.
//!
//! [`Client`] writes the bytes that begin a connection, and those that begin each request's
//! stream; [`EncodedRequest`] is encoded once and sent on any number of streams. [`Server`] returns
//! requests and writes responses. Input is pulled as in the other parsers: bytes from the front of
//! a slice, one [`Event`] per call. Bytes that the peer must receive at once (acknowledged
//! settings, pongs, more room, faults) go to the caller's `out`.

mod client;
mod control;
mod event;
mod fault;
mod fields;
mod frame;
mod head;
mod header_block;
mod hpack;
mod request;
mod requests;
mod server;
mod settings;
mod streams;

pub use client::Client;
pub use event::Event;
pub use fault::{Fault, QUIET_FRAMES_MAX, StreamFault, UNREAD_REPLIES_BYTES_MAX, code_name};
#[cfg(any(test, fuzzing))]
pub use hpack::fuzz as hpack_fuzz;
pub use request::{EncodedRequest, RequestField, request_fields};
pub use server::{
    RequestEvent, ResponseHead, STREAMS_MAX, Server, StreamRequest, UNACKNOWLEDGED_MAX,
};
pub use settings::PREFACE;
