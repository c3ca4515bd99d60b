//! The marker table.

use abx_report::{Style, timer_text};
use abx_verdict::timer::{MarkedRun, Marker, TimerRecord, TimerRuns};
use insta::assert_snapshot;
use proptest::prelude::*;

/// A run with these markers, each with its time in µs.
fn marked(markers: &[(&str, u64)], end_us: u64) -> MarkedRun {
    let marker = |(name, at_us): &(&str, u64)| Marker {
        name: (*name).to_owned(),
        at_ns: at_us * 1000,
    };
    MarkedRun {
        markers: markers.iter().map(marker).collect(),
        end_ns: end_us * 1000,
    }
}

fn record(asked_runs: u32, runs: Vec<MarkedRun>) -> TimerRecord {
    let measured = TimerRuns {
        abx_version: "0.1.0".to_owned(),
        started_unix_ms: 1_750_000_000_000,
        command: ["php", "page 1.php"].map(str::to_owned).into(),
        asked_runs,
        runs,
    };
    TimerRecord::of(measured).expect("there is a run")
}

#[test]
fn one_run() {
    // Method: the times of a published table.
    let markers = [("connect", 38_000), ("get row", 163_000)];
    let record = record(1, vec![marked(&markers, 210_000)]);
    assert_snapshot!(timer_text(&record, &Style::plain()));
}

#[test]
fn runs_that_differ() {
    // Method: three of five runs; a marker that occurs twice, one that a run lacks, and two at the
    // same time.
    let runs = vec![
        marked(
            &[("connect", 260), ("get row", 6_400), ("get row", 9_000)],
            12_000,
        ),
        marked(
            &[("connect", 300), ("get row", 6_100), ("get row", 6_100)],
            12_500,
        ),
        marked(&[("connect", 250), ("get row", 6_300)], 11_000),
    ];
    assert_snapshot!(timer_text(&record(5, runs), &Style::plain()));
}

#[test]
fn many_runs_have_a_p99() {
    // Method: a hundred runs with a hundred different times.
    let runs = (1..=100).map(|run| marked(&[("connect", 10 * run)], 20 * run));
    assert_snapshot!(timer_text(&record(100, runs.collect()), &Style::plain()));
}

proptest! {
    #[test]
    fn a_table_fits(
        unicode in any::<bool>(),
        width in 60_usize..200,
        names in prop::collection::vec(any::<String>(), 0..6),
        times in any::<[u64; 2]>(),
    ) {
        // Method: any names and times, in Unicode and ASCII.
        let markers = names.iter().map(|name| Marker { name: name.clone(), at_ns: times[0] });
        let run = MarkedRun { markers: markers.collect(), end_ns: times[1] };
        let style = Style { color: false, unicode, width };
        for line in timer_text(&record(1, vec![run]), &style).lines() {
            prop_assert!(line.chars().count() <= width, "{width}: {line}");
            prop_assert!(!line.contains(char::is_control), "{line:?}");
        }
    }
}
