//! Constant rates and stages: exact moments and exact counts.

use abx_engine::schedule::{Amount, Stage, StageList};
use proptest::prelude::*;

use super::*;

#[test]
fn a_constant_rate_never_drifts() {
    // Method: three requests a second for more than a year. Every third one is due at a full
    // second, the others one and two thirds after it, rounded down.
    let three = schedule(&constant("3"));
    for second in [0, 1, 1_000, 40_000_000] {
        let at = [0, 1, 2].map(|extra| three.intended(3 * second + extra).unwrap().0);
        let start = second * SECOND;
        assert_eq!(at, [start, start + 333_333_333, start + 666_666_666]);
    }
}

#[test]
fn rates_below_one_and_with_decimals_are_exact() {
    // Method: due times that were computed by hand.
    for (rate, index, at) in [
        ("0.5", 3, 6 * SECOND),
        ("0.001", 2, 2_000 * SECOND),
        ("2.5", 5, 2 * SECOND),
        ("10000000", 10_000_001, SECOND + 100),
    ] {
        assert_eq!(schedule(&constant(rate)).intended(index), Some(Nanos(at)));
    }
}

#[test]
fn requests_beyond_the_end_of_the_clock_are_never_due() {
    // Method: the last due time that fits, computed by hand, and the next one.
    let schedule = schedule(&constant("1"));
    let last = u64::MAX / SECOND;
    assert_eq!(schedule.intended(last), Some(Nanos(last * SECOND)));
    assert_eq!(schedule.intended(last + 1), None);
    assert_eq!(schedule.end(), None);
}

#[test]
fn the_moments_of_stages_match_those_by_hand() {
    // Method: the integral of the rate, solved on paper, for ramps up, down and through stages. Due
    // times on ramps are square roots, rounded down.
    for (text, expected) in [
        ("2@2s", vec![0, 500_000_000, 1_000_000_000, 1_500_000_000]),
        ("0:2@2s", vec![0, 1_414_213_562]),
        // 4t - t²: due at 2 - sqrt(4 - index).
        ("4:0@2s", vec![0, 267_949_192, 585_786_437, 1_000_000_000]),
        // The second stage continues from the end of the first one: at a half.
        ("0:1@1s,1@2s", vec![0, 1_500_000_000, 2_500_000_000]),
        (
            "1@1s,10@300ms",
            vec![0, SECOND, 1_100_000_000, 1_200_000_000],
        ),
        // A pause: a request due at its beginning is due at its end.
        ("1@2s,0@10s,1@1s", vec![0, SECOND, 12 * SECOND]),
        ("0@10s,1@1s,0@5s", vec![10 * SECOND]),
        ("0.5@1s", vec![0]),
    ] {
        assert_eq!(moments(text), expected, "{text}");
        let count = schedule(&stages(text)).count_before(Nanos::MAX);
        assert_eq!(count, expected.len() as u64, "{text}");
    }
}

#[test]
fn a_schedule_of_stages_ends_with_them() {
    // Method: the documented example, as the areas of a triangle and a rectangle.
    let schedule = schedule(&stages("0:20000@30s,20000@60s"));
    assert_eq!(schedule.end(), Some(Nanos(90 * SECOND)));
    assert_eq!(schedule.count_before(Nanos(30 * SECOND)), 300_000);
    assert_eq!(schedule.count_before(Nanos(90 * SECOND)), 1_500_000);
    assert_eq!(schedule.intended(300_000), Some(Nanos(30 * SECOND)));
    let last = schedule.intended(1_499_999);
    assert_eq!(last, Some(Nanos(90 * SECOND - 50_000)));
    assert_eq!(schedule.intended(1_500_000), None);
}

#[test]
fn the_largest_stages_are_exact_too() {
    // Method: a day up to ten million a second, and a day down. The middle is known exactly, and
    // counts show where every due time lies.
    let schedule = schedule(&stages("0:10000000@24h,10000000:0@24h"));
    let half = 24 * 3_600 * 10_000_000_u64 / 2;
    let day = 24 * 3_600 * SECOND;
    assert_eq!(schedule.intended(half), Some(Nanos(day)));
    assert_eq!(schedule.count_before(Nanos(2 * day)), 2 * half);
    for index in [0, 1, half / 3, half + 1, 2 * half - 2, 2 * half - 1] {
        let due = schedule.intended(index).unwrap();
        assert!(schedule.count_before(due) <= index);
        assert!(schedule.count_before(due.plus(Nanos(1))) > index);
    }
}

#[test]
fn a_list_has_a_value_at_any_moment() {
    // Method: the ends and the middle of a ramp, a jump, and a moment after the end, as rates and
    // as numbers of connections.
    let list: StageList = "0:10@4s,3@1s".parse().unwrap();
    let value = |ns| list.value_at(Nanos(ns)).map(|value| value.to_string());
    for (at, expected) in [
        (0, "0"),
        (SECOND, "2.5"),
        (4 * SECOND - 1, "9.999"),
        (4 * SECOND, "3"),
        (5 * SECOND - 1, "3"),
    ] {
        assert_eq!(value(at).as_deref(), Some(expected), "{at}");
    }
    assert_eq!(value(5 * SECOND), None);
    assert_eq!(list.lasts(), Nanos(5 * SECOND));
    let connections = |ns| list.value_at(Nanos(ns)).map(Amount::rounded);
    assert_eq!(connections(SECOND), Some(3));
    assert_eq!(connections(SECOND - 1), Some(2));
}

/// Stages of short times and rates small and large, pauses among them.
fn any_stages() -> impl Strategy<Value = StageList> {
    let value = prop_oneof![Just(0_u64), 0_u64..20_000, 0_u64..5_000_000];
    let stage = (value.clone(), value, any::<bool>(), 1_u64..5_000_000_000);
    prop::collection::vec(stage, 1..6).prop_filter_map("all zero", |stages| {
        let text: Vec<_> = stages
            .into_iter()
            .map(|(from, to, holds, lasts)| {
                let amount = |thousandths| Amount::from_thousandths(thousandths).expect("small");
                Stage {
                    from: amount(from),
                    to: amount(if holds { from } else { to }),
                    lasts: Nanos(lasts),
                }
                .to_string()
            })
            .collect();
        text.join(",").parse().ok()
    })
}

/// The integral of the rate up to `end` in floating point, computed differently from the code.
fn integral(list: &StageList, end: f64) -> f64 {
    let (mut begins, mut sum) = (0.0, 0.0);
    for stage in list.stages() {
        let lasts = stage.lasts.as_secs_f64();
        let passed = (end - begins).clamp(0.0, lasts);
        let (from, to) = (f64::from(stage.from), f64::from(stage.to));
        let reached = from + (to - from) * passed / lasts;
        sum += (from + reached) / 2.0 * passed;
        begins += lasts;
    }
    sum
}

proptest! {
    #[test]
    fn a_constant_rate_has_the_correct_number_in_every_interval(
        thousandths in 1_u64..10_000_000_000,
        from in 0_u64..1_000_000_000_000,
        length in 0_u64..1_000_000_000_000,
    ) {
        // Method: the number of due times in an interval by their indices equals that of the
        // formula, and the due times next to its edges lie on the correct sides.
        let rate = Amount::from_thousandths(thousandths).expect("small");
        let schedule = schedule(&constant(&rate.to_string()));
        let before = |end: u64| {
            (u128::from(end) * u128::from(thousandths)).div_ceil(1_000_000_000_000) as u64
        };
        for edge in [from, from + length] {
            let first = before(edge);
            prop_assert_eq!(schedule.count_before(Nanos(edge)), first);
            prop_assert!(schedule.intended(first).unwrap() >= Nanos(edge));
            if let Some(last) = first.checked_sub(1) {
                prop_assert!(schedule.intended(last).unwrap() < Nanos(edge));
            }
        }
    }

    #[test]
    fn stages_hold_their_integral_in_every_interval(
        list in any_stages(),
        share in 0.0_f64..1.2,
    ) {
        // Method: the count up to any moment equals the integral, and the due times on either side
        // of the moment are correct.
        let end = (list.lasts().0 as f64 * share) as u64;
        let schedule = schedule(&Arrivals::Stages(list.clone()));
        let count = schedule.count_before(Nanos(end));
        let expected = integral(&list, end as f64 / 1e9);
        let slack = 1e-6 + expected * 1e-9;
        prop_assert!(count as f64 >= expected - slack, "{count} {expected}");
        prop_assert!((count as f64) < expected + 1.0 + slack, "{count} {expected}");
        if let Some(first) = schedule.intended(count) {
            prop_assert!(first >= Nanos(end));
        }
        if let Some(last) = count.checked_sub(1) {
            prop_assert!(schedule.intended(last).unwrap() < Nanos(end));
        }
    }

    #[test]
    fn moments_of_stages_are_complete_and_never_decrease(list in any_stages()) {
        // Method: every due time up to the 3,000th, and their number.
        let schedule = schedule(&Arrivals::Stages(list.clone()));
        let moments: Vec<_> = schedule.pacer(ScheduleShare::WHOLE).take(3_000).collect();
        prop_assert!(moments.is_sorted());
        prop_assert!(moments.iter().all(|due| *due < list.lasts()));
        let total = schedule.count_before(list.lasts());
        prop_assert_eq!(moments.len() as u64, total.min(3_000));
        prop_assert_eq!(schedule.intended(total), None);
    }
}
