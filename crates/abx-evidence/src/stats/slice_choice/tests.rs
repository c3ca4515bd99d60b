//! The choice, by hand and for any rounds.

use proptest::prelude::*;

use super::*;

const SHORT_NS: u64 = 25_000_000;
const LENGTHS: Lengths = Lengths {
    usual_ns: 100_000_000,
    others_ns: &[25_000_000, 50_000_000, 250_000_000, 500_000_000],
};

fn choose(rounds: &[ShortRound], switch_ns: u64) -> Result<SliceChoice, StatsError> {
    let series = ShortRounds {
        rounds,
        slice_ns: SHORT_NS,
        switch_ns,
    };
    slice_choice(&series, &LENGTHS)
}

/// Rounds in alternating order whose slices have these rates in time order.
fn rounds(in_time: impl Fn(usize) -> f64) -> Vec<ShortRound> {
    let round = |round: usize| {
        let (first, second) = (in_time(2 * round), in_time(2 * round + 1));
        match round % 2 {
            0 => ShortRound {
                rates: [first, second],
                order: SliceOrder::Forth,
            },
            _ => ShortRound {
                rates: [second, first],
                order: SliceOrder::Back,
            },
        }
    };
    (0..160).map(round).collect()
}

#[test]
fn a_straight_drift_costs_the_cube_of_the_length() {
    // Method: by hand. A rise of h for each short slice, relative to the
    // mean, makes a difference of k h between stretches of k slices: the
    // variance of a round is (k h)², times the length.
    let rises = rounds(|slice| 1000.0 + slice as f64);
    let found = choose(&rises, 0).unwrap();
    let mean = 1000.0 + 319.0 / 2.0;
    for one in &found.promises {
        let slices = (one.slice_ns / SHORT_NS) as f64;
        let expected = (slices / mean).powi(2) * one.slice_ns as f64 / 1e9;
        let off = one.variance / expected - 1.0;
        assert!(off.abs() < 0.01, "{one:?}: {off}");
    }
    assert_eq!(found.slice_ns, SHORT_NS);
    assert!((found.promise().unwrap().time_share / (1.0 / 64.0) - 1.0).abs() < 0.02);
}

#[test]
fn without_noise_only_switching_counts() {
    // Method: constant rates; switching that costs nothing, and as much as
    // the usual slice.
    let calm = rounds(|_| 500.0);
    assert_eq!(choose(&calm, 0).unwrap().slice_ns, LENGTHS.usual_ns);
    let found = choose(&calm, 100_000_000).unwrap();
    assert_eq!(found.slice_ns, 500_000_000);
    assert!((found.promise().unwrap().time_share - 0.6).abs() < 1e-9);
}

#[test]
fn what_one_subject_has_of_its_own_does_not_ask_for_short_slices() {
    // Method: one subject gets faster in the middle, the other is constant, and
    // orders are mixed. Neighbours of one subject and stretches of both differ
    // only where it changes.
    let own: Vec<ShortRound> = (0..160)
        .map(|round| ShortRound {
            rates: [if round < 80 { 900.0 } else { 1100.0 }, 1000.0],
            order: if round % 3 == 0 {
                SliceOrder::Forth
            } else {
                SliceOrder::Back
            },
        })
        .collect();
    let found = choose(&own, 0).unwrap();
    let shortest = found.promises[0];
    // Its own variance is 1 % of a round; a round of 25 ms would show all of it.
    assert!(shortest.variance < 0.01 * 0.025 / 10.0, "{shortest:?}");
}

#[test]
fn rates_that_tell_nothing_are_refused() {
    // Method: too few rounds, too few for the usual length, a rate below
    // zero, no number, and a subject that answers nothing.
    let calm = rounds(|_| 500.0);
    let refused = |rounds: &[ShortRound]| choose(rounds, 0).unwrap_err();
    assert_eq!(
        refused(&calm[..19]),
        StatsError::TooFewRounds { got: 19, need: 20 }
    );
    let series = ShortRounds {
        rounds: &calm,
        slice_ns: SHORT_NS,
        switch_ns: 0,
    };
    let long = Lengths {
        usual_ns: 10_000_000_000,
        others_ns: &[],
    };
    assert_eq!(
        slice_choice(&series, &long),
        Err(StatsError::TooFewRounds {
            got: 160,
            need: 800
        })
    );
    for rate in [-1.0, f64::NAN, f64::INFINITY] {
        let mut bad = calm.clone();
        bad[7].rates[1] = rate;
        assert!(matches!(
            refused(&bad),
            StatsError::BadRate { round: 7, .. }
        ));
    }
    let silent: Vec<_> = { calm.iter() }
        .map(|round| ShortRound {
            rates: [round.rates[0], 0.0],
            ..*round
        })
        .collect();
    assert!(matches!(refused(&silent), StatsError::BadRate { .. }));
}

fn any_rounds() -> impl Strategy<Value = Vec<ShortRound>> {
    let round = (1.0..1e6_f64, 1.0..1e6_f64, any::<bool>());
    let round = round.prop_map(|(one, other, is_forth)| ShortRound {
        rates: [one, other],
        order: if is_forth {
            SliceOrder::Forth
        } else {
            SliceOrder::Back
        },
    });
    prop::collection::vec(round, 40..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn who_is_named_first_and_the_unit_of_rates_do_not_matter(
        rounds in any_rounds(),
        factor in 0.01..100.0_f64,
    ) {
        // Method: swap the subjects, and multiply the rates of one of them.
        let found = choose(&rounds, 1_000_000).unwrap();
        let swapped: Vec<_> = rounds.iter().map(|round| ShortRound {
            rates: [round.rates[1] * factor, round.rates[0]],
            order: match round.order {
                SliceOrder::Forth => SliceOrder::Back,
                SliceOrder::Back => SliceOrder::Forth,
            },
        }).collect();
        let other = choose(&swapped, 1_000_000).unwrap();
        prop_assert_eq!(found.slice_ns, other.slice_ns);
        prop_assert!((found.promise().unwrap().time_share / other.promise().unwrap().time_share - 1.0).abs() < 1e-6);
    }

    #[test]
    fn dearer_switching_never_shortens_slices(
        rounds in any_rounds(),
        cheap in 0_u64..100_000_000,
        more in 0_u64..1_000_000_000,
    ) {
        // Method: the same rounds at two costs of switching.
        let [cheap, dear] = [cheap, cheap + more].map(|ns| choose(&rounds, ns).unwrap());
        prop_assert!(cheap.slice_ns <= dear.slice_ns, "{:?} {:?}", cheap, dear);
    }

    #[test]
    fn the_chosen_length_is_one_of_those_offered_and_never_costs_more(
        rounds in any_rounds(),
        switch_ns in 0_u64..100_000_000,
    ) {
        // Method: any rounds; variances never fall with the length.
        let found = choose(&rounds, switch_ns).unwrap();
        prop_assert!(found.promise().unwrap().time_share <= 1.0);
        let is_sorted = found.promises.is_sorted_by(|one, next| {
            one.slice_ns < next.slice_ns && one.variance <= next.variance
        });
        prop_assert!(is_sorted, "{:?}", found.promises);
    }
}
