//! Reads one request, bounded in size and time, and without its body.

use std::io::{self, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use abx_wire::http1::{Method, RequestHead, Server, ServerEvent};

/// The request of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewRequest {
    pub access: Access,
    /// Path and query as sent.
    pub target: String,
    /// The value of `Host`, if there is exactly one.
    pub host: Option<String>,
}

/// The kind of a request's method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Get,
    Head,
    /// A method that could change something.
    Other,
}

/// Why there is no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewRequestError {
    Malformed,
    /// Its head is longer than [`HEAD_BYTES_MOST`].
    TooLarge,
    /// It did not come in time.
    Late,
    /// The client no longer waits for a response.
    Gone,
}

/// The longest head that is read, in bytes.
pub const HEAD_BYTES_MOST: usize = 16 * 1024;
/// How long a head may take to arrive.
const HEAD_WITHIN: Duration = Duration::from_secs(10);

/// Reads the head of the only request on this connection. A body is not read.
pub fn read(mut stream: &TcpStream) -> Result<ViewRequest, ViewRequestError> {
    let deadline = Instant::now() + HEAD_WITHIN;
    let mut server = Server::new();
    let mut buffer = [0; 4096];
    let mut total = 0;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ViewRequestError::Late);
        }
        let timeout = stream.set_read_timeout(Some(left));
        let count = match timeout.and_then(|()| stream.read(&mut buffer)) {
            Ok(0) => return Err(ViewRequestError::Gone),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if is_timeout(&error) => return Err(ViewRequestError::Late),
            Err(_) => return Err(ViewRequestError::Gone),
        };
        total += count;
        let mut input = &buffer[..count];
        match server.receive(&mut input) {
            Some(ServerEvent::Head(head)) if head.bytes.len() <= HEAD_BYTES_MOST => {
                return Ok(ViewRequest::of(&head));
            }
            Some(ServerEvent::Head(_)) => return Err(ViewRequestError::TooLarge),
            Some(ServerEvent::Failed(_) | ServerEvent::Done) => {
                return Err(ViewRequestError::Malformed);
            }
            None if total > HEAD_BYTES_MOST => return Err(ViewRequestError::TooLarge),
            None => {}
        }
    }
}

/// Whether an operation timed out.
pub fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut)
}

impl ViewRequest {
    fn of(head: &RequestHead<'_>) -> ViewRequest {
        ViewRequest {
            access: match head.method {
                Method::Get => Access::Get,
                Method::Head => Access::Head,
                Method::Post | Method::Other => Access::Other,
            },
            target: head.target.to_owned(),
            host: host(head.bytes),
        }
    }
}

/// The value of the only `Host` in a valid head.
fn host(head: &[u8]) -> Option<String> {
    let lines = head.split(|byte| *byte == b'\n').skip(1);
    let fields = lines.filter_map(|line| std::str::from_utf8(line).ok()?.split_once(':'));
    let mut hosts = fields.filter(|(name, _)| name.eq_ignore_ascii_case("host"));
    let (_, only) = hosts.next()?;
    hosts.next().is_none().then(|| only.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_has_one_host_or_none() {
        // Method: a header in mixed case, one in the value of another header, and two headers.
        let of = |text: &str| host(text.as_bytes());
        let text = "GET / HTTP/1.1\r\nA: b\r\nhOsT: localhost:80 \r\n\r\n";
        assert_eq!(of(text).as_deref(), Some("localhost:80"));
        assert_eq!(of("GET /Host: HTTP/1.0\r\nA: Host: x\r\n\r\n"), None);
        assert_eq!(of("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"), None);
    }
}
