//! The times at which connections begin.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::values::{HttperfRefusal, refusal, seconds, short_number};

/// When connections begin; intervals are in seconds.
#[derive(Debug, Clone, PartialEq)]
pub enum HttperfPace {
    /// Each connection after the end of the previous one.
    Sequential,
    /// At equal intervals, in connections per second.
    Rate(f64),
    /// At exponentially distributed intervals of this mean.
    Exponential(f64),
    /// At uniformly distributed intervals between these bounds.
    Uniform(f64, f64),
    /// At intervals that change during the load: each step for its duration, and from the start
    /// again after the last one.
    Steps(Vec<HttperfPaceStep>),
}

/// An interval and how long it applies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HttperfPaceStep {
    /// The interval from one connection to the next, above zero.
    pub gap_s: f64,
    pub lasts_s: f64,
}

impl HttperfPace {
    pub(super) fn of_rate(value: &str) -> Result<HttperfPace, HttperfRefusal> {
        let rate = seconds(value, "request rate")?;
        Ok(if rate > 0.0 {
            HttperfPace::Rate(rate)
        } else {
            HttperfPace::Sequential
        })
    }

    pub(super) fn of_period(value: &str) -> Result<HttperfPace, HttperfRefusal> {
        let (kind, spans) = match value.chars().next() {
            Some(kind @ ('d' | 'e' | 'u')) => (kind, &value[1..]),
            Some('v') => return steps(&value[1..]),
            Some(other) if other.is_alphabetic() => {
                return Err(HttperfRefusal(format!(
                    "illegal interarrival distribution '{other}' in {value}"
                )));
            }
            _ => ('d', value),
        };
        if kind == 'u' {
            let (low, high) = spans
                .split_once(',')
                .ok_or_else(|| refusal("minimum interarrival time not followed by `,MAX_IAT'"))?;
            let low = seconds(low, "minimum interarrival time")?;
            let high = seconds(high, "maximum interarrival time")?;
            return if low < high {
                Ok(HttperfPace::Uniform(low, high))
            } else {
                Err(refusal("--period u needs T1 below T2"))
            };
        }
        let mean = seconds(spans, "mean interarrival time")?;
        Ok(match kind {
            _ if mean <= 0.0 => HttperfPace::Sequential,
            'e' => HttperfPace::Exponential(mean),
            _ => HttperfPace::Rate(1.0 / mean),
        })
    }

    /// The option that sets this pace; empty for the default.
    pub(super) fn echo(&self) -> String {
        match *self {
            HttperfPace::Sequential => String::new(),
            HttperfPace::Rate(rate) => format!("--rate={}", short_number(rate)),
            HttperfPace::Exponential(mean) => format!("--period=e{}", short_number(mean)),
            HttperfPace::Uniform(low, high) => {
                format!("--period=u{},{}", short_number(low), short_number(high))
            }
            // As in httperf, which does not repeat the steps.
            HttperfPace::Steps(_) => "--period=v".to_owned(),
        }
    }

    /// The mean number of connections per second; `None` if connections are sequential or the rate
    /// changes.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        match *self {
            HttperfPace::Sequential | HttperfPace::Steps(_) => None,
            HttperfPace::Rate(rate) => Some(rate),
            HttperfPace::Exponential(mean) => Some(1.0 / mean),
            HttperfPace::Uniform(low, high) => Some(2.0 / (low + high)),
        }
    }

    /// The endless sequence of times at which connections begin, in ns since the first one. It is
    /// the same for the same client. `None` if connections are sequential.
    #[must_use]
    pub fn begins(&self, client: u32) -> Option<Box<dyn Iterator<Item = u64>>> {
        let mut random = ChaCha8Rng::seed_from_u64(u64::from(client));
        // In (0, 1], because the logarithm of zero is infinite.
        let mut draw = move || 1.0 - random.random::<f64>();
        let begins: Box<dyn Iterator<Item = u64>> = match *self {
            HttperfPace::Sequential => return None,
            HttperfPace::Rate(rate) => {
                Box::new((0_u64..).map(move |index| (index as f64 / rate * 1e9) as u64))
            }
            HttperfPace::Exponential(mean) => moments(move || -draw().ln() * mean),
            HttperfPace::Uniform(low, high) => moments(move || high - draw() * (high - low)),
            HttperfPace::Steps(ref steps) => {
                let steps = steps.clone();
                let (mut index, mut lasted_s) = (0, 0.0);
                moments(move || {
                    let HttperfPaceStep { gap_s, lasts_s } = steps[index];
                    lasted_s += gap_s;
                    // The tolerance covers rounding errors of sums.
                    if lasted_s >= lasts_s * (1.0 - 1e-9) {
                        (index, lasted_s) = ((index + 1) % steps.len(), 0.0);
                    }
                    gap_s
                })
            }
        };
        Some(begins)
    }
}

/// Reads pairs of an interval and its duration.
fn steps(spans: &str) -> Result<HttperfPace, HttperfRefusal> {
    let numbers: Vec<&str> = spans.split(',').collect();
    let pairs = numbers.chunks(2).map(|pair| {
        let [gap, lasts] = pair else {
            return Err(refusal("--period v needs a duration after each period"));
        };
        let step = HttperfPaceStep {
            gap_s: seconds(gap, "interarrival time")?,
            lasts_s: seconds(lasts, "duration")?,
        };
        if step.gap_s > 0.0 && step.lasts_s > 0.0 {
            Ok(step)
        } else {
            Err(refusal("--period v needs periods and durations above 0"))
        }
    });
    Ok(HttperfPace::Steps(pairs.collect::<Result<_, _>>()?))
}

/// The times that follow from these gaps, in ns.
fn moments(mut gap_s: impl FnMut() -> f64 + 'static) -> Box<dyn Iterator<Item = u64>> {
    let mut next_s = 0.0_f64;
    Box::new(std::iter::from_fn(move || {
        let moment = next_s;
        next_s += gap_s();
        Some((moment * 1e9) as u64)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(pace: &HttperfPace, client: u32) -> Vec<f64> {
        let moments: Vec<u64> = pace.begins(client).unwrap().take(20_001).collect();
        assert_eq!(moments[0], 0);
        moments
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64 / 1e9)
            .collect()
    }

    #[test]
    fn gaps_have_the_requested_distribution() {
        // Method: the mean, and the share below the mean, of 20,000 gaps of each kind. The share is
        // 1 (just above the mean), 1/2 and 1 - 1/e.
        for (pace, mean, share) in [
            (HttperfPace::of_period("d0.25").unwrap(), 0.25, 1.0),
            (HttperfPace::of_period("u1,3").unwrap(), 2.0, 0.5),
            (HttperfPace::of_period("e0.01").unwrap(), 0.01, 0.632),
        ] {
            let gaps = gaps(&pace, 0);
            let sum: f64 = gaps.iter().sum();
            let average = sum / gaps.len() as f64;
            assert!((average / mean - 1.0).abs() < 0.03, "{pace:?}: {average}");
            let below = gaps.iter().filter(|&&gap| gap < mean * 1.000_001).count();
            let below = below as f64 / gaps.len() as f64;
            assert!((below - share).abs() < 0.02, "{pace:?}: {below}");
            let rate = pace.rate().unwrap();
            assert!((rate * mean - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn steps_repeat_in_order() {
        // Method: two rounds of the example in httperf's manual, one connection per second for two
        // seconds and then two per second for four; and tenths of a second.
        let pace = HttperfPace::of_period("v1,2,0.5,4").unwrap();
        let gaps: Vec<f64> = gaps(&pace, 0)[..20].to_vec();
        let once = [1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5];
        assert_eq!(gaps, [once, once].concat());
        assert_eq!((pace.rate(), pace.echo()), (None, "--period=v".to_owned()));
        let tenths = HttperfPace::of_period("v0.1,1,1,1").unwrap();
        let moments: Vec<u64> = tenths.begins(0).unwrap().take(13).collect();
        assert!((moments[11] - moments[10]).abs_diff(1_000_000_000) < 10);
        assert!((moments[12] - moments[11]).abs_diff(100_000_000) < 10);
    }

    #[test]
    fn clients_differ_and_each_repeats_itself() {
        // Method: the same client twice, and another one.
        let pace = HttperfPace::Exponential(1.0);
        assert_eq!(gaps(&pace, 1), gaps(&pace, 1));
        assert_ne!(gaps(&pace, 1), gaps(&pace, 2));
    }

    #[test]
    fn a_rate_of_zero_has_no_schedule() {
        // Method: zeros, and values that httperf refuses.
        for pace in [HttperfPace::of_rate("0"), HttperfPace::of_period("0")] {
            assert!(pace.unwrap().begins(0).is_none());
        }
        for wrong in ["u3", "u3,1", "x5", "v", "v1", "v0,1", "v1,2,1", "d", "e-1"] {
            assert!(HttperfPace::of_period(wrong).is_err(), "{wrong}");
        }
        assert_eq!(HttperfPace::of_period("0.5"), Ok(HttperfPace::Rate(2.0)));
    }
}
