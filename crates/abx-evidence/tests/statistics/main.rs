//! The statistics, tried on worlds whose truth is known: whole studies with
//! the real stop rule, from fixed seeds. `docs/statistics.md` quotes the table
//! that this prints with `-- --nocapture`.

#![allow(
    clippy::disallowed_macros,
    reason = "the table goes to whoever runs it by hand"
)]

mod noise;
mod properties;
mod simulation;
mod welch;

use abx_evidence::stats::paired::{LogInterval, PairedMean};
use abx_evidence::stats::student::Confidence;

use noise::Noise;
use simulation::{Method, Outcome, check, simulate};

/// Studies for each kind of noise and each true ratio.
const STUDIES: usize = 5_000;

/// The same where every slice is drawn, which costs far more.
const STUDIES_OF_SLICES: usize = 1_000;

/// The second true ratio, beside 1: a difference larger than the margin.
const RATIO: f64 = 1.05;

#[test]
fn printed_intervals_hold_the_truth() {
    // Method: many studies for each kind of noise, at the true ratios 1 and
    // 1.05, each ended by the stop rule or by a budget of 24 blocks. At least
    // 93 % of the intervals hold the truth, at most 6 % of the verdicts are false.
    let kinds = [
        (Noise::Normal, STUDIES),
        (Noise::Wide, STUDIES),
        (Noise::HeavyTails, STUDIES),
        (Noise::Drift, STUDIES),
        (Noise::Bimodal, STUDIES),
        (Noise::Slices, STUDIES_OF_SLICES),
    ];
    let found = std::thread::scope(|scope| {
        kinds
            .map(|(noise, studies)| {
                scope.spawn(move || {
                    let [same, other] =
                        [1.0, RATIO].map(|ratio| simulate(noise, ratio, studies, Method::SHIPPED));
                    (noise, same, other)
                })
            })
            .map(|thread| thread.join().unwrap())
    });
    print_table(&found);
    for (noise, same, other) in &found {
        assert_eq!(check(same, 1.0), Ok(()), "{noise:?} at 1");
        assert_eq!(check(other, RATIO), Ok(()), "{noise:?} at {RATIO}");
    }
}

#[test]
fn the_check_refuses_a_narrower_interval() {
    // Method: the same studies, read at 80 %. A check that could not fail
    // would prove nothing.
    let narrow = Method {
        read: |log_ratios| interval(log_ratios, 0.80).into(),
        ..Method::SHIPPED
    };
    let outcome = simulate(Noise::Normal, 1.0, STUDIES, narrow);
    assert!(outcome.coverage < 0.93, "{outcome:?}");
    assert!(check(&outcome, 1.0).is_err());
}

#[test]
fn the_check_refuses_stopping_at_the_first_difference() {
    // Method: an honest 95 % interval, but a study stops as soon as it
    // excludes 1: the common mistake that the stop rule exists to avoid.
    let eager = Method {
        is_enough: |log_ratios| log_ratios.len() >= 6 && interval(log_ratios, 0.95).excludes_zero(),
        read: |log_ratios| interval(log_ratios, 0.95).into(),
    };
    let outcome = simulate(Noise::Normal, 1.0, STUDIES, eager);
    assert!(check(&outcome, 1.0).is_err(), "{outcome:?}");
}

fn interval(log_ratios: &[f64], confidence: f64) -> LogInterval {
    let confidence = Confidence::new(confidence).expect("a share");
    PairedMean::of(log_ratios)
        .expect("six finite blocks or more")
        .interval(confidence)
}

fn print_table(rows: &[(Noise, Outcome, Outcome)]) {
    println!("| noise | ratio | holds truth | equivalent | faster | slower | fragile | blocks |");
    println!("|---|---|---|---|---|---|---|---|");
    for (noise, same, other) in rows {
        for (ratio, outcome) in [(1.0, same), (RATIO, other)] {
            let shares = [
                outcome.coverage,
                outcome.equivalent,
                outcome.faster,
                outcome.slower,
                outcome.fragile,
            ]
            .map(|share| format!("{:.1} %", share * 100.0))
            .join(" | ");
            println!(
                "| {noise:?} | {ratio:.2} | {shares} | {:.1} |",
                outcome.blocks
            );
        }
    }
}
