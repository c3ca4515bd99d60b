//! Times as a user writes them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// It holds the text, so that the error in a study file has its line.
/// A time with its unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("examples" = ["30s", "100ms", "2m"], "pattern" = "[a-z]$"))]
pub struct TimeText(pub String);

impl TimeText {
    /// The time, if the text is a time above zero.
    #[must_use]
    pub fn time(&self) -> Option<Duration> {
        time(&self.0)
    }

    /// Takes a time as [`duration`] reads it.
    pub(crate) fn of(text: &str) -> Result<TimeText, String> {
        duration(text).map(|_| TimeText(text.to_owned()))
    }

    /// Takes a time as [`seconds`] reads it.
    pub(crate) fn of_seconds(text: &str) -> Result<TimeText, String> {
        let unit = if is_number(text) { "s" } else { "" };
        seconds(text).map(|_| TimeText(format!("{text}{unit}")))
    }
}

/// The longest time: 10 years. Sums and multiples of such times fit into a [`Duration`], and into
/// 64 bits as nanoseconds.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);

/// Reads a time above zero and of at most 10 years, such as `10s`, `1.5s`, `100ms`, `2m` or `50us`.
#[must_use]
pub fn time(text: &str) -> Option<Duration> {
    any_time(text).filter(|time| !time.is_zero() && *time <= LONGEST)
}

fn any_time(text: &str) -> Option<Duration> {
    let time = humantime::parse_duration(text).ok();
    time.or_else(|| decimal_time(text))
}

/// Reads a time such as `10s`.
///
/// # Errors
/// What to write instead.
pub fn duration(text: &str) -> Result<Duration, String> {
    time(text).ok_or_else(|| {
        if lacks_unit(text) {
            format!("`{text}` has no unit: write {text}s or {text}m")
        } else if any_time(text).is_some_and(|time| time > LONGEST) {
            format!("`{text}` is too long: give at most 10 years (3650d)")
        } else {
            format!(
                "`{text}` is not a time above zero: give a number with a unit, such as 10s, 100ms \
                 or 2m"
            )
        }
    })
}

/// Whether a text is a number above zero, which would be a time with a unit.
#[must_use]
pub fn lacks_unit(text: &str) -> bool {
    is_number(text) && time(&format!("{text}s")).is_some()
}

/// Reads a time such as `10s`, or a number of seconds such as `10` or `0.5`, as wrk takes it.
///
/// # Errors
/// What to write instead.
pub fn seconds(text: &str) -> Result<Duration, String> {
    if !is_number(text) {
        return duration(text);
    }
    time(&format!("{text}s")).ok_or_else(|| {
        format!(
            "`{text}` is not a time above zero: give a number of seconds, such as 10, or one with a unit, such as 10s"
        )
    })
}

fn is_number(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    !text.is_empty() && text.bytes().all(is_digit)
}

/// Reads one decimal number with one unit.
fn decimal_time(text: &str) -> Option<Duration> {
    let is_digit = |letter: char| letter.is_ascii_digit() || letter == '.';
    let (number, unit) = text.split_at(text.find(|letter| !is_digit(letter))?);
    let unit = humantime::parse_duration(&format!("1{}", unit.trim_start())).ok()?;
    let seconds = number.parse::<f64>().ok()? * unit.as_secs_f64();
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_a_unit_has_its_own_message() {
        // Method: numbers that only lack the unit; zero, texts without a number, an unknown unit.
        for text in ["5", "0.5"] {
            let message = duration(text).unwrap_err();
            assert!(message.contains(&format!("write {text}s")), "{message}");
        }
        for text in ["0", "0s", ".", "", "5 parsecs"] {
            let message = duration(text).unwrap_err();
            assert!(message.contains("not a time above zero"), "{message}");
        }
    }

    #[test]
    fn a_time_is_at_most_ten_years() {
        // Method: the longest time and one second more; the longest that fits into 64 bits.
        assert_eq!(duration("3650d"), Ok(LONGEST));
        for text in ["315360001s", "18446744073709551615s", "1e9y"] {
            assert_eq!(time(text), None);
        }
        for text in ["315360001s", "18446744073709551615s"] {
            let message = duration(text).unwrap_err();
            assert!(
                message.contains("is too long: give at most 10 years"),
                "{message}"
            );
        }
    }
}
