//! `--print-request` and `--print-reply`: requests and replies, line by line.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::figures::{HttperfReply, HttperfSample};
use super::options::{HttperfOptions, PrintedParts};

/// Calls whose last line is kept: more than are usually in flight.
const PARTS_MAX: usize = 1024;

/// Prints requests and replies, each line with the number of its call.
#[derive(Debug, Clone, Default)]
pub struct HttperfPrinter {
    request: Option<PrintedParts>,
    reply: Option<PrintedParts>,
    /// Incomplete last lines of heads, by call.
    parts: BTreeMap<u64, Vec<u8>>,
    text: String,
}

impl HttperfPrinter {
    /// A printer of the parts that the options select.
    #[must_use]
    pub fn new(options: &HttperfOptions) -> HttperfPrinter {
        HttperfPrinter {
            request: options.print_request,
            reply: options.print_reply,
            ..HttperfPrinter::default()
        }
    }

    /// Prints a request that was sent. As in httperf, incomplete lines of the body are left out.
    pub fn sent(&mut self, call: u64, request: &[u8]) {
        let Some(parts) = self.request else {
            return;
        };
        let end = request.windows(4).position(|four| four == b"\r\n\r\n");
        let (head, contents) = request.split_at(end.map_or(request.len(), |end| end + 4));
        if parts.head {
            for line in lines(head) {
                self.line("SH", call, line);
            }
        }
        if parts.body {
            for line in contents.split_inclusive(|byte| *byte == b'\n') {
                if let Some(line) = line.strip_suffix(b"\n") {
                    self.line("SB", call, line);
                }
            }
        }
        // Writing to a string does not fail.
        let _ = writeln!(
            self.text,
            "SS{call}: header {} content {}",
            head.len(),
            contents.len()
        );
    }

    /// Prints the complete lines of a reply's head after receiving a part of it.
    pub fn head(&mut self, call: u64, bytes: &[u8]) {
        if !self.reply.is_some_and(|parts| parts.head) {
            return;
        }
        let mut head = self.parts.remove(&call).unwrap_or_default();
        head.extend_from_slice(bytes);
        let last_end = head.iter().rposition(|byte| *byte == b'\n');
        let rest = head.split_off(last_end.map_or(0, |end| end + 1));
        for line in lines(&head) {
            self.line("RH", call, line);
        }
        if !rest.is_empty() {
            self.parts.insert(call, rest);
        }
        if self.parts.len() > PARTS_MAX {
            // A call whose connection failed gets no further part.
            self.parts.pop_first();
        }
    }

    /// Prints a received part of a reply's body.
    pub fn body(&mut self, call: u64, bytes: &[u8]) {
        if self.reply.is_some_and(|parts| parts.body) {
            for line in lines(bytes) {
                self.line("RB", call, line);
            }
        }
    }

    /// Prints the sizes of a reply that has ended.
    pub fn responded(&mut self, call: u64, reply: &HttperfReply) {
        if self.reply.is_some() {
            self.parts.remove(&call);
            let _ = writeln!(
                self.text,
                "RS{call}: header {} content {} footer {}",
                reply.header_bytes, reply.content_bytes, reply.footer_bytes
            );
        }
    }

    /// Prints a sample of the rates, for `--verbose`.
    pub fn sampled(&mut self, sample: HttperfSample) {
        let _ = writeln!(self.text, "reply-rate = {:<8.1}", sample.replies);
        if let Some(sessions) = sample.sessions {
            let _ = writeln!(self.text, "session-rate = {sessions:<8.1}");
        }
    }

    /// The text printed since the last call.
    #[must_use]
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// The length of that text, in bytes.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.text.len()
    }

    fn line(&mut self, prefix: &str, call: u64, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let _ = writeln!(self.text, "{prefix}{call}:{line}");
    }
}

/// Lines without their ends.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_never_end_take_little_memory() {
        // Method: ten times as many calls as are kept, each with an incomplete line.
        let mut printer = HttperfPrinter {
            reply: Some(PrintedParts {
                head: true,
                body: false,
            }),
            ..HttperfPrinter::default()
        };
        for call in 0..10 * PARTS_MAX as u64 {
            printer.head(call, b"HTTP/1.1 200 O");
        }
        assert_eq!(printer.parts.len(), PARTS_MAX);
        let last = 10 * PARTS_MAX as u64 - 1;
        printer.head(last, b"K\r\n");
        assert_eq!(printer.take(), format!("RH{last}:HTTP/1.1 200 OK\n"));
    }

    #[test]
    fn each_line_has_the_number_of_its_call() {
        // Method: two requests, and a reply in pieces between those of another one, with the lines
        // that httperf 0.9.0 printed.
        let mut printer = HttperfPrinter {
            request: Some(PrintedParts {
                head: true,
                body: true,
            }),
            reply: Some(PrintedParts {
                head: true,
                body: true,
            }),
            ..HttperfPrinter::default()
        };
        printer.sent(0, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        printer.sent(1, b"PUT / HTTP/1.1\r\n\r\nhel\nlo");
        printer.head(0, b"HTTP/1.1 200 OK\r\nTransfer-En");
        printer.head(1, b"HTTP/1.1 2");
        printer.head(0, b"coding: chunked\r\n\r\n");
        printer.body(0, b"hello");
        printer.body(0, b" wor\nld\n");
        printer.responded(
            0,
            &HttperfReply {
                status: 200,
                header_bytes: 47,
                content_bytes: 13,
                footer_bytes: 2,
                response_ns: 0,
                transfer_ns: 0,
                is_cut: false,
            },
        );
        let sample = |sessions| HttperfSample {
            replies: 10.0,
            sessions,
        };
        printer.sampled(sample(None));
        printer.sampled(sample(Some(3.8)));
        let expected = "\
SH0:GET / HTTP/1.1
SH0:Host: a
SH0:
SS0: header 27 content 0
SH1:PUT / HTTP/1.1
SH1:
SB1:hel
SS1: header 18 content 6
RH0:HTTP/1.1 200 OK
RH0:Transfer-Encoding: chunked
RH0:
RB0:hello
RB0: wor
RB0:ld
RS0: header 47 content 13 footer 2
reply-rate = 10.0    \nreply-rate = 10.0    \nsession-rate = 3.8     \n";
        assert_eq!(printer.take(), expected);
        assert_eq!(printer.waiting(), 0);
    }

    #[test]
    fn only_requested_parts_are_printed() {
        // Method: nothing requested, and heads alone.
        let mut printer = HttperfPrinter::default();
        printer.sent(0, b"GET / HTTP/1.1\r\n\r\n");
        printer.head(0, b"HTTP/1.1 200 OK\r\n\r\n");
        printer.body(0, b"x");
        assert_eq!(printer.take(), "");
        printer.reply = Some(PrintedParts {
            head: true,
            body: false,
        });
        printer.head(0, b"HTTP/1.1 200 OK\r\n\r\n");
        printer.body(0, b"x");
        assert_eq!(printer.take(), "RH0:HTTP/1.1 200 OK\nRH0:\n");
    }
}
