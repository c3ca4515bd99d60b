//! A line of an access log, in the common or the combined format, as bytes: its request, its time,
//! and the status of the response. Start at [`logged_request`].
//!
//! ```text
//! HOST IDENT USER [10/Oct/2000:13:55:36 -0700] "GET /path HTTP/1.1" 200 2326 "REFERER" "AGENT"
//! ```
//!
//! The parts before the time and after the status are ignored.

use crate::units::{is_token, is_url_path};

/// The longest line that is read, in bytes.
pub const LINE_BYTES_MAX: usize = 64 << 10;

/// The content of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessLogLine {
    /// When it was logged, in seconds since 1970.
    pub at_s: i64,
    pub method: String,
    pub path: String,
    /// The status of the response; `None` if the log has none.
    pub status: Option<u16>,
}

/// Why a line is not a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LogLineError {
    #[error("it is longer than {} KiB", LINE_BYTES_MAX >> 10)]
    TooLong,
    #[error("it has no time such as [10/Oct/2000:13:55:36 -0700]")]
    NoTime,
    #[error("no request in quotation marks follows its time")]
    NoRequest,
    #[error("its request is not a method, a path and HTTP/VERSION")]
    Request,
    #[error("its method is not valid")]
    Method,
    #[error("its path does not begin with /, or has characters that a request may not contain")]
    Path,
    #[error("no status follows its request")]
    Status,
}

/// Reads a line without its end.
pub fn logged_request(line: &[u8]) -> Result<AccessLogLine, LogLineError> {
    if line.len() > LINE_BYTES_MAX {
        return Err(LogLineError::TooLong);
    }
    let (at_s, rest) = first_time(line).ok_or(LogLineError::NoTime)?;
    let rest = rest.strip_prefix(b" \"").ok_or(LogLineError::NoRequest)?;
    let (request, rest) = quoted(rest).ok_or(LogLineError::NoRequest)?;
    let status = status(rest).ok_or(LogLineError::Status)?;
    let request = unescaped(request).ok_or(LogLineError::Path)?;
    let words: Vec<&str> = request.split(' ').collect();
    let [method, path, version] = words[..] else {
        return Err(LogLineError::Request);
    };
    if !version.starts_with("HTTP/") {
        return Err(LogLineError::Request);
    }
    if !is_token(method) {
        return Err(LogLineError::Method);
    }
    if !is_url_path(path) {
        return Err(LogLineError::Path);
    }
    Ok(AccessLogLine {
        at_s,
        method: method.to_owned(),
        path: path.to_owned(),
        status,
    })
}

/// The first time in brackets, and the text after it. A user's name may have brackets.
fn first_time(line: &[u8]) -> Option<(i64, &[u8])> {
    let mut starts = (1..=line.len()).filter(|start| line[start - 1] == b'[');
    starts.find_map(|start| {
        let (text, rest) = line[start..].split_at_checked(TIME_BYTES)?;
        Some((time(text)?, rest.strip_prefix(b"]")?))
    })
}

/// Seconds since 1970 of a time such as `10/Oct/2000:13:55:36 -0700`. A leap second counts as the
/// second after it.
fn time(text: &[u8]) -> Option<i64> {
    let separators = [
        (2, b'/'),
        (6, b'/'),
        (11, b':'),
        (14, b':'),
        (17, b':'),
        (20, b' '),
    ];
    if text.len() != TIME_BYTES || separators.iter().any(|(index, byte)| text[*index] != *byte) {
        return None;
    }
    let part = |from: usize, to: usize, within: std::ops::RangeInclusive<i64>| {
        number(&text[from..to]).filter(|number| within.contains(number))
    };
    let month = MONTHS.iter().position(|name| *name == &text[3..6])?;
    let year = part(7, 11, 1970..=9999)?;
    let day = part(0, 2, 1..=days_of_month(year, month))?;
    let (hour, minute) = (part(12, 14, 0..=23)?, part(15, 17, 0..=59)?);
    let second = part(18, 20, 0..=60)?;
    let east = match text[21] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let zone = part(22, 24, 0..=23)? * 60 + part(24, 26, 0..=59)?;
    let days = days_before(year, month) + day - 1;
    Some(((days * 24 + hour) * 60 + minute - east * zone) * 60 + second)
}

/// Days from 1 January 1970 to the first day of a month. January is month 0.
fn days_before(year: i64, month: usize) -> i64 {
    let leap_days = |year: i64| year / 4 - year / 100 + year / 400;
    let years = 365 * (year - 1970) + leap_days(year - 1) - leap_days(1969);
    years
        + (0..month)
            .map(|month| days_of_month(year, month))
            .sum::<i64>()
}

fn days_of_month(year: i64, month: usize) -> i64 {
    const FEBRUARY: usize = 1;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    DAYS[month] + i64::from(is_leap && month == FEBRUARY)
}

/// Reads plain digits, few enough for an `i64`.
fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
        Some(number * 10 + digit)
    })
}

/// The text before the next quotation mark without a backslash, and the text after it.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut is_escaped = false;
    let end = text.iter().position(|byte| {
        let ends = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    })?;
    Some((&text[..end], &text[end + 1..]))
}

/// The status at the beginning of a text; the inner `None` is for a dash, and for zeros, which
/// nginx writes if there was no response.
fn status(text: &[u8]) -> Option<Option<u16>> {
    let text = text.strip_prefix(b" ")?;
    let word = text.split(|byte| *byte == b' ').next()?;
    match word {
        b"-" | b"000" => Some(None),
        [_, _, _] => {
            let status = number(word).and_then(|number| u16::try_from(number).ok());
            status
                .filter(|status| (100..=599).contains(status))
                .map(Some)
        }
        _ => None,
    }
}

/// A request without the backslashes of nginx and Apache: `\xHH`, `\"` and `\\`. Their other
/// escapes are no part of a path.
fn unescaped(text: &[u8]) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        let (byte, tail) = match (*first, tail) {
            (b'\\', [b'x', high, low, tail @ ..]) => ((hex(*high)? << 4) | hex(*low)?, tail),
            (b'\\', [same @ (b'"' | b'\\'), tail @ ..]) => (*same, tail),
            (b'\\', _) => return None,
            (byte, tail) => (byte, tail),
        };
        bytes.push(byte);
        rest = tail;
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

/// Month names in logs, which do not depend on the machine's locale.
const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];
const DAYS: [i64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
/// The length of a time in a log.
const TIME_BYTES: usize = 26;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> Option<i64> {
        super::time(time.as_bytes())
    }

    #[test]
    fn lines_of_nginx_and_apache_are_read() {
        // Method: lines as both write them, with virtual host and without, with escapes, a user's
        // name with blanks and brackets, and a request without a response.
        let apache =
            r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326"#;
        let read = |line: &str| logged_request(line.as_bytes());
        let logged = AccessLogLine {
            at_s: 971_211_336,
            method: "GET".to_owned(),
            path: "/a.gif".to_owned(),
            status: Some(200),
        };
        assert_eq!(read(apache), Ok(logged.clone()));
        let combined = r#"h.example:443 ::1 - a [b] c [10/Oct/2000:20:55:36 +0000] "GET /a.gif HTTP/2.0" 200 5 "http://[::1]/\"x" "A \"B\" [10/Oct/2001:13:55:36 -0700]""#;
        assert_eq!(read(combined), Ok(logged));
        for (request, path) in [
            (r"GET /?q=\x22a\x22 HTTP/1.1", "/?q=\"a\""),
            (r#"GET /?q=\"a\" HTTP/1.1"#, "/?q=\"a\""),
            (r"GET /\\ HTTP/1.1", r"/\"),
        ] {
            let line = apache.replace("GET /a.gif HTTP/1.0", request);
            assert_eq!(read(&line).unwrap().path, path, "{line}");
        }
        for (status, known) in [("-", None), ("000", None), ("599", Some(599))] {
            let line = apache.replace(" 200 ", &format!(" {status} "));
            assert_eq!(read(&line).unwrap().status, known, "{line}");
        }
    }

    #[test]
    fn damaged_lines_are_refused_with_their_error() {
        // Method: a valid line, and the error for each kind of damage to it.
        let valid = r#"h - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 200 5"#;
        assert!(logged_request(valid.as_bytes()).is_ok());
        for (from, to, wrong) in [
            ("Oct", "Okt", LogLineError::NoTime),
            ("[10/", "[32/", LogLineError::NoTime),
            ("-0700", "07:00", LogLineError::NoTime),
            ("] \"", "] ", LogLineError::NoRequest),
            ("1\" 200 5", "1", LogLineError::NoRequest),
            ("GET /a HTTP/1.1", "-", LogLineError::Request),
            ("GET /a HTTP/1.1", "GET /a", LogLineError::Request),
            ("GET /a", "GET /a b", LogLineError::Request),
            ("GET /a", r"GET /a\x20b", LogLineError::Request),
            ("HTTP/1.1", "FTP/1.1", LogLineError::Request),
            ("GET", "G(T", LogLineError::Method),
            ("GET /a", r"\x16\x03", LogLineError::Request),
            ("/a", "http://h/a", LogLineError::Path),
            ("/a", "/\u{e9}", LogLineError::Path),
            ("/a", r"/\n", LogLineError::Path),
            ("/a", r"/\xe9", LogLineError::Path),
            (" 200 ", " 2000 ", LogLineError::Status),
            (" 200 ", " OK ", LogLineError::Status),
            (" 200 5", "", LogLineError::Status),
        ] {
            let line = valid.replacen(from, to, 1);
            assert_eq!(logged_request(line.as_bytes()), Err(wrong), "{line}");
        }
        let long = valid.replace("/a", &format!("/{}", "a".repeat(LINE_BYTES_MAX)));
        assert_eq!(logged_request(long.as_bytes()), Err(LogLineError::TooLong));
        // The rest of a line that was cut off anywhere is no request, until its status.
        for end in 0..valid.find(" 5").unwrap() {
            assert!(logged_request(&valid.as_bytes()[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn times_are_seconds_since_1970_in_any_zone() {
        // Method: figures of `date -u -d ... +%s`; days that exist and days that do not.
        for (time, seconds) in [
            ("01/Jan/1970:00:00:00 +0000", 0),
            ("29/Feb/2000:12:00:00 +0000", 951_825_600),
            ("28/Feb/2100:23:59:59 +0000", 4_107_542_399),
            ("01/Mar/2100:00:00:00 +0000", 4_107_542_400),
            ("24/Nov/2026:01:02:03 +0530", 1_795_462_323),
            ("31/Dec/2016:23:59:60 +0000", 1_483_228_800),
        ] {
            assert_eq!(at(time), Some(seconds), "{time}");
        }
        for wrong in [
            "29/Feb/2100:00:00:00 +0000",
            "00/Jan/2000:00:00:00 +0000",
            "31/Apr/2000:00:00:00 +0000",
            "01/jan/2000:00:00:00 +0000",
            "01/Jan/1969:00:00:00 +0000",
            "01/Jan/2000:24:00:00 +0000",
            "01/Jan/2000:00:60:00 +0000",
            "01/Jan/2000:00:00:61 +0000",
            "01/Jan/2000:00:00:00 =0000",
            "01/Jan/2000:00:00:00 +0060",
            "+1/Jan/2000:00:00:00 +0000",
        ] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }
}
