//! Numbers as httperf reads and prints them, and what is said of those that it does not take.

use std::fmt::Write as _;
use std::str::FromStr;

/// Why a command line is not carried out, in one line.
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
    match count == T::default() {
        true => Err(illegal(what, value)),
        false => Ok(count),
    }
}

/// A span or a rate: not below zero, and finite.
pub(super) fn seconds(value: &str, what: &str) -> Result<f64, HttperfRefusal> {
    let number: f64 = number(value, what)?;
    match number.is_finite() && (0.0..=1e9).contains(&number) {
        true => Ok(number),
        false => Err(illegal(what, value)),
    }
}

/// A number as C's `%g` prints it: six digits at most, none of them a zero at the end.
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
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_c_prints_them() {
        // Method: values beside what printf("%g") gives.
        for (value, said) in [
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
            assert_eq!(short_number(value), said);
        }
    }
}
