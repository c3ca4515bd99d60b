//! Events of a server's connection.

use super::super::fault::Fault;
use crate::http1::Method;

/// An event of a server's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestEvent<'a> {
    /// The head of a request; its body, if there is one, is skipped.
    Head {
        stream: u32,
        head: StreamRequest<'a>,
    },
    /// A request is complete: respond to it.
    Done { stream: u32 },
    /// The client gave a stream up, or broke a rule on it: send nothing more there.
    Gone { stream: u32 },
    /// The connection is of no further use; the reason was sent to the client.
    Failed(Fault),
}

/// The contents of a request's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamRequest<'a> {
    pub method: Method,
    /// The path with its query; for CONNECT, the authority.
    pub target: &'a str,
    /// The client holds its body back until it reads an interim response 100.
    pub expects_continue: bool,
}
