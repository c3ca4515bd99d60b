//! The head of a response, from fields to bytes.

use std::io::Write;

use super::version::Version;

/// The contents of a response's head.
#[derive(Debug, Clone, Copy)]
pub struct Http1ResponseHead<'a> {
    pub status: u16,
    /// Length of the body in bytes; for HEAD, of the body that GET would return.
    pub content_length: u64,
    pub content_type: &'a str,
    /// The client's version; the response itself always states HTTP/1.1.
    pub version: Version,
    /// Whether the connection stays open after the response.
    pub keep_alive: bool,
}

/// Writes a head, its empty line included, to the end of `out`.
///
/// `Connection` is written only if the client could not know it. Allocates nothing except room in
/// `out`.
pub fn response_head(head: &Http1ResponseHead<'_>, out: &mut Vec<u8>) {
    let connection = match (head.version, head.keep_alive) {
        (Version::Http11, true) => "",
        (Version::Http10, true) => "Connection: keep-alive\r\n",
        (_, false) => "Connection: close\r\n",
    };
    // RFC 9110 requires this header with this status.
    let allow = match head.status {
        405 => "Allow: GET, HEAD, POST\r\n",
        _ => "",
    };
    write!(
        out,
        "HTTP/1.1 {} {}\r\nServer: abx/{}\r\nContent-Length: {}\r\nContent-Type: {}\r\n{allow}{connection}\r\n",
        head.status,
        reason(head.status),
        env!("CARGO_PKG_VERSION"),
        head.content_length,
        head.content_type,
    )
    .expect("a vector takes what is written");
}

/// The reason phrases of the status codes that our server uses.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "",
    }
}
