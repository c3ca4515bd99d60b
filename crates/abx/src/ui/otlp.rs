//! Posting metrics to an OpenTelemetry collector, over plain HTTP.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use abx_evidence::is_hidden;
use abx_lab::{Scheme, SubjectError, Target};
use serde_json::Value;

/// How long a collector may take to connect, to read or to respond.
const PATIENCE: Duration = Duration::from_secs(10);
/// A longer response is cut off here.
const RESPONSE_BYTES_MAX: u64 = 64 * 1024;

/// Parses the URL of a collector, and adds the usual path unless the URL ends in it.
pub fn collector(url: &str) -> Result<Target, String> {
    let target = Target::parse(url).map_err(|error| match error {
        // The URL in these errors has no password.
        SubjectError::Url { url, .. } | SubjectError::Scheme { url, .. } => not_a_collector(&url),
        error => error.to_string(),
    })?;
    if target.scheme != Scheme::Http || target.is_encrypted {
        return Err(not_a_collector(url));
    }
    let base = target.path.trim_end_matches('/');
    let path = if base.ends_with(PATH) {
        base.to_owned()
    } else {
        format!("{base}{PATH}")
    };
    Ok(Target { path, ..target })
}

fn not_a_collector(url: &str) -> String {
    format!("`{url}` is not the URL of a collector: write one such as http://127.0.0.1:4318")
}

/// Posts a JSON body; the error describes any response that does not accept all of it.
pub fn post(collector: &Target, body: &str) -> Result<(), String> {
    let response = exchange(collector, body).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("no response in {} s", PATIENCE.as_secs())
        }
        _ => error.to_string(),
    })?;
    let (head, content) = response.split_once("\r\n\r\n").unwrap_or((&response, ""));
    let first = head.lines().next().unwrap_or_default();
    let mut words = first.split_whitespace();
    let is_http = words.next().is_some_and(|word| word.starts_with("HTTP/1."));
    let status: Option<u16> = words.next().and_then(|word| word.parse().ok());
    match status.filter(|_| is_http) {
        Some(200..=299) => rejected(content),
        Some(_) => Err(format!("it responded with `{}`", harmless(first))),
        None => Err("its response is not HTTP".to_owned()),
    }
}

fn exchange(collector: &Target, body: &str) -> io::Result<String> {
    let address = collector.address.tcp().ok_or(io::ErrorKind::Unsupported)?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        collector.path,
        collector.host,
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut response = Vec::new();
    let read = stream.take(RESPONSE_BYTES_MAX).read_to_end(&mut response);
    // Some collectors reset the connection after a complete response.
    match read {
        Err(error) if response.is_empty() => Err(error),
        _ => Ok(String::from_utf8_lossy(&response).into_owned()),
    }
}

/// The error of a partial success. The body is not chunked, or is a single chunk.
fn rejected(content: &str) -> Result<(), String> {
    let start = content.find('{').unwrap_or(content.len());
    let end = content.rfind('}').map_or(start, |end| end + 1);
    let json = content.get(start..end).unwrap_or_default();
    let response: Value = serde_json::from_str(json).unwrap_or_default();
    let partial = &response["partialSuccess"];
    let count = &partial["rejectedDataPoints"];
    let count = count.as_u64().or_else(|| count.as_str()?.parse().ok());
    match count {
        None | Some(0) => Ok(()),
        Some(count) => Err(format!(
            "it rejected {count} data points: {}",
            harmless(
                partial["errorMessage"]
                    .as_str()
                    .unwrap_or("it gives no reason")
            )
        )),
    }
}

fn harmless(text: &str) -> String {
    let start: String = text.chars().take(200).collect();
    let is_harmful = |letter: char| letter.is_control() || is_hidden(letter);
    start.replace(is_harmful, "\u{fffd}")
}

const PATH: &str = "/v1/metrics";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_has_the_usual_path_unless_it_is_given() {
        // Method: URLs without a path, with the usual one and with another; then texts that are
        // not the URL of a collector.
        for (url, path) in [
            ("http://127.0.0.1:4318", "/v1/metrics"),
            ("http://127.0.0.1:4318/", "/v1/metrics"),
            ("http://127.0.0.1:4318/v1/metrics", "/v1/metrics"),
            ("http://127.0.0.1/otlp", "/otlp/v1/metrics"),
        ] {
            assert_eq!(collector(url).unwrap().path, path);
        }
        for wrong in [
            "https://127.0.0.1:4318",
            "127.0.0.1:4318",
            "foo",
            "udp://host",
        ] {
            let message = collector(wrong).unwrap_err();
            assert!(message.ends_with("http://127.0.0.1:4318"), "{message}");
        }
        assert!(
            !collector("http://me:hunter2@host")
                .unwrap_err()
                .contains("hunter2")
        );
    }

    #[test]
    fn a_partial_success_is_an_error() {
        // Method: the count as a string, as in OTLP, as a number, and missing; braces in the wrong
        // order.
        let some = r#"{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"old"}}"#;
        assert!(rejected(some).unwrap_err().contains("3 data points: old"));
        let chunked = format!("48\r\n{}\r\n0\r\n\r\n", some.replace("\"3\"", "3"));
        assert!(rejected(&chunked).is_err());
        for fine in ["", "{}", "} {", r#"{"partialSuccess":{}}"#] {
            assert_eq!(rejected(fine), Ok(()));
        }
    }
}
