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
    // mean, makes a difference of k h between intervals of k slices: the
    // variance of a round is (k h)², times the length.
    let rises = rounds(|slice| 1000.0 + slice as f64);
    let slice_choice = choose(&rises, 0).unwrap();
    let mean = 1000.0 + 319.0 / 2.0;
    for length_promise in &slice_choice.promises {
        let slices = (length_promise.slice_ns / SHORT_NS) as f64;
        let expected = (slices / mean).powi(2) * length_promise.slice_ns as f64 / 1e9;
        let off = length_promise.variance / expected - 1.0;
        assert!(off.abs() < 0.01, "{length_promise:?}: {off}");
    }
    assert_eq!(slice_choice.slice_ns, SHORT_NS);
    assert!((slice_choice.promise().unwrap().time_share / (1.0 / 64.0) - 1.0).abs() < 0.02);
}

#[test]
fn without_noise_only_switching_counts() {
    // Method: constant rates; switching that costs nothing, and as much as
    // the usual slice.
    let calm = rounds(|_| 500.0);
    assert_eq!(choose(&calm, 0).unwrap().slice_ns, LENGTHS.usual_ns);
    let slice_choice = choose(&calm, 100_000_000).unwrap();
    assert_eq!(slice_choice.slice_ns, 500_000_000);
    assert!((slice_choice.promise().unwrap().time_share - 0.6).abs() < 1e-9);
}

#[test]
fn what_one_subject_has_of_its_own_does_not_ask_for_short_slices() {
    // Method: one subject gets faster in the middle, the other is constant, and
    // orders are mixed. Neighbours of one subject and intervals of both differ
    // only where it changes.
    let short_rounds: Vec<ShortRound> = (0..160)
        .map(|round| ShortRound {
            rates: [if round < 80 { 900.0 } else { 1100.0 }, 1000.0],
            order: if round % 3 == 0 {
                SliceOrder::Forth
            } else {
                SliceOrder::Back
            },
        })
        .collect();
    let slice_choice = choose(&short_rounds, 0).unwrap();
    let shortest = slice_choice.promises[0];
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
    let silent: Vec<_> = calm
        .iter()
        .map(|round| ShortRound {
            rates: [round.rates[0], 0.0],
            ..*round
        })
        .collect();
    assert!(matches!(refused(&silent), StatsError::BadRate { .. }));
}

#[test]
fn a_slice_without_responses_and_the_fewest_rounds_are_accepted() {
    // Method: twenty rounds, in one of which nothing came.
    let mut few = rounds(|_| 500.0)[..ROUNDS_MIN].to_vec();
    assert_eq!(choose(&few, 0).unwrap().slice_ns, LENGTHS.usual_ns);
    few[7].rates[1] = 0.0;
    assert!(choose(&few, 0).is_ok());
}

#[test]
fn a_saving_of_more_than_five_percent_is_worth_another_length() {
    // Method: by hand. Without noise, switching that takes s makes slices of 500 ms cost
    // (1 + s / 500) / (1 + s / 100) of those of 100 ms: 0.95 at s = 6.67 ms.
    let calm = rounds(|_| 500.0);
    let chosen = |switch_ns: u64| {
        let series = ShortRounds {
            rounds: &calm,
            slice_ns: SHORT_NS,
            switch_ns,
        };
        let lengths = Lengths {
            usual_ns: 100_000_000,
            others_ns: &[500_000_000],
        };
        slice_choice(&series, &lengths).unwrap()
    };
    assert_eq!(chosen(6_600_000).slice_ns, 100_000_000);
    let longer = chosen(6_700_000);
    assert_eq!(longer.slice_ns, 500_000_000);
    let share = longer.promise().unwrap().time_share;
    assert!((share / (506.7 / 500.0 / (106.7 / 100.0)) - 1.0).abs() < 1e-12);
}

fn estimated(variance: f64, freedom: f64, pool: usize) -> Estimate {
    Estimate {
        interval: Interval::One,
        variance,
        freedom,
        pool,
    }
}

#[test]
fn a_saving_must_be_beyond_the_error_of_both_variances() {
    // Method: by hand. 1.645 · √(2/10 + 2/40) is half of 1.645; 5 % are left where the
    // variances are known well, and where they are one and the same.
    let usual = estimated(1.0, 40.0, 1);
    let doubt = |freedom, pool| estimated(1.0, freedom, pool).doubt_beside(&usual);
    assert!((doubt(10.0, 0) - 0.8225).abs() < 1e-9);
    let five_percent = -(0.95_f64.ln());
    assert_eq!(doubt(10.0, 1), five_percent);
    let known = estimated(1.0, 1e9, 1);
    assert_eq!(estimated(1.0, 1e9, 0).doubt_beside(&known), five_percent);
}

#[test]
fn variances_that_fall_with_the_length_become_one_by_their_weight() {
    // Method: by hand. 4 with 10 degrees and 2 with 30 are 2.5 with 40; 3 and 2 are 2.5 with
    // 2, and with 1 of 2 more 1.75.
    let pooled = |pairs: &[(f64, f64)]| -> Vec<(f64, usize)> {
        let estimates = pairs.iter().map(|pair| estimated(pair.0, pair.1, 9));
        let mut estimates: Vec<Estimate> = estimates.collect();
        pool(&mut estimates);
        let each = estimates
            .iter()
            .map(|estimate| (estimate.variance, estimate.pool));
        each.collect()
    };
    let two = pooled(&[(4.0, 10.0), (2.0, 30.0), (8.0, 5.0)]);
    assert_eq!(two, [(2.5, 0), (2.5, 0), (8.0, 1)]);
    let three = pooled(&[(3.0, 1.0), (2.0, 1.0), (1.0, 2.0)]);
    assert_eq!(three, [(1.75, 0); 3]);
}

fn deviation(subject: usize, above: f64) -> Deviation {
    Deviation { subject, above }
}

#[test]
fn neighbours_are_those_of_one_subject_and_both_count_alike() {
    // Method: by hand. The second follows itself twice, by 0.3 and by 0.2, and the first
    // once, by 0.1: (0.13 / 2 + 0.01) / 2 of three.
    let [forth, back] = [[0, 1], [1, 0]];
    let in_time = |subjects: [usize; 2], above: [f64; 2]| {
        [0, 1].map(|slice| deviation(subjects[slice], above[slice]))
    };
    let mixed = Deviations {
        rounds: vec![
            in_time(forth, [0.1, 0.2]),
            in_time(back, [0.5, 0.3]),
            in_time(forth, [0.4, 0.0]),
            in_time(back, [0.2, 0.0]),
        ],
    };
    let (mean, count) = mixed.neighbours().unwrap();
    assert!((mean - 0.0375).abs() < 1e-12, "{mean}");
    assert_eq!(count, 3.0);
}

#[test]
fn rounds_in_one_order_do_not_tell_of_the_shortest_length() {
    // Method: the first subject is always first, so that none follows itself.
    let mut forth = rounds(|_| 500.0);
    for round in &mut forth {
        round.order = SliceOrder::Forth;
    }
    let promises = choose(&forth, 0).unwrap().promises;
    let lengths: Vec<u64> = promises
        .iter()
        .map(|length_promise| length_promise.slice_ns)
        .collect();
    assert_eq!(lengths, [50, 100, 250, 500].map(|ms| ms * 1_000_000));
}

#[test]
fn intervales_differ_wherever_they_begin() {
    // Method: by hand. Rounds of 0, 0.2 and 0.6 differ by 0.1 and by 0.2 for each slice.
    let three = Deviations {
        rounds: vec![
            [deviation(0, 0.1), deviation(1, -0.1)],
            [deviation(0, 0.0), deviation(1, 0.2)],
            [deviation(0, 0.4), deviation(1, 0.2)],
        ],
    };
    assert!((three.intervals(1).0 - 0.025).abs() < 1e-12);
}

#[test]
fn degrees_of_freedom_are_those_of_the_handbook() {
    // Method: Riley (2008) prints 146.177 for the overlapping Allan deviation of his 1,000
    // frequencies at ten times their distance.
    let level = Deviations {
        rounds: vec![[deviation(0, 0.0), deviation(1, 0.0)]; 1_000],
    };
    let degrees = level.intervals(10).1;
    assert!((degrees - 146.177).abs() < 5e-4, "{degrees}");
}

fn any_rounds() -> impl Strategy<Value = Vec<ShortRound>> {
    let round = (1.0..1e6_f64, 1.0..1e6_f64, any::<bool>());
    let round = round.prop_map(|(value, other, is_forth)| ShortRound {
        rates: [value, other],
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
        let slice_choice = choose(&rounds, 1_000_000).unwrap();
        let swapped: Vec<_> = rounds.iter().map(|round| ShortRound {
            rates: [round.rates[1] * factor, round.rates[0]],
            order: match round.order {
                SliceOrder::Forth => SliceOrder::Back,
                SliceOrder::Back => SliceOrder::Forth,
            },
        }).collect();
        let other = choose(&swapped, 1_000_000).unwrap();
        prop_assert_eq!(slice_choice.slice_ns, other.slice_ns);
        prop_assert!((slice_choice.promise().unwrap().time_share / other.promise().unwrap().time_share - 1.0).abs() < 1e-6);
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
        let slice_choice = choose(&rounds, switch_ns).unwrap();
        prop_assert!(slice_choice.promise().unwrap().time_share <= 1.0);
        let is_sorted = slice_choice.promises.is_sorted_by(|length_promise, next| {
            length_promise.slice_ns < next.slice_ns && length_promise.variance <= next.variance
        });
        prop_assert!(is_sorted, "{:?}", slice_choice.promises);
    }
}
