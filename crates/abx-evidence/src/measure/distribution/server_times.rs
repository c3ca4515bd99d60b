//! The times that servers report themselves: durations of `Server-Timing` by name, in the random
//! sample of responses whose phases are timed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most names that are kept, which are the first ones in their order: a server that invents a
/// name for each response must not fill the memory.
const NAMES_MAX: usize = 16;

/// Sums by name. `merge` is associative and commutative.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ServerTimes(BTreeMap<String, ServerTimeSum>);

/// The durations that were reported under one name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerTimeSum {
    /// How often one was reported.
    pub count: u64,
    /// All durations together, in ns.
    pub sum_ns: u64,
}

impl ServerTimeSum {
    /// The mean duration in µs.
    #[must_use]
    pub fn mean_us(&self) -> f64 {
        self.sum_ns as f64 / self.count.max(1) as f64 / 1e3
    }

    fn merge(&mut self, other: &ServerTimeSum) {
        self.count = self.count.saturating_add(other.count);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
    }
}

impl ServerTimes {
    /// Counts one duration.
    pub fn record(&mut self, name: &str, span_ns: u64) {
        let sum = ServerTimeSum {
            count: 1,
            sum_ns: span_ns,
        };
        self.add(name, &sum);
    }

    /// Whether nothing was reported.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The reported times, by name.
    pub fn sums(&self) -> impl Iterator<Item = (&str, &ServerTimeSum)> {
        self.0.iter().map(|(name, sum)| (name.as_str(), sum))
    }

    /// The times that were reported under this name.
    #[must_use]
    pub fn sum(&self, name: &str) -> Option<&ServerTimeSum> {
        self.0.get(name)
    }

    /// Adds the sums of `other`.
    pub fn merge(&mut self, other: &ServerTimes) {
        other.sums().for_each(|(name, sum)| self.add(name, sum));
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn add(&mut self, name: &str, sum: &ServerTimeSum) {
        if let Some(known) = self.0.get_mut(name) {
            known.merge(sum);
            return;
        }
        let is_last = self
            .0
            .last_key_value()
            .is_some_and(|(last, _)| last.as_str() < name);
        if self.0.len() == NAMES_MAX && is_last {
            return;
        }
        self.0.insert(name.to_owned(), *sum);
        if self.0.len() > NAMES_MAX {
            self.0.pop_last();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn times(pairs: &[(u8, u64)]) -> ServerTimes {
        let mut times = ServerTimes::default();
        pairs
            .iter()
            .for_each(|(name, span_ns)| times.record(&format!("n{name:03}"), *span_ns));
        times
    }

    #[test]
    fn means_are_over_reported_times() {
        // Method: two names, one of which was reported twice.
        let server_times = times(&[(1, 1_000), (2, 7_000), (1, 4_000)]);
        let means: Vec<_> = server_times
            .sums()
            .map(|(name, sum)| (name, sum.mean_us()))
            .collect();
        assert_eq!(means, [("n001", 2.5), ("n002", 7.0)]);
        assert_eq!(server_times.sum("n003"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_order_of_merging_does_not_matter(
            a in prop::collection::vec((any::<u8>(), any::<u64>()), 0..40),
            b in prop::collection::vec((any::<u8>(), any::<u64>()), 0..40),
        ) {
            // Method: a+b, b+a and all in one, with more names than are kept, and sums that
            // overflow.
            let mut left = times(&a);
            left.merge(&times(&b));
            let mut right = times(&b);
            right.merge(&times(&a));
            prop_assert_eq!(&left, &right);
            prop_assert_eq!(&left, &times(&[a, b].concat()));
            prop_assert!(left.sums().count() <= NAMES_MAX);
        }
    }
}
