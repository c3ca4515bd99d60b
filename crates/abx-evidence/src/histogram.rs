//! Times as an HDR histogram: 1 µs to 1 h, three significant digits.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{
    Deserializer as HdrReader, Serializer as HdrWriter, V2Serializer,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest time that is told apart, in µs: one hour.
const MICROS_MAX: u64 = 3_600_000_000;
const DIGITS: u8 = 3;

/// A distribution of times.
///
/// Times are recorded in nanoseconds and held in whole microseconds, at least
/// one; each value is true to one part in a thousand. Above one hour a time
/// counts as one hour. In JSON it is the HDR V2 format in base64.
#[derive(Clone, PartialEq)]
pub struct Histogram(hdrhistogram::Histogram<u64>);

impl Histogram {
    /// An empty distribution; all memory that it will ever need is taken now.
    #[must_use]
    pub fn new() -> Histogram {
        let empty = hdrhistogram::Histogram::new_with_bounds(1, MICROS_MAX, DIGITS);
        Histogram(empty.expect("the bounds are constants that the format allows"))
    }

    /// Counts one time, given in nanoseconds. Does not allocate.
    pub fn record_ns(&mut self, span_ns: u64) {
        let micros = (span_ns.saturating_add(500) / 1000).max(1);
        self.0.saturating_record(micros);
    }

    /// How many times were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Whether none were.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The times that were counted, shortest first, in µs, each with how often
    /// it was. Times that are not told apart are one.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let recorded = self.0.iter_recorded();
        recorded.map(|step| (step.value_iterated_to(), step.count_at_value()))
    }

    /// How often this time, or one that is not told apart from it, was counted.
    pub(crate) fn count_at_us(&self, time_us: u64) -> u64 {
        self.0.count_at(time_us)
    }

    /// The same in the type of the HdrHistogram library, in µs, for formats that
    /// its tools read.
    #[must_use]
    pub fn as_hdr(&self) -> &hdrhistogram::Histogram<u64> {
        &self.0
    }

    /// The time, in µs, that the share `q` (0 to 1) of all times does not
    /// exceed; `None` when nothing was counted.
    #[must_use]
    pub fn quantile_us(&self, q: f64) -> Option<u64> {
        (!self.0.is_empty()).then(|| self.0.value_at_quantile(q))
    }

    /// The longest time in µs.
    #[must_use]
    pub fn max_us(&self) -> Option<u64> {
        (!self.0.is_empty()).then(|| self.0.max())
    }

    /// The mean in µs, true to the width of the buckets.
    #[must_use]
    pub fn mean_us(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.mean())
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        if other.is_empty() {
            return;
        }
        self.0
            .add(&other.0)
            .expect("both histograms have the same bounds");
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        // Most that are cleared hold nothing, and a reset walks all their memory.
        if !self.is_empty() {
            self.0.reset();
        }
    }
}

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
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&self.0, &mut bytes)
            .map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&STANDARD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Histogram, D::Error> {
        use serde::de::Error;
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(D::Error::custom)?;
        let read: hdrhistogram::Histogram<u64> = HdrReader::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| D::Error::custom(format!("not an HDR histogram: {error:?}")))?;
        // Other bounds could not be merged with ours, so the counts move over.
        let mut histogram = Histogram::new();
        for step in read.iter_recorded() {
            histogram
                .0
                .saturating_record_n(step.value_iterated_to(), step.count_at_value());
        }
        Ok(histogram)
    }
}

impl JsonSchema for Histogram {
    fn schema_name() -> Cow<'static, str> {
        "Histogram".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Times in µs: an HDR histogram, V2 format in base64.",
            "type": "string",
            "contentEncoding": "base64",
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
            // Method: the oracle sorts; the answer may differ by the three digits and rounding.
            let mut histogram = Histogram::new();
            times.iter().for_each(|time| histogram.record_ns(*time));
            times.sort_unstable();
            let rank = ((q * times.len() as f64).ceil() as usize).clamp(1, times.len());
            let exact = times[rank - 1] as f64 / 1000.0;
            let answer = histogram.quantile_us(q).unwrap() as f64;
            prop_assert!((answer - exact).abs() <= exact / 1000.0 + 1.0, "{answer} {exact}");
        }

        #[test]
        fn json_reads_back_the_same(times in prop::collection::vec(any::<u64>(), 0..50)) {
            // Method: there and back, from nanoseconds up to the saturating end.
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

    #[test]
    fn nothing_counted_has_no_quantile() {
        // Method: an empty histogram answers nothing, never zero.
        let empty = Histogram::new();
        assert_eq!(
            (empty.quantile_us(0.5), empty.max_us(), empty.mean_us()),
            (None, None, None)
        );
    }
}
