//! The form of a distribution in a record: a number per counter in order, where -n stands for n
//! counters of zero. These are the numbers of HdrHistogram's V2 format, as JSON numbers rather
//! than bytes: a compressed file of many distributions is a quarter smaller that way, and needs no
//! library to be read.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};

use super::layout::COUNTERS;

/// The numbers of these counters: each count, and -n for two or more zeros.
pub(super) fn numbers(counts: &[u64]) -> Result<Vec<i64>, TooMany> {
    let last = counts.iter().rposition(|count| *count > 0);
    let mut numbers = Vec::new();
    let mut zeros = 0;
    for count in &counts[..last.map_or(0, |last| last + 1)] {
        if *count == 0 {
            zeros += 1;
            continue;
        }
        match zeros {
            0 => {}
            1 => numbers.push(0),
            several => numbers.push(-several),
        }
        zeros = 0;
        numbers.push(i64::try_from(*count).map_err(|_| TooMany)?);
    }
    Ok(numbers)
}

/// A count that the format cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a time was counted more than 2^63 times")]
pub(super) struct TooMany;

/// The counters up to that of the longest time, and their sum.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) counts: Vec<u64>,
    pub(super) total: u64,
}

pub(super) struct Numbers;

impl<'de> Visitor<'de> for Numbers {
    type Value = Counts;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of counts, in which -n means n zeros")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut sequence: S) -> Result<Counts, S::Error> {
        let (mut counts, mut total) = (Vec::new(), 0_u64);
        let mut index = 0_usize;
        while let Some(number) = sequence.next_element::<i64>()? {
            let Ok(count) = u64::try_from(number) else {
                let zeros = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
                index = index.saturating_add(zeros);
                continue;
            };
            if count > 0 {
                if index >= COUNTERS {
                    let why = format!("a histogram counts beyond 1 h, which is number {COUNTERS}");
                    return Err(S::Error::custom(why));
                }
                counts.resize(index, 0);
                counts.push(count);
                let sum = total.checked_add(count);
                total = sum.ok_or_else(|| S::Error::custom("a histogram counts too many times"))?;
            }
            index = index.saturating_add(1);
        }
        counts.shrink_to_fit();
        Ok(Counts { counts, total })
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use proptest::prelude::*;

    use super::super::Histogram as Ours;
    use super::super::layout::{DIGITS, MICROS_MAX};
    use super::*;

    fn read(text: &str) -> Result<Counts, String> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let counts = serde::Deserializer::deserialize_seq(&mut reader, Numbers);
        counts.map_err(|error| error.to_string())
    }

    /// The numbers that HdrHistogram writes after its header of 40 bytes: one to nine bytes each,
    /// low bits first, the sign in the lowest bit.
    fn numbers_of_v2(histogram: &Histogram<u64>) -> Vec<i64> {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(histogram, &mut bytes)
            .unwrap();
        let (mut numbers, mut value, mut shift) = (Vec::new(), 0_u64, 0);
        for byte in &bytes[40..] {
            let is_last = shift == 56 || *byte < 0x80;
            let bits = if shift == 56 { *byte } else { *byte & 0x7f };
            value |= u64::from(bits) << shift;
            shift += 7;
            if is_last {
                numbers.push((value >> 1) as i64 ^ -((value & 1) as i64));
                (value, shift) = (0, 0);
            }
        }
        numbers
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_v2_format(
            times in prop::collection::vec(
                (any::<u64>().prop_map(|any| any >> (any % 64)), 1_u64..1 << 40), 1..300,
            ),
        ) {
            // Method: the numbers in HdrHistogram's own bytes; then written and read.
            let mut theirs =
                Histogram::<u64>::new_with_bounds(1, MICROS_MAX, DIGITS).unwrap();
            let mut ours = Ours::new();
            for (time, count) in &times {
                let micros = (*time).clamp(1, MICROS_MAX);
                theirs.record_n(micros, *count).unwrap();
                ours.record_us(micros, *count);
            }
            let numbers = numbers(&ours.counts).unwrap();
            prop_assert_eq!(&numbers, &numbers_of_v2(&theirs));
            let back = read(&serde_json::to_string(&numbers).unwrap()).unwrap();
            prop_assert_eq!(back.total, ours.count());
            prop_assert_ne!(back.counts.last(), Some(&0));
            prop_assert_eq!(&back.counts[..], &ours.counts[..back.counts.len()]);
        }

        #[test]
        fn any_numbers_are_read_or_refused(numbers in prop::collection::vec(any::<i64>(), 0..9)) {
            // Method: random numbers; counts that are read fit our counters, and their sum is that
            // of the numbers.
            if let Ok(Counts { counts, total }) = read(&serde_json::to_string(&numbers).unwrap()) {
                prop_assert!(counts.len() <= COUNTERS);
                let sum: u64 = numbers.iter().filter_map(|number| u64::try_from(*number).ok()).sum();
                prop_assert_eq!((counts.iter().sum::<u64>(), total), (sum, sum));
            }
        }
    }

    #[test]
    fn invalid_lists_are_refused() {
        // Method: a count beyond the last counter, a sum that overflows, and texts that are not
        // lists of counts.
        let beyond = format!("[-{COUNTERS},1]");
        let many = format!("[{0},{0},2]", i64::MAX);
        for (text, why) in [
            (&beyond[..], "beyond 1 h"),
            (&many, "too many times"),
            ("\"HISTFAAA\"", "a list of counts"),
            ("[1,0.5]", "floating point"),
            ("[1,", "EOF"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(why), "{text}: {message}");
        }
        let last = format!("[-{},1]", COUNTERS - 1);
        assert_eq!(read(&last).unwrap().counts.len(), COUNTERS);
        assert_eq!(numbers(&[u64::MAX]), Err(TooMany));
    }
}
