//! HTTP/1.0 and HTTP/1.1 (RFC 9112), both sides of a connection.
//!
//! [`Client`] and [`Server`] are pull parsers: they take bytes from the front of a slice and return
//! one event per call, so bodies are never copied. [`Request::encode`] and [`response_head`] write.

mod chunked;
mod client;
mod fault;
mod fields;
mod head;
mod input;
mod memo;
mod request;
mod response;
mod server;
mod server_timing;
mod version;

pub use client::{Client, Done, Event};
pub use fault::{Fault, HEAD_BYTES_MAX, HEADERS_MAX, INTERIM_MAX};
pub use head::{ResponseKind, response_header, response_headers};
pub(crate) use input::other_protocol;
pub use memo::HeadMemo;
pub use request::{EncodedParts, Persistence, Request, RequestError};
pub use response::{Http1ResponseHead, response_head};
pub use server::{Method, RequestHead, Server, ServerEvent};
pub use server_timing::{ServerTiming, server_timings};
pub use version::Version;
