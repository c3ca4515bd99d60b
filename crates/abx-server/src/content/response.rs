//! The response to a request, in any version of HTTP.

use abx_wire::http1::{Http1ResponseHead, Version, response_head};

use super::files::FoundFile;
use super::tail::Tail;

/// A response before it is written.
#[derive(Debug)]
pub(crate) struct PlannedResponse {
    pub(crate) status: u16,
    /// The announced length.
    pub(crate) content_length: u64,
    pub(crate) content_type: &'static str,
    pub(crate) body: ResponseBody,
    /// Whether the body ends before its announced length.
    pub(crate) is_cut: bool,
}

/// The source of a body's bytes.
#[derive(Debug)]
pub(crate) enum ResponseBody {
    None,
    Fixed(&'static [u8]),
    Rendered(String),
    /// The first bytes of the page, correct or changed.
    Page {
        is_changed: bool,
        bytes: usize,
    },
    /// A file of at least one byte.
    File(FoundFile),
}

/// The rest of a response after the bytes that were written.
#[derive(Debug)]
pub(crate) struct PreparedResponse {
    pub(crate) tail: Tail,
    /// Whether to close the connection after the response.
    pub(crate) close: bool,
}

/// Writes the response to a malformed request.
pub(crate) fn response_malformed(out: &mut Vec<u8>) {
    let body = refusal(400);
    let head = Http1ResponseHead {
        status: 400,
        content_length: body.len() as u64,
        content_type: "text/plain",
        version: Version::Http11,
        keep_alive: false,
    };
    response_head(&head, out);
    out.extend_from_slice(body);
}

/// Permission for a client that waits before it sends its body.
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

pub(super) fn refusal(status: u16) -> &'static [u8] {
    match status {
        400 => b"This request is not valid HTTP.\n",
        405 => b"This server supports only GET, HEAD and POST.\n",
        503 => b"This request is refused for now.\n",
        _ => b"There is no such file here.\n",
    }
}
