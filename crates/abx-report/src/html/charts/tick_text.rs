//! Values in the text of axes and tooltips.

use crate::html::charts::scale::plain;
use crate::html::markup::with_unit;
use crate::words::units::count;

pub(crate) fn rate(value: f64) -> String {
    match value {
        value if value.fract() == 0.0 => count(value as u64),
        value => plain(value),
    }
}

pub(crate) fn share_text(share: f64) -> String {
    with_unit(&plain(100.0 * share), "%")
}

/// A time along an axis or in a tooltip, given in µs.
pub(crate) fn time_text(us: f64) -> String {
    let rounded = |value: f64| match value {
        value if value >= 100.0 => plain(value.round()),
        value => plain((value * 100.0).round() / 100.0),
    };
    match us {
        us if us >= 1e6 => with_unit(&rounded(us / 1e6), "s"),
        us if us >= 1e3 => with_unit(&rounded(us / 1e3), "ms"),
        us => with_unit(&rounded(us), "µs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_of_their_size() {
        // Method: one on each side of every border.
        let texts = [80.0, 999.0, 1_000.0, 1_500.0, 2_000_000.0].map(time_text);
        assert_eq!(
            texts.map(|text| text.replace('\u{a0}', " ")),
            ["80 µs", "999 µs", "1 ms", "1.5 ms", "2 s"]
        );
    }
}
