//! An axis of shares with the tail spread out: each further nine has the same room.

use crate::html::charts::plot::{PlotAxis, Tick};
use crate::html::charts::scale::{Scale, plain};

pub(crate) fn tail_axis(end: f64) -> PlotAxis {
    let tick = |share: f64| Tick {
        at: nines(share),
        text: plain(100.0 * share),
        is_minor: share == 0.5 || (end > 4.5 && [0.9, 0.999, 0.999_99].contains(&share)),
    };
    PlotAxis {
        label: "share of the requests in %, the tail spread out".to_owned(),
        scale: Scale::linear(0.0, end),
        ticks: named_shares(end).map(tick).collect(),
    }
}

pub(crate) fn named_shares(end: f64) -> impl Iterator<Item = f64> + Clone {
    let shares = NAMED.into_iter();
    shares.filter(move |share| nines(*share) <= end + CLOSE)
}

/// The number of nines of a share: 1 for 0.9, 2 for 0.99.
pub(crate) fn nines(share: f64) -> f64 {
    -(1.0 - share).max(f64::MIN_POSITIVE).log10()
}

pub(crate) fn share_at(nines: f64) -> f64 {
    1.0 - 10_f64.powf(-nines)
}

pub(crate) const NAMED: [f64; 8] = [
    0.5,
    0.9,
    0.99,
    0.999,
    0.999_9,
    0.999_99,
    0.999_999,
    0.999_999_9,
];

const CLOSE: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use crate::html::charts::tick_text::share_text;

    use super::*;

    #[test]
    fn the_axis_of_the_tail_counts_nines() {
        // Method: there and back, and the names of the shares.
        for share in [0.0, 0.5, 0.9, 0.999] {
            assert!((share_at(nines(share)) - share).abs() < 1e-12);
        }
        assert!((nines(0.99) - 2.0).abs() < 1e-9);
        let names: Vec<String> = NAMED.iter().map(|share| share_text(*share)).collect();
        let names: Vec<&str> = names
            .iter()
            .map(|text| text.trim_end_matches(['\u{a0}', '%']))
            .collect();
        assert_eq!(names[..4], ["50", "90", "99", "99.9"]);
        assert_eq!(names[7], "99.99999");
    }
}
