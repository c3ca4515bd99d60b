//! Values as httperf reads and prints them, and the messages for invalid ones.

use std::fmt::Write as _;
use std::str::FromStr;

/// Why a command line is refused, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HttperfRefusal(pub(super) String);

pub(super) fn refusal(why: &str) -> HttperfRefusal {
    HttperfRefusal(why.to_owned())
}

pub(super) fn illegal(what: &str, value: &str) -> HttperfRefusal {
    HttperfRefusal(format!("illegal {what} {value}"))
}

pub(super) fn number<T: FromStr>(value: &str, what: &str) -> Result<T, HttperfRefusal> {
    value.parse().map_err(|_| illegal(what, value))
}

/// A whole number above zero.
pub(super) fn count<T: FromStr + Default + PartialEq>(
    value: &str,
    what: &str,
) -> Result<T, HttperfRefusal> {
    let count: T = number(value, what)?;
    if count == T::default() {
        Err(illegal(what, value))
    } else {
        Ok(count)
    }
}

/// A time in seconds or a rate: finite, and not negative.
pub(super) fn seconds(value: &str, what: &str) -> Result<f64, HttperfRefusal> {
    let number: f64 = number(value, what)?;
    if number.is_finite() && (0.0..=1e9).contains(&number) {
        Ok(number)
    } else {
        Err(illegal(what, value))
    }
}

/// A number as C's `%g` prints it: at most six digits, without trailing zeros.
pub(super) fn short_number(value: f64) -> String {
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific
        .split_once('e')
        .unwrap_or((scientific.as_str(), "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).unwrap_or_default();
        return without_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let mut text = without_zeros(digits).to_owned();
    let sign = if exponent < 0 { '-' } else { '+' };
    // Writing to a string does not fail.
    let _ = write!(text, "e{sign}{:02}", exponent.unsigned_abs());
    text
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

/// The bytes of headers: `\n` is CR LF, `\r` is CR, `\a` is LF, `\\` is a backslash, and `\101`
/// is a byte by its octal number.
pub(super) fn header(value: &str) -> Result<Vec<u8>, HttperfRefusal> {
    let mut bytes = Vec::new();
    let mut rest = value.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.extend_from_slice(b"\r\n"),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'a') => bytes.push(b'\n'),
            Some(b'\\') => bytes.push(b'\\'),
            Some(digit @ b'0'..=b'7') => {
                let mut code = u32::from(digit - b'0');
                for _ in 0..2 {
                    let Some(next) = rest.next_if(|byte| (b'0'..=b'7').contains(byte)) else {
                        break;
                    };
                    code = code * 8 + u32::from(next - b'0');
                }
                let byte = u8::try_from(code);
                bytes.push(byte.map_err(|_| illegal("character in --add-header", value))?);
            }
            _ => return Err(illegal("escape in --add-header", value)),
        }
    }
    // Without a final line end, the request is incomplete, and the server waits for the rest.
    if bytes.ends_with(b"\r\n") && !bytes.starts_with(b"\r\n") {
        Ok(bytes)
    } else {
        Err(refusal(
            "--add-header must be lines that end with \\n, such as --add-header='Accept: a/b\\n'",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_by_printf() {
        // Method: values, with the output of printf("%g").
        for (value, message) in [
            (0.0, "0"),
            (100.0, "100"),
            (1000.5, "1000.5"),
            (0.02, "0.02"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (123_456.0, "123456"),
            (1_234_567.25, "1.23457e+06"),
            (1.0 / 3.0, "0.333333"),
        ] {
            assert_eq!(short_number(value), message);
        }
    }

    #[test]
    fn escapes_become_their_bytes() {
        // Method: each escape, and an octal number that is too large.
        let bytes = header("A: b\\nC:\\101\\60\\7x\\\\\\r\\a").unwrap();
        assert_eq!(bytes, b"A: b\r\nC:A0\x07x\\\r\n");
        assert!(header("A:\\777\\n").is_err());
    }
}
