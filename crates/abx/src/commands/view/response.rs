//! Responses to a browser: a status and a page.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use abx_report::{notice_html, page_policy};

use super::request::{Access, ViewRequestError};

/// The response to the browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewResponse {
    pub status: ResponseStatus,
    pub html: String,
}

/// The status codes of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseStatus {
    Ok,
    BadRequest,
    NotFound,
    MethodNotAllowed,
    Timeout,
    Misdirected,
    HeadTooLarge,
    Broken,
}

/// How long a browser may take to receive a page.
const SENT_WITHIN: Duration = Duration::from_secs(60);
/// For how long, and how much of, the rest of a request is read after its response, so that a reset
/// does not lose the response.
const REST_WITHIN: Duration = Duration::from_secs(2);
const REST_BYTES_MOST: usize = 256 * 1024;

impl ViewResponse {
    /// A page.
    pub fn page(html: String) -> ViewResponse {
        ViewResponse {
            status: ResponseStatus::Ok,
            html,
        }
    }

    /// A page that states why there is no other page.
    pub fn notice(status: ResponseStatus, title: &str, text: &str) -> ViewResponse {
        ViewResponse {
            status,
            html: notice_html(title, text),
        }
    }

    /// The response to a request that could not be read; `None` if no client waits for it.
    pub fn to_error(error: ViewRequestError) -> Option<ViewResponse> {
        let (status, title, text) = match error {
            ViewRequestError::Malformed => (
                ResponseStatus::BadRequest,
                "This is not a request",
                "It is not valid HTTP/1.1: use a browser.",
            ),
            ViewRequestError::TooLarge => (
                ResponseStatus::HeadTooLarge,
                "This request is too large",
                "Its head has more than 16 KiB: follow the links of the pages.",
            ),
            ViewRequestError::Late => (
                ResponseStatus::Timeout,
                "This request took too long",
                "Its head was not complete within 10 s: try again.",
            ),
            ViewRequestError::Gone => return None,
        };
        Some(ViewResponse::notice(status, title, text))
    }

    /// Sends the response and ends the connection. A client that does not wait for all of it loses
    /// the rest.
    pub fn send(&self, stream: &TcpStream, access: Access) {
        let mut bytes = self.head().into_bytes();
        if access != Access::Head {
            bytes.extend_from_slice(self.html.as_bytes());
        }
        if write_within(stream, &bytes, SENT_WITHIN).is_ok() {
            let _ = stream.shutdown(Shutdown::Write);
            read_rest(stream);
        }
    }

    fn head(&self) -> String {
        let (code, reason) = self.status.line();
        // RFC 9110 requires this header with this status.
        let allow = match self.status {
            ResponseStatus::MethodNotAllowed => "Allow: GET, HEAD\r\n",
            _ => "",
        };
        format!(
            "HTTP/1.1 {code} {reason}\r\n\
             Content-Type: text/html; charset=utf-8\r\n\
             Content-Length: {}\r\n\
             Content-Security-Policy: {}\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\n\
             Cross-Origin-Opener-Policy: same-origin\r\n\
             Referrer-Policy: no-referrer\r\n\
             X-Content-Type-Options: nosniff\r\n\
             Cache-Control: no-store\r\n\
             {allow}Connection: close\r\n\r\n",
            self.html.len(),
            page_policy(),
        )
    }
}

impl ResponseStatus {
    fn line(self) -> (u16, &'static str) {
        match self {
            ResponseStatus::Ok => (200, "OK"),
            ResponseStatus::BadRequest => (400, "Bad Request"),
            ResponseStatus::NotFound => (404, "Not Found"),
            ResponseStatus::MethodNotAllowed => (405, "Method Not Allowed"),
            ResponseStatus::Timeout => (408, "Request Timeout"),
            ResponseStatus::Misdirected => (421, "Misdirected Request"),
            ResponseStatus::HeadTooLarge => (431, "Request Header Fields Too Large"),
            ResponseStatus::Broken => (500, "Internal Server Error"),
        }
    }
}

fn write_within(mut stream: &TcpStream, mut bytes: &[u8], within: Duration) -> io::Result<()> {
    let deadline = Instant::now() + within;
    while !bytes.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// SUBTLE: Closing a connection with bytes unread resets it, and a reset takes away the part of the
/// response that the other side has not read yet.
fn read_rest(mut stream: &TcpStream) {
    let deadline = Instant::now() + REST_WITHIN;
    let mut buffer = [0; 4096];
    let mut total = 0;
    while total < REST_BYTES_MOST {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return;
        }
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => total += count,
            _ => return,
        }
    }
}
