//! What a server learns of the bytes of a connection.

use super::super::fault::Fault;
use crate::http1::Method;

/// What came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestEvent<'a> {
    /// The head of a request; its body, if there is one, is passed over.
    Head {
        stream: u32,
        head: StreamRequest<'a>,
    },
    /// A request is whole: answer it.
    Done { stream: u32 },
    /// The client gave a stream up, or broke a rule on it: nothing more is to be sent there.
    Gone { stream: u32 },
    /// The connection is of no further use; the client is told why.
    Failed(Fault),
}

/// What a request's head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamRequest<'a> {
    pub method: Method,
    /// The path with its query; of CONNECT, whom it asks for.
    pub target: &'a str,
    /// The client holds its body back until it reads an interim answer 100.
    pub expects_continue: bool,
}
