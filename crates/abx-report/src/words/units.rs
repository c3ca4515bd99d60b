//! Figures with units that people read.

use std::time::{Duration, UNIX_EPOCH};

use abx_verdict::Comparison;

pub(crate) fn count(number: u64) -> String {
    grouped(&number.to_string())
}

/// A count with its noun, which gets an `s` unless the count is 1.
#[must_use]
pub fn plural(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", count(number))
}

/// A figure of any size to at least three digits.
pub(crate) fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    if value > 0.0 && value < 0.005 {
        return "<0.01".to_owned();
    }
    fixed(value, decimals)
}

/// A number of bytes with its unit: 1500 is "1.5 kB".
#[must_use]
pub fn bytes(value: f64) -> String {
    const UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut scaled = value;
    let mut unit = 0;
    while scaled >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    let decimals = usize::from(unit > 0);
    format!("{}{GLUE}{}", fixed(scaled, decimals), UNITS[unit])
}

/// A share as a percentage: 0.03 is "3 %".
pub(crate) fn percent(share: f64) -> String {
    let decimals = if share.abs() >= 0.1 { 1 } else { 2 };
    format!("{}{GLUE}%", trimmed(100.0 * share, decimals))
}

/// A share as a percentage without decimals.
pub(crate) fn whole_percent(share: f64) -> String {
    if share > 0.0 && share < 0.005 {
        return format!("<1{GLUE}%");
    }
    format!("{}{GLUE}%", fixed(100.0 * share, 0))
}

/// `part` of `whole` as a percentage that is 0 or 100 only when it truly is.
pub(crate) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return UNKNOWN.to_owned();
    }
    let share = 100.0 * part as f64 / whole as f64;
    match fixed(share, 2).as_str() {
        "100.00" if part < whole => format!(">99.99{GLUE}%"),
        "0.00" if part > 0 => format!("<0.01{GLUE}%"),
        text => format!("{text}{GLUE}%"),
    }
}

pub(crate) fn seconds(span: f64) -> String {
    match span {
        span if span >= 10.0 => format!("{}{GLUE}s", fixed(span, 0)),
        span if span >= 1.0 => format!("{}{GLUE}s", trimmed(span, 1)),
        span => format!("{}{GLUE}ms", trimmed(1000.0 * span, 1)),
    }
}

pub(crate) fn nanos(span_ns: u64) -> String {
    seconds(span_ns as f64 / 1e9)
}

pub(crate) fn minutes(span: Duration) -> String {
    match span.as_secs_f64().ceil() as u64 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ ..7_200 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", count(seconds.div_ceil(3_600))),
    }
}

/// Milliseconds since 1970-01-01 as a date with its time of day.
pub(crate) fn date(unix_ms: u64) -> String {
    // After this second, years have more than four digits.
    const LAST_S: u64 = 253_402_300_799;
    let since = Duration::from_secs((unix_ms / 1000).min(LAST_S));
    let text = humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string();
    text.replace('T', " ").replace('Z', " UTC")
}

/// Milliseconds since 1970-01-01 as a date with hour and minute, in UTC.
#[must_use]
pub fn moment(unix_ms: u64) -> String {
    let date = date(unix_ms);
    let [day, time] = [date.get(..10), date.get(11..16)].map(Option::unwrap_or_default);
    format!("{day}{GLUE}{time}")
}

/// A ratio with the ends of its interval. All have as many decimals as it takes to distinguish the
/// ends from the ratio and from 1, if decimals can, because a verdict must not seem to contradict
/// its figures. An end above 0 is not written as 0 if two decimals show it, or a few more among
/// figures below 0.1.
pub(crate) fn ratios(values: [f64; 3]) -> [String; 3] {
    let [ratio, low, high] = values;
    let largest = ratio.max(high);
    if !(0.01..1e6).contains(&largest) {
        return values.map(|value| format!("{value:.1e}"));
    }
    let fewest = match largest {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    let is_apart = |a: f64, b: f64, decimals: usize| {
        a == b || format!("{a:.decimals$}") != format!("{b:.decimals$}")
    };
    // The number of pairs that this many decimals distinguish.
    let count_apart = |decimals: usize| {
        let pairs = [(low, ratio), (ratio, high), (low, 1.0), (high, 1.0)];
        let pairs = pairs.iter();
        let apart = pairs.filter(|(a, b)| is_apart(*a, *b, decimals));
        let may_be_zero = decimals >= 2 && largest >= 0.1;
        apart.count() + usize::from(may_be_zero || is_apart(low, 0.0, decimals))
    };
    let most = (fewest..=DECIMALS_MAX).map(count_apart).max();
    let decimals = (fewest..=DECIMALS_MAX).find(|decimals| Some(count_apart(*decimals)) == most);
    let decimals = decimals.unwrap_or(DECIMALS_MAX);
    values.map(|value| format!("{value:.decimals$}"))
}

/// Whether a ratio has a place on a log scale.
pub(crate) fn is_drawable(ratio: f64) -> bool {
    ratio.is_finite() && ratio > 0.0
}

/// Ratio, low and high, if all three have a place on a log scale.
pub(crate) fn drawable(comparison: &Comparison) -> Option<[f64; 3]> {
    let has_place = |values: &[f64; 3]| values.iter().all(|value| is_drawable(*value));
    comparison.bounds().filter(has_place)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Micros,
    Millis,
    Seconds,
}

impl TimeUnit {
    /// The unit in which the shortest of these times, in µs, is at least 1.
    pub(crate) fn of(times_us: impl IntoIterator<Item = Option<u64>>) -> TimeUnit {
        match times_us.into_iter().flatten().min() {
            Some(1_000_000..) => TimeUnit::Seconds,
            Some(1_000..) => TimeUnit::Millis,
            _ => TimeUnit::Micros,
        }
    }

    pub(crate) fn sign(self) -> &'static str {
        match self {
            TimeUnit::Micros => "µs",
            TimeUnit::Millis => "ms",
            TimeUnit::Seconds => "s",
        }
    }

    /// A time in µs in this unit, without the sign.
    pub(crate) fn show(self, time_us: Option<u64>) -> String {
        let in_unit = |time: u64, unit: f64| match fixed(time as f64 / unit, 2).as_str() {
            "0.00" if time > 0 => "<0.01".to_owned(),
            text => text.to_owned(),
        };
        match (self, time_us) {
            (_, None) => UNKNOWN.to_owned(),
            (TimeUnit::Micros, Some(time)) => count(time),
            (TimeUnit::Millis, Some(time)) => in_unit(time, 1e3),
            (TimeUnit::Seconds, Some(time)) => in_unit(time, 1e6),
        }
    }
}

pub(crate) fn or_unknown<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), show)
}

/// Replaces an unknown figure; a note explains why it is unknown.
pub const UNKNOWN: &str = "-";

/// Replaces an interval if blocks are too few for one.
pub(crate) const NO_INTERVAL: &str = "no interval yet";

/// The space between a figure and its unit, at which lines do not break.
pub const GLUE: char = '\u{a0}';

const DECIMALS_MAX: usize = 4;
/// From here on, figures are written with an exponent.
const PLAIN_MAX: f64 = 1e12;

/// A number with so many decimals, and with separators of thousands.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    match value {
        value if !value.is_finite() => UNKNOWN.to_owned(),
        value if value.abs() >= PLAIN_MAX => format!("{value:.2e}"),
        // The formatter would round halves to even.
        value if decimals == 0 => grouped(&format!("{:.0}", value.round())),
        value => grouped(&format!("{value:.decimals$}")),
    }
}

/// A number with at most `decimals` decimals, without zeros at the end.
fn trimmed(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

pub(crate) fn grouped(digits: &str) -> String {
    let (integer, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut out = String::new();
    for (place, digit) in integer.chars().enumerate() {
        let left = integer.len() - place;
        if left % 3 == 0 && out.ends_with(|last: char| last.is_ascii_digit()) {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_come_from_the_record_alone() {
        // Method: the epoch, a leap day, and a time beyond four-digit years.
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(1_709_164_800_000), "2024-02-29 00:00:00 UTC");
        assert_eq!(date(u64::MAX), "9999-12-31 23:59:59 UTC");
    }

    fn spaced<const N: usize>(texts: [String; N]) -> [String; N] {
        texts.map(|text| text.replace(GLUE, " "))
    }

    #[test]
    fn figures_get_units_of_their_size() {
        // Method: one value on each side of every border.
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
        assert_eq!(plural(1, "block"), "1 block");
        assert_eq!(plural(6, "block"), "6 blocks");
        let figures = [41_234.5, 123.4, 12.34, 1.234, 0.001, 0.0, -1234.0];
        let shown = figures.map(figure);
        assert_eq!(
            shown,
            ["41,235", "123", "12.3", "1.23", "<0.01", "0.00", "-1,234"]
        );
        let sizes = spaced([512.0, 999.6, 14_200_000.0, 999_990.0, 1e30].map(bytes));
        assert_eq!(
            sizes,
            ["512 B", "1.0 kB", "14.2 MB", "1.0 MB", "1.00e12 EB"]
        );
        let spans = spaced([24.04, 7.94, 1.0, 0.3125, 0.1].map(seconds));
        assert_eq!(spans, ["24 s", "7.9 s", "1 s", "312.5 ms", "100 ms"]);
    }

    #[test]
    fn moments_are_days_and_minutes() {
        // Method: the epoch, a time in a leap year, and one beyond four-digit years.
        let moments = [0, 1_709_210_096_789, u64::MAX].map(moment);
        assert_eq!(
            spaced(moments),
            ["1970-01-01 00:00", "2024-02-29 12:34", "9999-12-31 23:59"]
        );
    }

    #[test]
    fn percentages_are_0_or_100_only_when_they_are() {
        // Method: shares at both ends, and one request away from them.
        let percents = spaced([0.03, 0.025, 0.125].map(percent));
        assert_eq!(percents, ["3 %", "2.5 %", "12.5 %"]);
        assert_eq!(spaced([0.981, 0.001].map(whole_percent)), ["98 %", "<1 %"]);
        let parts = [1_000_000, 999_999, 1, 0].map(|part| share(part, 1_000_000));
        assert_eq!(spaced(parts), ["100.00 %", ">99.99 %", "<0.01 %", "0.00 %"]);
        assert_eq!(share(0, 0), "-");
    }

    #[test]
    fn ratios_have_the_decimals_that_distinguish_them() {
        // Method: wide, near 1, narrow, a point, large and tiny; an end that no decimals
        // distinguish from 1.
        assert_eq!(ratios([1.12, 1.08, 1.16]), ["1.12", "1.08", "1.16"]);
        assert_eq!(ratios([1.05, 1.004, 1.1]), ["1.050", "1.004", "1.100"]);
        assert_eq!(ratios([1.072, 1.071, 1.073]), ["1.072", "1.071", "1.073"]);
        assert_eq!(ratios([1.0, 1.0, 1.0]), ["1.00", "1.00", "1.00"]);
        assert_eq!(ratios([12.34, 11.0, 13.0]), ["12.3", "11.0", "13.0"]);
        assert_eq!(ratios([15.1, 0.35, 652.9]), ["15.1", "0.3", "652.9"]);
        assert_eq!(ratios([15.1, 0.001, 652.9]), ["15.10", "0.00", "652.90"]);
        assert_eq!(ratios([0.011, 0.003, 0.031]), ["0.011", "0.003", "0.031"]);
        assert_eq!(ratios([1.2409, 1.00001, 1.5399]), ["1.24", "1.00", "1.54"]);
        assert_eq!(ratios([1.002, 1.00001, 1.003]), ["1.002", "1.000", "1.003"]);
        assert_eq!(ratios([1e-5, 9e-6, 2e-5]), ["1.0e-5", "9.0e-6", "2.0e-5"]);
    }

    #[test]
    fn a_table_of_times_has_the_unit_of_its_shortest() {
        // Method: each unit, and no times.
        assert_eq!(TimeUnit::of([Some(80), Some(9_000)]), TimeUnit::Micros);
        assert_eq!(TimeUnit::of([None, Some(1_000)]), TimeUnit::Millis);
        assert_eq!(TimeUnit::of([Some(1_000_000)]), TimeUnit::Seconds);
        assert_eq!(TimeUnit::of([None]).show(None), "-");
        assert_eq!(TimeUnit::Millis.show(Some(1_234_567)), "1,234.57");
        // A short time in a table of long ones is not printed as zero.
        assert_eq!(TimeUnit::Millis.show(Some(4)), "<0.01");
        assert_eq!(TimeUnit::Millis.show(Some(0)), "0.00");
    }
}
