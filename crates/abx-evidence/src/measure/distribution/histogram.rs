//! Times as an HDR histogram: 1 µs to 1 h, three significant digits.

mod format;
mod layout;
mod rough_times;

use std::borrow::Cow;
use std::fmt;

use format::Counts;
use layout::{FINE_BITS, MICROS_MAX};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use rough_times::RoughTimes;

/// A distribution of times.
///
/// Times are recorded in nanoseconds and held in whole microseconds, at least
/// one; each value is true to one part in a thousand. Above one hour a time
/// counts as one hour. In JSON it is the list of the numbers of the HDR V2 format.
///
/// It does not use the HdrHistogram library for counting, which happens for each request: a shift,
/// an add and a store. Queries, which are rare, walk the counters; formats are HdrHistogram's own.
#[derive(Clone)]
pub struct Histogram {
    /// Empty until memory is needed. Counters beyond its end are zero.
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    /// An empty distribution without memory. It allocates all that it will ever need, 190 kB, when
    /// the first time is counted or [`Histogram::reserve`] is called.
    #[must_use]
    pub const fn new() -> Histogram {
        Histogram {
            counts: Vec::new(),
            total: 0,
        }
    }

    /// Allocates the memory, so that counting does not.
    pub fn reserve(&mut self) {
        if self.counts.is_empty() {
            // Pages of zeroes, which the kernel provides when they are first written.
            self.counts = vec![0; layout::COUNTERS];
        }
        self.counts.resize(layout::COUNTERS, 0);
    }

    /// Counts one time, given in nanoseconds.
    #[inline]
    pub fn record_ns(&mut self, span_ns: u64) {
        let micros = span_ns.saturating_add(500) / 1000;
        self.record_us(micros, 1);
    }

    #[inline]
    fn record_us(&mut self, micros: u64, times: u64) {
        let index = layout::index_of::<FINE_BITS>(micros.clamp(1, MICROS_MAX));
        match self.counts.get_mut(index) {
            Some(count) => *count += times,
            None => self.record_first(index, times),
        }
        self.total += times;
    }

    #[cold]
    #[inline(never)]
    fn record_first(&mut self, index: usize, times: u64) {
        self.reserve();
        self.counts[index] = times;
    }

    /// How many times were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Whether no time was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The counters above zero with their indexes, shortest times first.
    fn counted(&self) -> impl DoubleEndedIterator<Item = (usize, u64)> + '_ {
        let counts = self.counts.iter().copied().enumerate();
        counts.filter(|(_, count)| *count > 0)
    }

    /// The times that were counted, shortest first, in µs, each with its count. Times that share a
    /// counter appear as the longest of them.
    pub fn steps(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counted()
            .map(|(index, count)| (layout::highest::<FINE_BITS>(index), count))
    }

    /// The times that were counted, like [`Histogram::steps`], as the shortest and the longest time
    /// of each counter.
    pub fn spans(&self) -> impl Iterator<Item = ([u64; 2], u64)> + '_ {
        let ends = |index| {
            let lowest = layout::lowest::<FINE_BITS>(index);
            [lowest, layout::highest::<FINE_BITS>(index)]
        };
        self.counted()
            .map(move |(index, count)| (ends(index), count))
    }

    /// Reports the times, in µs, that were counted since `before` was equal to this, shortest first
    /// and each with its count, and makes `before` equal to this again. It looks no further than
    /// the longest new time, so that it costs little if times are short.
    pub fn report_new(&self, before: &mut Histogram, mut report: impl FnMut(u64, u64)) {
        let mut missing = self.total.saturating_sub(before.total);
        before.total = self.total;
        before.counts.resize(self.counts.len(), 0);
        let counts = self.counts.chunks(COMPARED_AT_ONCE);
        let known = before.counts.chunks_mut(COMPARED_AT_ONCE);
        for (number, (counts, known)) in counts.zip(known).enumerate() {
            if missing == 0 {
                return;
            }
            // Mostly nothing has changed, and this compares all of them at once.
            if *counts == *known {
                continue;
            }
            for (place, (count, known)) in counts.iter().zip(known).enumerate() {
                let more = count.saturating_sub(*known);
                if more > 0 {
                    *known = *count;
                    missing = missing.saturating_sub(more);
                    let index = number * COMPARED_AT_ONCE + place;
                    report(layout::highest::<FINE_BITS>(index), more);
                }
            }
        }
    }

    /// How often this time, or one that shares its counter, was counted.
    pub fn count_at_us(&self, time_us: u64) -> u64 {
        let index = layout::index_of::<FINE_BITS>(time_us.min(MICROS_MAX));
        self.counts.get(index).copied().unwrap_or_default()
    }

    /// The distribution in the type of the HdrHistogram library, in µs, for formats that its tools
    /// read.
    ///
    /// # Panics
    /// Never: the bounds are constants that the library allows.
    #[must_use]
    pub fn to_hdr(&self) -> hdrhistogram::Histogram<u64> {
        let empty = hdrhistogram::Histogram::new_with_bounds(1, MICROS_MAX, layout::DIGITS);
        let mut hdr = empty.expect("the bounds are constants that the format allows");
        for (micros, count) in self.steps() {
            hdr.saturating_record_n(micros, count);
        }
        hdr
    }

    /// The time, in µs, that the share `q` (0 to 1) of all times does not
    /// exceed; `None` when nothing was counted.
    #[must_use]
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count is a count"
    )]
    pub fn quantile_us(&self, q: f64) -> Option<u64> {
        let rank = (q.clamp(0.0, 1.0) * self.total as f64).ceil() as u64;
        let mut missing = rank.max(1);
        for (micros, count) in self.steps() {
            if count >= missing {
                return Some(micros);
            }
            missing -= count;
        }
        self.max_us()
    }

    /// The longest time in µs.
    #[must_use]
    pub fn max_us(&self) -> Option<u64> {
        let last = self.counted().next_back();
        last.map(|(index, _)| layout::highest::<FINE_BITS>(index))
    }

    /// The mean in µs, true to the width of the buckets.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a mean of counts")]
    pub fn mean_us(&self) -> Option<f64> {
        let times = self.counted();
        let sum: f64 = times
            .map(|(index, count)| layout::middle::<FINE_BITS>(index) as f64 * count as f64)
            .sum();
        (!self.is_empty()).then(|| sum / self.total as f64)
    }

    /// The standard deviation in µs, true to the width of the buckets.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a mean of counts")]
    pub fn deviation_us(&self) -> Option<f64> {
        let mean = self.mean_us()?;
        let times = self.counted();
        let squares: f64 = times
            .map(|(index, count)| {
                (layout::middle::<FINE_BITS>(index) as f64 - mean).powi(2) * count as f64
            })
            .sum();
        Some((squares / self.total as f64).sqrt())
    }

    /// Adds the counts of `other`, and allocates no more than its longest time needs: a record has
    /// a histogram per subject, load and block.
    pub fn merge(&mut self, other: &Histogram) {
        let Some((longest, _)) = other.counted().next_back() else {
            return;
        };
        if self.counts.len() <= longest {
            self.counts.resize(longest + 1, 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        // Most histograms that are cleared are empty, and filling walks all of the memory.
        if !self.is_empty() {
            self.counts.fill(0);
            self.total = 0;
        }
    }
}

/// Counters that are compared together.
const COMPARED_AT_ONCE: usize = 64;

impl PartialEq for Histogram {
    fn eq(&self, other: &Histogram) -> bool {
        self.total == other.total && self.counted().eq(other.counted())
    }
}

impl Eq for Histogram {}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Histogram({} times)", self.count())
    }
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let numbers = format::numbers(&self.counts).map_err(serde::ser::Error::custom)?;
        numbers.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Histogram, D::Error> {
        let Counts { counts, total } = deserializer.deserialize_seq(format::Numbers)?;
        Ok(Histogram { counts, total })
    }
}

impl JsonSchema for Histogram {
    fn schema_name() -> Cow<'static, str> {
        "Histogram".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "How often each time was counted, in the order of an HDR histogram of 1 µs to 1 h with three significant digits; -n means n zeros.",
            "type": "array",
            "items": { "type": "integer" },
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn quantiles_agree_with_sorted_data(
            mut times in prop::collection::vec(1_u64..10_000_000_000, 1..400),
            q in 0.0_f64..1.0,
        ) {
            // Method: the oracle sorts; the result may differ by the three digits and rounding.
            let mut histogram = Histogram::new();
            times.iter().for_each(|time| histogram.record_ns(*time));
            times.sort_unstable();
            let rank = ((q * times.len() as f64).ceil() as usize).clamp(1, times.len());
            let exact = times[rank - 1] as f64 / 1000.0;
            let result = histogram.quantile_us(q).unwrap() as f64;
            prop_assert!((result - exact).abs() <= exact / 1000.0 + 1.0, "{result} {exact}");
        }

        #[test]
        fn json_reads_back_the_same(times in prop::collection::vec(any::<u64>(), 0..50)) {
            // Method: written and read, from nanoseconds up to the saturating end.
            let mut histogram = Histogram::new();
            times.iter().for_each(|time| histogram.record_ns(*time));
            let text = serde_json::to_string(&histogram).unwrap();
            let back: Histogram = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(back.count(), histogram.count());
            for q in [0.0, 0.5, 0.99, 1.0] {
                prop_assert_eq!(back.quantile_us(q), histogram.quantile_us(q));
            }
        }
    }

    proptest! {
        #[test]
        fn figures_agree_with_hdrhistogram(
            times in prop::collection::vec(any::<u64>().prop_map(|any| any >> (any % 64)), 1..300),
            q in 0.0_f64..1.0,
        ) {
            // Method: HdrHistogram itself counts the same times, from ns to years.
            let mut theirs =
                hdrhistogram::Histogram::<u64>::new_with_bounds(1, MICROS_MAX, 3).unwrap();
            let mut ours = Histogram::new();
            for time in &times {
                ours.record_ns(*time);
                theirs.saturating_record((time.saturating_add(500) / 1000).clamp(1, MICROS_MAX));
            }
            prop_assert_eq!(ours.quantile_us(q), Some(theirs.value_at_quantile(q)));
            prop_assert_eq!(ours.max_us(), Some(theirs.max()));
            let (mean, expected) = (ours.mean_us().unwrap(), theirs.mean());
            prop_assert!((mean - expected).abs() <= 1e-9 * expected, "{mean} {expected}");
            let (spread, expected) = (ours.deviation_us().unwrap(), theirs.stdev());
            prop_assert!((spread - expected).abs() <= 1e-6 * mean, "{spread} {expected}");
            prop_assert_eq!(ours.to_hdr(), theirs);
        }
    }

    proptest! {
        #[test]
        fn new_times_are_those_counted_since_the_last_report(
            parts in prop::collection::vec(
                prop::collection::vec(any::<u64>().prop_map(|any| any >> (any % 64)), 0..20),
                1..5,
            ),
        ) {
            // Method: times in parts; after each part, the reported times make a histogram of that
            // part alone, and `before` holds all parts so far.
            let [mut histogram, mut before] = [Histogram::new(), Histogram::new()];
            for part in parts {
                let mut expected = Histogram::new();
                for time in part {
                    histogram.record_ns(time);
                    expected.record_ns(time);
                }
                let mut reported = Histogram::new();
                let mut last = 0;
                histogram.report_new(&mut before, |micros, times| {
                    assert!(micros > last, "{micros} after {last}");
                    last = micros;
                    reported.record_us(micros, times);
                });
                prop_assert_eq!(&reported, &expected);
                prop_assert_eq!(&before, &histogram);
            }
        }
    }

    #[test]
    fn memory_makes_no_difference() {
        // Method: a histogram without memory, one with memory and one that was cleared are equal;
        // so are two that count the same time by merging and by recording.
        let [bare, mut reserved, mut emptied] = [(); 3].map(|()| Histogram::new());
        reserved.reserve();
        emptied.record_ns(5_000);
        assert_ne!(bare, emptied);
        let mut merged = Histogram::new();
        merged.merge(&emptied);
        assert_eq!(merged.counts.len(), 6, "memory up to 5 µs");
        reserved.record_ns(5_000);
        assert_eq!((&merged, merged.count_at_us(5)), (&reserved, 1));
        emptied.clear();
        assert_eq!((&bare, bare.count_at_us(5)), (&emptied, 0));
    }

    #[test]
    fn nothing_counted_has_no_quantile() {
        // Method: an empty histogram returns nothing, never zero.
        let empty = Histogram::new();
        assert_eq!(
            (empty.quantile_us(0.5), empty.max_us(), empty.mean_us()),
            (None, None, None)
        );
        assert_eq!(empty.deviation_us(), None);
    }
}
