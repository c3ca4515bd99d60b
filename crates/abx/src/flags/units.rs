//! Values with units: `10s`, `100ms`, `3%`, `100ms/1s`.

use std::borrow::Cow;
use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

use abx_engine::schedule::PerSecond;
use abx_lab::{ExpectBody, Rate, SHARES, units};
pub use abx_model::{duration, seconds, whole_number};
use abx_server::Work;
use abx_stats::Margin;

/// Reads the length of a run like [`seconds`]. Its flag is that of a request's body in other tools,
/// so the message about another text names the flag of abx for a body.
pub fn run_time(text: &str) -> Result<Duration, String> {
    match text.bytes().next() {
        Some(first) if !is_in_numbers(first) => Err(format!(
            "`{text}` is not a time: give a number of seconds, or one with a unit, such as 10s or \
             2m; a request's body is given by -b"
        )),
        _ => seconds(text),
    }
}

fn is_in_numbers(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'.'
}

/// Writes a number such as `10k` or `2.5M` in digits; any other text stays as it is.
fn in_digits(text: &str) -> Cow<'_, str> {
    let factor = match text.as_bytes().last() {
        Some(b'k' | b'K') => 1e3,
        Some(b'M') => 1e6,
        _ => return text.into(),
    };
    match text[..text.len() - 1].parse::<f64>() {
        Ok(number) if number.is_finite() => (number * factor).to_string().into(),
        _ => text.into(),
    }
}

/// Reads a number of requests such as `10000`, `10k` or `1M`.
pub fn requests(text: &str) -> Result<u64, String> {
    let number = in_digits(text).parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| {
        format!(
            "`{text}` is not a number of requests: give one such as 10000, 10k or 1M; a file of \
             requests is --request-file FILE"
        )
    })
}

/// Reads a number of connections such as `100` or `1k`.
pub fn connections(text: &str) -> Result<u32, String> {
    let number = in_digits(text.trim()).parse().ok();
    number.filter(|number| *number > 0).ok_or_else(|| {
        format!("`{text}` is not a number of connections: give one such as 100 or 1k")
    })
}

/// Reads a number of threads.
pub fn threads(text: &str) -> Result<u16, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| {
        let hint = match units::time(text) {
            Some(_) => "; for the duration use -d, for a request's timeout --timeout",
            None => "",
        };
        format!("`{text}` is not a number of threads: give one such as 2{hint}")
    })
}

/// One rate or several.
#[derive(Debug, Clone)]
pub struct RateList(pub Vec<Rate>);

/// Reads rates per second such as `2000`, shares of the slowest server's capacity such as `25%`, a
/// list of both, or `auto`.
pub fn rates(text: &str) -> Result<RateList, String> {
    if text == "auto" {
        return Ok(RateList(SHARES.map(Rate::Share).into()));
    }
    let rate = |text: &str| {
        let given = text.trim();
        let number = given
            .strip_suffix("/s")
            .or_else(|| given.strip_suffix("/1s"));
        let text = &*in_digits(number.unwrap_or(given));
        if text.contains('/') {
            return Err(format!(
                "`{given}` is not a rate: rates are per second, so give a number such as 1000"
            ));
        }
        Rate::parse(text).ok_or_else(|| match text.parse::<PerSecond>() {
            Err(error) if !text.contains('%') => error.to_string(),
            _ => format!("`{text}` is not a percentage: give a number above 0 and %, at most 200%"),
        })
    };
    text.split(',')
        .map(rate)
        .collect::<Result<_, _>>()
        .map(RateList)
}

/// Reads the smallest difference that matters, such as `3%`.
pub fn margin(text: &str) -> Result<Margin, String> {
    Margin::new(percent(text)?).map_err(|_| {
        format!("`{text}` is out of range: give a percentage above 0% and up to 100%, such as 3%")
    })
}

/// Reads a share such as `3%` or `0.5%` as a fraction.
pub fn percent(text: &str) -> Result<f64, String> {
    units::share(text)
        .ok_or_else(|| format!("`{text}` is not a percentage: give a number and %, such as 3%"))
}

/// Reads a percentage such as `5` or `5%`.
pub fn percentage(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse().ok();
    number
        .filter(|number| (0.0..=100.0).contains(number))
        .ok_or_else(|| format!("`{text}` is not a percentage from 0 to 100: give one such as 5"))
}

/// Reads path and query of a request.
pub fn path(text: &str) -> Result<String, String> {
    let path = units::percent_encoded(text);
    if units::is_url_path(&path) {
        Ok(path)
    } else {
        Err(format!(
            "`{text}` is not a path: a path begins with /, has no #, and encodes spaces and control \
             characters as %XX"
        ))
    }
}

/// Reads a method.
pub fn method(text: &str) -> Result<String, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if units::is_token(text) && !is_number {
        return Ok(text.to_owned());
    }
    let hint = if is_number {
        "; requests in flight per connection (h2load's -m) are --streams with --http2, or --pipeline"
    } else if text.contains(':') {
        "; a proxy cannot be used"
    } else {
        ""
    };
    Err(format!(
        "`{text}` is not a method: give one such as GET{hint}"
    ))
}

/// Reads an IP address.
pub fn ip_address(text: &str) -> Result<IpAddr, String> {
    let address = text.parse::<IpAddr>();
    address.map_err(|_| {
        format!("`{text}` is not an IP address: give one such as 127.0.0.1, or ::1 for IPv6")
    })
}

/// Reads an address that connections of this machine can come from.
pub fn local_address(text: &str) -> Result<IpAddr, String> {
    let address = ip_address(text)?;
    // Binding shows whether the kernel accepts an address: it accepts all of 127.0.0.0/8, and those
    // of interfaces.
    UdpSocket::bind((address, 0))
        .map(|_| address)
        .map_err(|error| {
            format!(
                "no connection can come from {address}: {error} (`ip address` lists this machine's)"
            )
        })
}

/// Reads which body is correct.
pub fn expect_body(text: &str) -> Result<ExpectBody, String> {
    ExpectBody::parse(text).ok_or_else(|| {
        format!(
            "`{text}` is neither `same`, nor `any`, nor a SHA-256 of 64 hexadecimal digits \
             (as `sha256sum` prints it)"
        )
    })
}

/// Reads a stall such as `100ms/1s`: its length and its period.
pub fn stall(text: &str) -> Result<(Duration, Duration), String> {
    let (length, period) = text.split_once('/').ok_or_else(|| {
        format!("`{text}` is not a stall: give how long and how often, such as 100ms/1s")
    })?;
    Ok((duration(length)?, duration(period)?))
}

/// Reads the work per request: a time such as `10us`, or loop turns such as `4000turns`.
pub fn work(text: &str) -> Result<Work, String> {
    if let Some(time) = units::time(text) {
        return Ok(Work::Time(time));
    }
    let turns = text
        .strip_suffix("turns")
        .and_then(|turns| turns.parse().ok());
    turns.map(Work::Turns).ok_or_else(|| {
        format!("`{text}` is neither a time such as 10us nor a number of turns such as 4000turns")
    })
}

/// Reads a header such as `Accept: text/html`.
pub fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or("it is not a header: write `Name: value`")?;
    let name = name.trim();
    if !units::is_token(name) {
        return Err(
            "the name before the colon is not a header name: use letters, digits and `-`"
                .to_owned(),
        );
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}

/// Reads a label: one line of at most [`LABEL_LETTERS_MAX`] letters.
pub fn label(text: &str) -> Result<String, String> {
    let text = text.trim();
    let letters = text.chars().count();
    if text.is_empty() {
        Err("the label is empty: give a text, or leave --label out".to_owned())
    } else if letters > LABEL_LETTERS_MAX {
        Err(format!(
            "the label has {letters} characters: give at most {LABEL_LETTERS_MAX}"
        ))
    } else if text.chars().any(char::is_control) {
        Err("the label has a control character, such as a line end: give one line".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// Longer than the subject line of a commit should be, and no wider than a report.
const LABEL_LETTERS_MAX: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_and_headers_have_two_parts() {
        // Method: a correct and a wrong text of each; names that no header can have.
        let (length, period) = stall("100ms/1s").unwrap();
        assert_eq!((length.as_millis(), period.as_millis()), (100, 1000));
        assert!(stall("100ms").is_err());
        assert_eq!(header("A: b:c"), Ok(("A".into(), "b:c".into())));
        assert!(header("A b").is_err());
        for wrong in ["A b: c", ": c", "A(b): c"] {
            assert!(
                header(wrong).unwrap_err().contains("header name"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn percentages_have_a_range() {
        // Method: values at and beyond the ends of each range, and texts that are not numbers.
        assert!(margin("100%").is_ok());
        for wrong in ["0%", "200%"] {
            let message = margin(wrong).unwrap_err();
            assert!(
                message.contains(wrong) && message.contains("such as 3%"),
                "{message}"
            );
        }
        assert_eq!((percentage("0"), percentage("100")), (Ok(0.0), Ok(100.0)));
        assert_eq!(percentage("5%"), percentage("5"));
        for wrong in ["150", "-1", "NaN", "5%%", "%", ""] {
            assert!(percentage(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_and_times_are_written_as_for_other_tools() {
        // Method: each way to write them, and ambiguous or wrong texts.
        assert_eq!(
            (requests("10k"), requests("2.5M")),
            (Ok(10_000), Ok(2_500_000))
        );
        assert_eq!((connections("1K"), threads("2")), (Ok(1_000), Ok(2)));
        for wrong in ["0", "0k", "k", "10m", "1.5", "0.0001k", "infk", "-1k", ""] {
            assert!(requests(wrong).is_err(), "{wrong}");
        }
        let Rate::Fixed(rate) = rates("2.5k").unwrap().0[0] else {
            panic!("a rate per second");
        };
        assert_eq!(rate, "2500".parse().unwrap());
        assert_eq!(seconds("5"), Ok(Duration::from_secs(5)));
        assert_eq!(seconds("5ms"), Ok(Duration::from_millis(5)));
        for (text, ms) in [("0.5", 500), ("1.5", 1_500), (".25", 250), ("1.5s", 1_500)] {
            assert_eq!(seconds(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for wrong in ["0", "0.0", ".", "1..5", "5 parsecs", "", "-1"] {
            assert!(
                seconds(wrong).is_err() && run_time(wrong).is_err(),
                "{wrong}"
            );
        }
        assert!(run_time("{\"a\":1}").unwrap_err().contains("-b"));
        for (text, per_second) in [("1000/s", "1000"), ("2k/s", "2000"), ("50/1s", "50")] {
            let Rate::Fixed(rate) = rates(text).unwrap().0[0] else {
                panic!("{text} is a rate per second");
            };
            assert_eq!(rate, per_second.parse().unwrap(), "{text}");
        }
        assert!(
            rates("60/m").unwrap_err().contains("per second"),
            "{:?}",
            rates("60/m")
        );
        assert!(threads("10s").unwrap_err().contains("-d"));
        assert!(method("10").unwrap_err().contains("--pipeline"));
        assert!(method("a b").is_err() && method("127.0.0.1:80").unwrap_err().contains("proxy"));
    }

    #[test]
    fn work_is_a_time_or_turns() {
        // Method: a correct text of each, and texts that are neither.
        assert_eq!(work("10us"), Ok(Work::Time(Duration::from_micros(10))));
        assert_eq!(work("4000turns"), Ok(Work::Turns(4_000)));
        assert!(work("4000").is_err() && work("turns").is_err() && work("-1turns").is_err());
    }

    #[test]
    fn a_label_is_one_short_line() {
        // Method: the longest label and one letter more, in letters of several bytes; a label
        // between blanks; empty labels; and characters that steer a terminal.
        let longest = "ä".repeat(LABEL_LETTERS_MAX);
        assert_eq!(label(&longest), Ok(longest.clone()));
        assert!(label(&format!("{longest}ä")).is_err());
        assert_eq!(label(" build 7 "), Ok("build 7".to_owned()));
        for text in [
            "",
            " ",
            "a\nb",
            "a\u{1b}[31mb",
            "a\u{7}b",
            "a\u{0}b",
            "a\u{9b}b",
        ] {
            assert!(label(text).is_err(), "{text:?}");
        }
    }
}
