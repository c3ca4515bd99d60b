//! How computed figures are printed.

use crate::figure::{PrintedFigure, Reach};

/// A figure with three or more significant digits.
pub(crate) fn rounded(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => "any number".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.3}"),
    }
}

/// An approximate count.
pub(super) fn whole(value: f64) -> String {
    if value >= 10.0 {
        format!("{value:.0}")
    } else {
        rounded(value)
    }
}

/// The bounds of a figure's range, with as many decimals as its width justifies.
pub(super) fn range(reach: Reach) -> String {
    let width = reach.high - reach.low;
    if !width.is_finite() || width <= 0.0 {
        return rounded(reach.middle());
    }
    let decimals = (1.0 - width.log10()).ceil().clamp(0.0, 6.0) as usize;
    format!("{:.decimals$} to {:.decimals$}", reach.low, reach.high)
}

/// A share as a percentage: 0.472 is "47 %".
pub(crate) fn share(part: f64) -> String {
    match 100.0 * part {
        percent if percent >= 99.5 && part < 1.0 => format!("{percent:.2} %"),
        percent if percent >= 10.0 => format!("{percent:.0} %"),
        percent => format!("{percent:.1} %"),
    }
}

/// A time in s, ms or µs, whichever fits its size.
pub(super) fn time(seconds: f64) -> String {
    let trimmed = |value: f64| {
        let text = rounded(value);
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    };
    match seconds {
        long if long >= 1.0 => format!("{} s", trimmed(long)),
        short if short >= 1e-3 => format!("{} ms", trimmed(short * 1e3)),
        tiny => format!("{} µs", trimmed(tiny * 1e6)),
    }
}

/// A time as printed, with its unit.
pub(super) fn printed_time(figure: &PrintedFigure) -> String {
    let Ok(printed) = figure.printed.parse::<f64>() else {
        return time(figure.value);
    };
    let is_in = |unit: f64| (printed * unit - figure.value).abs() <= 1e-9 * figure.value;
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    match units.iter().find(|(unit, _)| is_in(*unit)) {
        Some((_, name)) => format!("{} {name}", figure.printed),
        None => time(figure.value),
    }
}
