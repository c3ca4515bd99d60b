//! The requests of one connection, from bytes to events.

use super::chunked::{Chunk, Chunks};
use super::fault::{Fault, HEADERS_MAX};
use super::fields::{Coding, Fields};
use super::input::{HeaderRoom, fault_of, head_view, skip_empty_lines, take, unfinished};
use super::version::Version;

/// Parses the requests of one connection, in order. Bodies are skipped.
///
/// A head that arrives in one piece is read in place.
#[derive(Debug)]
pub struct Server {
    state: ServerState,
    /// The part of a head that has arrived so far, or the head that was just given out.
    stash: Vec<u8>,
}

/// One step of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerEvent<'a> {
    /// The head; a body may follow.
    Head(RequestHead<'a>),
    /// The request is complete: respond to it. Further bytes belong to the next one.
    Done,
    /// The connection is of no further use: respond with 400 and close.
    Failed(Fault),
}

/// The contents of a request's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHead<'a> {
    pub method: Method,
    /// The request target as sent, query included.
    pub target: &'a str,
    /// The client's version.
    pub version: Version,
    /// The client wants to keep using the connection.
    pub keep_alive: bool,
    /// The client holds its body back until it reads an interim response 100.
    pub expects_continue: bool,
    /// The head as it was received, with its empty line, for callers that need more of it.
    pub bytes: &'a [u8],
}

/// The methods that make a difference here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    /// Requests a head only.
    Head,
    /// Sends something to be handled.
    Post,
    Other,
}

#[derive(Debug)]
enum ServerState {
    Head,
    /// Inside a body; the bytes still to come.
    Sized(u64),
    Chunked(Chunks),
    Broken,
}

impl Server {
    /// A server that waits for its first request.
    #[must_use]
    pub fn new() -> Server {
        Server {
            state: ServerState::Head,
            stash: Vec::new(),
        }
    }

    /// Takes bytes from the front of `input` and returns the next event.
    ///
    /// `None` means that `input` is empty and more is needed. After
    /// [`ServerEvent::Done`] the rest of `input` may wait until the response is sent.
    pub fn receive<'s, 'i: 's>(&'s mut self, input: &mut &'i [u8]) -> Option<ServerEvent<'s>> {
        if !matches!(self.state, ServerState::Head) {
            self.forget_stash();
        }
        match &mut self.state {
            ServerState::Head => match self.receive_head(input) {
                Ok(head) => head.map(ServerEvent::Head),
                Err(fault) => Some(ServerEvent::Failed(fault)),
            },
            ServerState::Sized(left) => {
                *left -= take(input, *left).len() as u64;
                let is_done = *left == 0;
                is_done.then(|| self.finish())
            }
            ServerState::Chunked(chunks) => loop {
                match chunks.receive(input) {
                    Ok(Chunk::Data(_)) => {}
                    Ok(Chunk::End) => return Some(self.finish()),
                    Ok(Chunk::More) => return None,
                    Err(fault) => {
                        self.state = ServerState::Broken;
                        return Some(ServerEvent::Failed(fault));
                    }
                }
            },
            ServerState::Broken => {
                *input = &[];
                None
            }
        }
    }

    fn finish(&mut self) -> ServerEvent<'static> {
        self.state = ServerState::Head;
        ServerEvent::Done
    }

    /// Small ones are kept, so that a client that always sends heads in parts
    /// does not cost an allocation each time.
    fn forget_stash(&mut self) {
        self.stash.clear();
        self.stash.shrink_to(STASH_KEPT_BYTES);
    }

    fn receive_head<'s, 'i: 's>(
        &'s mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<RequestHead<'s>>, Fault> {
        if self.stash.is_empty() {
            skip_empty_lines(input);
            let view = head_view(input);
            let parsed = parse_head(view).inspect_err(|_| self.state = ServerState::Broken)?;
            if let Some((head, body, length)) = parsed {
                self.state = body;
                *input = &input[length..];
                return Ok(Some(head));
            }
        }
        let before = self.stash.len();
        self.stash.extend_from_slice(head_view(input));
        let view = head_view(&self.stash);
        let parsed = parse_head(view).inspect_err(|_| self.state = ServerState::Broken)?;
        let Some((head, body, length)) = parsed else {
            unfinished(view).inspect_err(|_| self.state = ServerState::Broken)?;
            *input = &[];
            return Ok(None);
        };
        // The stash alone was no whole head, so the end lies in the input.
        *input = &input[length - before..];
        self.state = body;
        Ok(Some(head))
    }
}

impl Default for Server {
    fn default() -> Server {
        Server::new()
    }
}

/// Reads a head from the front of `view` and returns it with its body's framing and its length.
fn parse_head(view: &[u8]) -> Result<Option<(RequestHead<'_>, ServerState, usize)>, Fault> {
    let mut room: HeaderRoom<'_> = [const { std::mem::MaybeUninit::uninit() }; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut []);
    let parsed = request.parse_with_uninit_headers(view, &mut room);
    let httparse::Status::Complete(length) = parsed.map_err(fault_of)? else {
        return Ok(None);
    };
    let fields = Fields::read(request.headers)?;
    let version = match request.version {
        Some(0) => Version::Http10,
        _ => Version::Http11,
    };
    if version == Version::Http11 && fields.host_count != 1 {
        return Err(Fault::Malformed);
    }
    let body = match (fields.coding, fields.content_length) {
        (Coding::Plain, length) => ServerState::Sized(length.unwrap_or(0)),
        (Coding::Chunked, None) if version == Version::Http11 => {
            ServerState::Chunked(Chunks::new())
        }
        // A length together with chunks is how requests are smuggled past a proxy.
        (Coding::Chunked, Some(_)) => return Err(Fault::BadContentLength),
        (Coding::Chunked | Coding::Unknown, _) => return Err(Fault::UnknownTransferEncoding),
    };
    let head = RequestHead {
        method: match request.method {
            Some("GET") => Method::Get,
            Some("HEAD") => Method::Head,
            Some("POST") => Method::Post,
            _ => Method::Other,
        },
        target: request.path.expect("a whole head has a target"),
        version,
        keep_alive: !fields.close && (version == Version::Http11 || fields.keep_alive),
        expects_continue: fields.expects_continue && version == Version::Http11,
        bytes: &view[..length],
    };
    Ok(Some((head, body, length)))
}

/// The largest stash that is kept between two heads, in bytes.
const STASH_KEPT_BYTES: usize = 4096;
