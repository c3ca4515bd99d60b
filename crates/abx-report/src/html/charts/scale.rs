//! Maps values to places on an axis, and chooses the ticks of an axis.

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    kind: ScaleKind,
    low: f64,
    high: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScaleKind {
    Linear,
    Log,
}

impl Scale {
    pub(crate) fn linear(low: f64, high: f64) -> Scale {
        let [low, high] = [low, high].map(within_range);
        let width_least = (low.abs().max(high.abs()) * CLOSE).max(RANGE.recip());
        let high = if high - low > width_least {
            high
        } else {
            low + width_least.max(1.0)
        };
        Scale {
            kind: ScaleKind::Linear,
            low,
            high,
        }
    }

    /// From zero to a round number at or above `most`.
    pub(crate) fn from_zero(most: f64) -> Scale {
        let most = if most > 0.0 && most.is_finite() {
            most.clamp(RANGE.recip(), RANGE)
        } else {
            1.0
        };
        let step = nice_step(most / 4.0);
        Scale::linear(0.0, (most / step).ceil() * step)
    }

    /// A logarithmic scale around these values, with some room; `None` if none of them has a
    /// logarithm.
    pub(crate) fn log_around(values: impl Iterator<Item = f64>) -> Option<Scale> {
        let drawable = values.filter(|value| value.is_finite() && *value > 0.0);
        let drawable = drawable.map(|value| value.clamp(RANGE.recip(), RANGE));
        let (low, high) = drawable.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        (high > 0.0).then(|| {
            let room = ((high / low).ln() * ROOM).max(ROOM_LEAST).exp();
            Scale {
                kind: ScaleKind::Log,
                low: low / room,
                high: high * room,
            }
        })
    }

    /// The place of a value from 0 to 1. Values beyond an end are placed at that end.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let place = match self.kind {
            ScaleKind::Linear => (value - self.low) / (self.high - self.low),
            ScaleKind::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        // Values without a logarithm are placed at the low end.
        if place.is_nan() {
            0.0
        } else {
            place.clamp(0.0, 1.0)
        }
    }

    pub(crate) fn ends(&self) -> [f64; 2] {
        [self.low, self.high]
    }

    pub(crate) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Round values within the ends, at most `most` of them.
    pub(crate) fn ticks(&self, most: usize) -> Vec<f64> {
        match self.kind {
            ScaleKind::Linear => self.even_ticks(most),
            // A short range has too few powers of ten, and even steps are rounder.
            ScaleKind::Log if self.high / self.low < LOG_TICKS_FROM => self.even_ticks(most),
            ScaleKind::Log => self.power_ticks(most),
        }
    }

    fn even_ticks(&self, most: usize) -> Vec<f64> {
        let mut step = nice_step((self.high - self.low) / most.max(1) as f64);
        loop {
            let first = (self.low / step - CLOSE).ceil();
            let last = (self.high / step + CLOSE).floor();
            if last - first < most as f64 {
                return (first as i64..=last as i64)
                    .map(|count| count as f64 * step)
                    .collect();
            }
            step = nice_step(step * 1.5);
        }
    }

    fn power_ticks(&self, most: usize) -> Vec<f64> {
        let [first, last] = [self.low.log10().floor(), self.high.log10().ceil()];
        let powers = |factors: &'static [f64], every: usize| {
            (first as i32..=last as i32)
                .step_by(every)
                .flat_map(move |power| factors.iter().map(move |value| value * 10_f64.powi(power)))
                .filter(|value| (self.low..=self.high).contains(value))
                .collect::<Vec<f64>>()
        };
        let choices: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
        let result = choices.iter().map(|factors| powers(factors, 1));
        let mut fitting = result.filter(|ticks| ticks.len() <= most && ticks.len() > 1);
        fitting.next().unwrap_or_else(|| {
            let decades = (last - first) as usize;
            powers(&[1.0], (decades / most.max(1)).max(1) + 1)
        })
    }
}

/// A value that can be the end of an axis; 0 for NaN.
fn within_range(value: f64) -> f64 {
    if value.is_nan() {
        return 0.0;
    }
    value.clamp(-RANGE, RANGE)
}

/// 1, 2 or 5 times a power of ten, at or above `step`.
fn nice_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let values = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let enough = |value: &&f64| **value >= step * (1.0 - CLOSE);
    values.iter().find(enough).copied().unwrap_or(10.0 * power)
}

/// A number with at most nine decimals, and no more than it needs.
pub(crate) fn plain(value: f64) -> String {
    format!("{}", (value * 1e9).round() / 1e9)
}

/// The largest value that an axis shows. It is far beyond every unit of a record, and its square
/// and its inverse are finite.
const RANGE: f64 = 1e30;
/// The share of a logarithmic range that is added at each end, and the least addition as a
/// logarithm.
const ROOM: f64 = 0.06;
const ROOM_LEAST: f64 = 0.01;
/// If the ratio of its ends is at least this, a logarithmic axis has ticks at powers of ten.
const LOG_TICKS_FROM: f64 = 4.0;
const CLOSE: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn log(low: f64, high: f64) -> Scale {
        Scale {
            kind: ScaleKind::Log,
            low,
            high,
        }
    }

    fn texts(ticks: &[f64]) -> Vec<String> {
        ticks.iter().map(|tick| plain(*tick)).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        // Method: usual axes, with ticks as they are printed.
        let throughput = Scale::from_zero(127_025.0);
        assert_eq!([throughput.low, throughput.high], [0.0, 150_000.0]);
        let shown = texts(&throughput.ticks(6));
        assert_eq!(shown, ["0", "50000", "100000", "150000"]);
        let near_one = texts(&log(0.93, 1.19).ticks(6));
        assert_eq!(near_one, ["0.95", "1", "1.05", "1.1", "1.15"]);
        let times = texts(&log(80.0, 20_000.0).ticks(8));
        assert_eq!(
            times,
            [
                "100", "200", "500", "1000", "2000", "5000", "10000", "20000"
            ]
        );
        assert_eq!(
            texts(&log(80.0, 20_000.0).ticks(4)),
            ["100", "1000", "10000"]
        );
    }

    #[test]
    fn a_log_axis_has_equal_distances_for_equal_ratios() {
        // Method: 1 in the middle of its inverse ends; a zero lies at the low end.
        let scale = Scale::log_around([0.5, 2.0].into_iter()).unwrap();
        assert!((scale.place(1.0) - 0.5).abs() < 1e-12);
        assert!(scale.place(0.5) > 0.0 && scale.place(2.0) < 1.0);
        assert_eq!(
            [0.0, -1.0, f64::NAN].map(|value| scale.place(value)),
            [0.0; 3]
        );
        assert_eq!(Scale::log_around([0.0, f64::NAN].into_iter()), None);
    }

    /// Values of every size, infinities and NaN.
    fn any_value() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<f64>(),
            any::<u64>().prop_map(f64::from_bits),
            prop::sample::select(vec![
                0.0,
                1.0,
                -1.0,
                1e16,
                1e304,
                f64::MAX,
                f64::MIN,
                f64::MIN_POSITIVE,
                5e-324,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NAN,
            ]),
        ]
    }

    proptest! {
        #[test]
        fn any_pair_of_values_gives_an_axis_with_few_ticks(
            low in any_value(),
            high in any_value(),
            most in 3_usize..9,
        ) {
            // Method: values of every size on each kind of axis; ends, places and ticks are
            // finite, and there are at most two dozen ticks.
            let scales = [
                Some(Scale::linear(low, high)),
                Some(Scale::from_zero(high)),
                Scale::log_around([low, high].into_iter()),
            ];
            for scale in scales.into_iter().flatten() {
                let [start, end] = scale.ends();
                prop_assert!(start.is_finite() && end.is_finite() && start < end, "{scale:?}");
                let ticks = scale.ticks(most);
                prop_assert!(ticks.len() <= 24, "{scale:?} {ticks:?}");
                prop_assert!(ticks.iter().all(|tick| tick.is_finite()), "{scale:?} {ticks:?}");
                for value in [low, high] {
                    prop_assert!((0.0..=1.0).contains(&scale.place(value)), "{scale:?}");
                }
            }
        }

        #[test]
        fn axes_hold_their_values_and_few_ticks(
            values in prop::collection::vec(1e-3_f64..1e9, 1..8),
            most in 3_usize..9,
        ) {
            // Method: any values on each kind of axis; places grow with the
            // values, ticks ascend, lie within the ends and are not too many.
            let highest = values.iter().copied().fold(0.0, f64::max);
            let scales = [
                Scale::from_zero(highest),
                Scale::log_around(values.iter().copied()).unwrap(),
            ];
            for scale in scales {
                let Scale { low, high, .. } = scale;
                prop_assert!(values.iter().all(|value| low <= *value && *value <= high));
                let mut sorted = values.clone();
                sorted.sort_by(f64::total_cmp);
                let places: Vec<f64> = sorted.iter().map(|value| scale.place(*value)).collect();
                prop_assert!(places.is_sorted());
                let ticks = scale.ticks(most);
                prop_assert!(ticks.len() <= most, "{ticks:?}");
                prop_assert!(ticks.is_sorted_by(|tick, next| tick < next), "{ticks:?}");
                let slack = (high - low) * 1e-6;
                let within = |tick: &f64| low - slack <= *tick && *tick <= high + slack;
                prop_assert!(ticks.iter().all(within), "{ticks:?} {low} {high}");
            }
        }
    }
}
