//! How load went over time: the requests that ended in each interval of a slice. A
//! [`CourseTally`] counts them in intervals that are joined in pairs when they become many, so
//! that hours take no more room than seconds. A record has them as a [`Course`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::distribution::histogram::RoughTimes;
use crate::measure::outcome::Outcomes;

/// The most intervals of a slice.
const INTERVALS_MAX: usize = 200;

/// How finely the course of a slice is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoursePlan {
    /// The length of an interval before any are joined, above 0.
    #[serde(rename = "stretch_ns")]
    pub interval_ns: u64,
    /// Whether each interval is reported as soon as it is over.
    pub is_told: bool,
}

/// The requests that ended in one interval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    pub outcomes: Outcomes,
    /// Response times. Requests without a response count with the time for which they had waited.
    pub response: RoughTimes,
}

impl Interval {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Interval) {
        self.outcomes.merge(&other.outcomes);
        self.response.merge(&other.response);
    }
}

/// A course while it is counted. `merge` is associative and commutative.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ReceivedCourse")]
pub struct CourseTally {
    /// The length of an interval before any are joined.
    plan_ns: u64,
    /// How many of these each interval holds: a power of two.
    joined: usize,
    #[serde(rename = "stretches")]
    intervals: Vec<Interval>,
    until_ns: u64,
}

/// A [`CourseTally`] as another machine sends it.
#[derive(Deserialize)]
struct ReceivedCourse {
    plan_ns: u64,
    joined: usize,
    #[serde(rename = "stretches")]
    intervals: Vec<Interval>,
    until_ns: u64,
}

/// A course that no slice can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a course has too many intervals, or intervals of zero length")]
struct NoCourse;

/// Intervals are never joined this often: seconds would become a century.
const JOINED_MAX: usize = 1 << 32;

impl TryFrom<ReceivedCourse> for CourseTally {
    type Error = NoCourse;

    fn try_from(received: ReceivedCourse) -> Result<CourseTally, NoCourse> {
        let ReceivedCourse {
            plan_ns,
            joined,
            intervals,
            until_ns,
        } = received;
        let is_valid = plan_ns > 0
            && joined.is_power_of_two()
            && joined <= JOINED_MAX
            && intervals.len() <= INTERVALS_MAX;
        is_valid
            .then_some(CourseTally {
                plan_ns,
                joined,
                intervals,
                until_ns,
            })
            .ok_or(NoCourse)
    }
}

impl CourseTally {
    /// An empty course.
    #[must_use]
    pub fn new(plan: CoursePlan) -> CourseTally {
        CourseTally {
            plan_ns: plan.interval_ns.max(1),
            joined: 1,
            intervals: Vec::new(),
            until_ns: 0,
        }
    }

    /// Adds the interval of this number, which counts intervals of the plan's length from zero. It
    /// ended `until_ns` after the slice's start.
    pub fn add(&mut self, number: usize, until_ns: u64, interval: &Interval) {
        while number / self.joined >= INTERVALS_MAX {
            self.join();
        }
        self.until_ns = self.until_ns.max(until_ns);
        let index = number / self.joined;
        if self.intervals.len() <= index {
            self.intervals.resize_with(index + 1, Interval::default);
        }
        self.intervals[index].merge(interval);
    }

    /// Adds the course of another worker in the same slice.
    pub fn merge(&mut self, other: &CourseTally) {
        while self.joined < other.joined {
            self.join();
        }
        for (index, interval) in other.intervals.iter().enumerate() {
            self.add(index * other.joined, other.until_ns, interval);
        }
    }

    /// Joins intervals in pairs.
    fn join(&mut self) {
        self.joined *= 2;
        let mut rest = std::mem::take(&mut self.intervals).into_iter();
        while let Some(mut first) = rest.next() {
            if let Some(second) = rest.next() {
                first.merge(&second);
            }
            self.intervals.push(first);
        }
    }

    /// The course in a record.
    #[must_use]
    pub fn finish(&self) -> Course {
        let counts = |pick: fn(&Outcomes) -> u64| {
            self.intervals
                .iter()
                .map(|interval| pick(&interval.outcomes))
                .collect()
        };
        let quantiles = |q| {
            self.intervals
                .iter()
                .map(|interval| interval.response.quantile_us(q))
                .collect()
        };
        Course {
            interval_ns: self.plan_ns.saturating_mul(self.joined as u64),
            until_ns: self.until_ns,
            ok: counts(Outcomes::ok),
            failed: counts(Outcomes::failed),
            p50_us: quantiles(0.5),
            p90_us: quantiles(0.9),
            p99_us: quantiles(0.99),
            max_us: quantiles(1.0),
        }
    }
}

/// The load over time: lists with one value per interval, in order. A request belongs to the
/// interval in which it ended, and to none if it ended after the load. Times are accurate to
/// 1 %, and null if no request ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Course {
    /// The length of each interval except the last.
    #[serde(rename = "stretch_ns")]
    pub interval_ns: u64,
    /// The end of the last one, from the start of the load.
    pub until_ns: u64,
    /// Verified responses.
    pub ok: Vec<u64>,
    /// Attempts that failed.
    pub failed: Vec<u64>,
    /// The median response time.
    pub p50_us: Vec<Option<u64>>,
    /// The response time that nine of ten requests did not exceed.
    pub p90_us: Vec<Option<u64>>,
    /// The response time that 99 of 100 requests did not exceed.
    pub p99_us: Vec<Option<u64>>,
    /// The longest one.
    pub max_us: Vec<Option<u64>>,
}

/// One interval of a course.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CourseInterval {
    /// Its start, in seconds from the start of the load.
    pub from_s: f64,
    /// Its end, in seconds from the start of the load.
    pub to_s: f64,
    /// Verified responses per second.
    pub ok_per_s: f64,
    /// Attempts that failed per second.
    pub failed_per_s: f64,
    /// Response times of half, of 90 % and of 99 % of the requests, in µs.
    pub quantiles_us: [Option<u64>; 3],
}

impl Course {
    /// Its intervals in order.
    pub fn intervals(&self) -> impl Iterator<Item = CourseInterval> + '_ {
        let counts = self.ok.iter().zip(&self.failed);
        counts.enumerate().filter_map(|(index, (ok, failed))| {
            let from_ns = self.interval_ns.checked_mul(index as u64)?;
            let to_ns = from_ns.saturating_add(self.interval_ns).min(self.until_ns);
            let seconds = to_ns.checked_sub(from_ns).filter(|ns| *ns > 0)? as f64 / 1e9;
            let at = |times: &[Option<u64>]| times.get(index).copied().flatten();
            Some(CourseInterval {
                from_s: from_ns as f64 / 1e9,
                to_s: to_ns as f64 / 1e9,
                ok_per_s: *ok as f64 / seconds,
                failed_per_s: *failed as f64 / seconds,
                quantiles_us: [at(&self.p50_us), at(&self.p90_us), at(&self.p99_us)],
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measure::outcome::Outcome;

    const MS: u64 = 1_000_000;

    fn plan() -> CoursePlan {
        CoursePlan {
            interval_ns: 100 * MS,
            is_told: false,
        }
    }

    /// An interval of `ok` responses, each of which took `us` µs, and `failed` failures.
    fn interval(ok: u64, us: u64, failed: u64) -> Interval {
        let mut interval = Interval::default();
        interval.outcomes.add_times(Outcome::Ok, ok);
        interval.outcomes.add_times(Outcome::Reset, failed);
        interval.response.record_us(us, ok);
        interval
    }

    fn course(intervals: &[(usize, u64)]) -> CourseTally {
        let mut tally = CourseTally::new(plan());
        for (number, ok) in intervals {
            let until_ns = (*number as u64 + 1) * plan().interval_ns;
            tally.add(*number, until_ns, &interval(*ok, 50, 1));
        }
        tally
    }

    #[test]
    fn each_interval_has_the_requests_that_ended_in_it() {
        // Method: two intervals of 100 ms, of which the second has no response, and a last one of
        // 50 ms.
        let mut tally = CourseTally::new(plan());
        tally.add(0, 100 * MS, &interval(30, 200, 0));
        tally.add(1, 200 * MS, &Interval::default());
        tally.add(2, 250 * MS, &interval(20, 100, 5));
        let course = tally.finish();
        assert_eq!((course.interval_ns, course.until_ns), (100 * MS, 250 * MS));
        assert_eq!(
            (&course.ok[..], &course.failed[..]),
            (&[30, 0, 20][..], &[0, 0, 5][..])
        );
        assert_eq!(course.p99_us, [Some(200), None, Some(100)]);
        let per_s: Vec<_> = course
            .intervals()
            .map(|interval| (interval.ok_per_s, interval.failed_per_s))
            .collect();
        assert_eq!(per_s, [(300.0, 0.0), (0.0, 0.0), (400.0, 100.0)]);
        let last = course.intervals().last().unwrap();
        assert_eq!((last.from_s, last.to_s), (0.2, 0.25));
        assert_eq!(last.quantiles_us, [Some(100); 3]);
    }

    #[test]
    fn hours_take_no_more_room_than_seconds() {
        // Method: an hour in intervals of 100 ms, 10 responses in each.
        let mut tally = CourseTally::new(plan());
        for number in 0..36_000 {
            tally.add(number, (number as u64 + 1) * 100 * MS, &interval(10, 50, 0));
        }
        let course = tally.finish();
        assert!(
            (100..=INTERVALS_MAX).contains(&course.ok.len()),
            "{}",
            course.ok.len()
        );
        assert_eq!(course.ok.iter().sum::<u64>(), 360_000);
        assert_eq!(course.until_ns, 3_600_000 * MS);
        for interval in course.intervals() {
            assert!((interval.ok_per_s - 100.0).abs() < 1e-6, "{interval:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_order_of_merging_does_not_matter(
            pairs in prop::collection::vec((0_usize..1_000, 0_u64..9), 0..12),
            other in prop::collection::vec((0_usize..1_000, 0_u64..9), 0..12),
        ) {
            // Method: two workers whose intervals were joined to different lengths, merged both
            // ways, and counted as one.
            let mut left = course(&pairs);
            left.merge(&course(&other));
            let mut right = course(&other);
            right.merge(&course(&pairs));
            prop_assert_eq!(&left, &right);
            prop_assert_eq!(left, course(&[pairs, other].concat()));
        }
    }
}
