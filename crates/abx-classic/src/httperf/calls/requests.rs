//! The requests, byte for byte as httperf 0.9.0 sends them.

use super::super::options::{HttperfOptions, HttperfUris};
use super::script::ScriptCall;

/// Writes the requests of a load in sequence.
#[derive(Debug, Clone)]
pub struct HttperfRequests {
    method: String,
    /// The head after the URI, without the empty line at its end.
    rest: Vec<u8>,
    uris: UriSequence,
    written: u64,
}

#[derive(Debug, Clone)]
enum UriSequence {
    One(String),
    Set {
        prefix: String,
        files: u64,
        /// The start, and the distance from one file to the next, in millionths of a file.
        first: u128,
        step: u128,
    },
    Log {
        uris: Vec<Vec<u8>>,
        repeats: bool,
    },
}

const MILLION: u128 = 1_000_000;

impl HttperfRequests {
    /// The requests of a load; `log` is the contents of the file of `--wlog`.
    #[must_use]
    pub fn new(options: &HttperfOptions, log: &[u8]) -> HttperfRequests {
        let method = options.method.as_deref().unwrap_or("GET");
        let version = if options.is_http10 { "1.0" } else { "1.1" };
        let mut rest = format!(" HTTP/{version}\r\nUser-Agent: httperf/0.9.0\r\n");
        if options.is_http10 {
            rest.push_str("Connection: keep-alive\r\n");
        }
        if !options.no_host_header {
            rest.push_str(&format!("Host: {}\r\n", options.host()));
        }
        let mut rest = rest.into_bytes();
        if let Some((headers, _)) = &options.add_header {
            rest.extend_from_slice(headers);
        }
        HttperfRequests {
            method: method.to_owned(),
            rest,
            uris: UriSequence::of(options, log),
            written: 0,
        }
    }

    /// Appends the next request to `bytes`; false if there are no more.
    pub fn write(&mut self, bytes: &mut Vec<u8>) -> bool {
        self.write_with(None, bytes)
    }

    /// Appends the next request, with a cookie.
    pub(super) fn write_with(&mut self, cookie: Option<&[u8]>, bytes: &mut Vec<u8>) -> bool {
        let start = bytes.len();
        bytes.extend_from_slice(self.method.as_bytes());
        bytes.push(b' ');
        if !self.uris.write(self.written, bytes) {
            bytes.truncate(start);
            return false;
        }
        self.written += 1;
        self.write_rest(None, cookie, bytes);
        true
    }

    /// Appends a call of a session file.
    pub(super) fn write_scripted(
        &self,
        call: &ScriptCall,
        cookie: Option<&[u8]>,
        bytes: &mut Vec<u8>,
    ) {
        bytes.extend_from_slice(format!("{} {}", call.method, call.uri).as_bytes());
        self.write_rest(call.contents.as_deref(), cookie, bytes);
    }

    /// Whether the requests are for heads only.
    pub(super) fn is_for_heads(&self) -> bool {
        self.method == "HEAD"
    }

    /// Appends everything after the URI.
    fn write_rest(&self, contents: Option<&[u8]>, cookie: Option<&[u8]>, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.rest);
        if let Some(contents) = contents {
            let line = format!("Content-length: {}\r\n", contents.len());
            bytes.extend_from_slice(line.as_bytes());
        }
        if let Some(cookie) = cookie {
            bytes.extend_from_slice(b"Cookie: ");
            bytes.extend_from_slice(cookie);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(contents.unwrap_or_default());
    }
}

impl UriSequence {
    fn of(options: &HttperfOptions, log: &[u8]) -> UriSequence {
        match &options.uris {
            HttperfUris::One => UriSequence::One(options.uri.clone()),
            HttperfUris::Set {
                files,
                step_millionths,
            } => {
                let (client, clients) = options.client;
                UriSequence::Set {
                    prefix: options.uri.trim_end_matches('/').to_owned(),
                    files: *files,
                    first: u128::from(client) * MILLION,
                    step: u128::from(*step_millionths) * u128::from(clients),
                }
            }
            HttperfUris::Log { repeats, .. } => UriSequence::Log {
                uris: log
                    .split(|byte| *byte == 0)
                    .map(<[u8]>::trim_ascii)
                    .filter(|uri| !uri.is_empty())
                    .map(<[u8]>::to_vec)
                    .collect(),
                repeats: *repeats,
            },
        }
    }

    /// Appends the URI of a call; false if the log has ended.
    fn write(&self, call: u64, bytes: &mut Vec<u8>) -> bool {
        match self {
            UriSequence::One(uri) => bytes.extend_from_slice(uri.as_bytes()),
            UriSequence::Set {
                prefix,
                files,
                first,
                step,
            } => {
                // Clients begin at adjacent files, and advance by the number of clients.
                let position = first + (u128::from(call) + 1) * step;
                let file = position / MILLION % u128::from(*files);
                let digits = (files - 1).to_string().len();
                bytes.extend_from_slice(prefix.as_bytes());
                for digit in format!("{file:0digits$}").bytes() {
                    bytes.extend_from_slice(&[b'/', digit]);
                }
                bytes.extend_from_slice(b".html");
            }
            UriSequence::Log { uris, repeats } => {
                let count = uris.len() as u64;
                if count == 0 || (call >= count && !repeats) {
                    return false;
                }
                let index = usize::try_from(call % count).unwrap_or_default();
                bytes.extend_from_slice(&uris[index]);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::HttperfCommand;
    use super::*;

    fn options(line: &str) -> HttperfOptions {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match HttperfCommand::parse(&words).unwrap() {
            HttperfCommand::Load(options) => *options,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn written(line: &str) -> String {
        let mut bytes = Vec::new();
        assert!(HttperfRequests::new(&options(line), b"").write(&mut bytes));
        String::from_utf8(bytes).unwrap()
    }

    /// The URIs of up to this many calls.
    fn uris(line: &str, calls: usize, log: &[u8]) -> Vec<String> {
        let mut requests = HttperfRequests::new(&options(line), log);
        let mut texts = Vec::new();
        for _ in 0..calls {
            let mut bytes = Vec::new();
            if !requests.write(&mut bytes) {
                assert!(bytes.is_empty());
                break;
            }
            let text = String::from_utf8(bytes).unwrap();
            texts.push(text.split(' ').nth(1).unwrap().to_owned());
        }
        texts
    }

    #[test]
    fn requests_are_those_that_httperf_sends() {
        // Method: the output of httperf 0.9.0 with --print-request=header, except for
        // --no-host-hdr, with which httperf ends the request before the further headers.
        assert_eq!(
            written("--server 127.0.0.1 --port 28431"),
            "GET / HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nHost: 127.0.0.1\r\n\r\n"
        );
        assert_eq!(
            written("--server a --server-name foo --method HEAD --uri /x?y=1 --http-version 1.0"),
            "HEAD /x?y=1 HTTP/1.0\r\nUser-Agent: httperf/0.9.0\r\nConnection: keep-alive\r\n\
             Host: foo\r\n\r\n"
        );
        for (uri, sent) in [
            ("/ü?q=é", "GET /ü?q=é HTTP/1.1\r\n"),
            ("/#x", "GET /#x HTTP/1.1\r\n"),
        ] {
            assert!(written(&format!("--uri {uri}")).starts_with(sent), "{uri}");
        }
        for server in ["::1", "[::1]", "[::1%25lo]"] {
            let text = written(&format!("--server {server} --port 81"));
            assert!(text.ends_with("\r\nHost: [::1]\r\n\r\n"), "{text}");
        }
        assert_eq!(
            written("--no-host-hdr --add-header X-A:b\\nX-C:d\\n"),
            "GET / HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nX-A:b\r\nX-C:d\r\n\r\n"
        );
    }

    #[test]
    fn a_working_set_is_requested_in_the_order_of_httperf() {
        // Method: sets, rates and clients, with the URIs that httperf 0.9.0 requested.
        for (line, expected) in [
            ("--wset 10,1", "/1 /2 /3 /4 /5"),
            ("--wset 10,1 --client 1/2", "/3 /5 /7 /9 /1"),
            ("--wset 10,1 --client 3/4", "/7 /1 /5 /9 /3"),
            ("--wset 10,0.25", "/0 /0 /0 /1 /1 /1 /1 /2"),
            ("--wset 12,0.5 --uri /x", "/x/0/0 /x/0/1 /x/0/1 /x/0/2"),
            (
                "--wset 1024,1 --client 1/3",
                "/0/0/0/4 /0/0/0/7 /0/0/1/0 /0/0/1/3",
            ),
        ] {
            let expected: Vec<String> = expected
                .split(' ')
                .map(|path| format!("{path}.html"))
                .collect();
            assert_eq!(uris(line, expected.len(), b""), expected, "{line}");
        }
    }

    #[test]
    fn a_log_ends_or_repeats() {
        // Method: three URIs for five calls.
        let log = b"/a\0/b\0/c\0";
        assert_eq!(uris("--wlog y,f", 5, log), ["/a", "/b", "/c", "/a", "/b"]);
        assert_eq!(uris("--wlog n,f", 5, log), ["/a", "/b", "/c"]);
        assert!(uris("--wlog y,f", 5, b"\0\n").is_empty());
    }
}
