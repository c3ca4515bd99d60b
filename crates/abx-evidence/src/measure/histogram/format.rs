//! Reads the compressed V2 format of HdrHistogram: a header, then a number for each
//! counter in order, of which a negative one is so many counters of zero. The counters
//! of a file are ours, one by one, so that thousands of distributions are read at once
//! with memory for no more than the longest time of each.

use std::io::Read;

use flate2::bufread::ZlibDecoder;

use super::layout::{COUNTERS, DIGITS, MICROS_MAX};

/// The first four bytes of the compressed format.
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
/// The first four bytes of what is compressed.
const COOKIE: u32 = 0x1c84_9313;
/// The longest that one counter is.
const COUNTER_BYTES_MAX: usize = 9;

/// Why bytes are no distribution of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum FormatError {
    /// They are of another format, or cut off.
    #[error("not its compressed V2 format")]
    Form,
    /// Their counters are for other times than ours.
    #[error("its bounds are not 1 µs to 1 h with three digits")]
    Bounds,
    /// They count more, or longer times, than there can be.
    #[error("it counts more than its bounds allow")]
    Counts,
}

/// The counters up to that of the longest time; none when nothing was counted.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<u64>, FormatError> {
    let mut rest = bytes;
    let cookie = u32::from_be_bytes(take(&mut rest)?);
    let packed = prefix(&mut rest)?;
    if cookie != COMPRESSED_COOKIE {
        return Err(FormatError::Form);
    }
    let mut plain = Vec::new();
    let most = COUNTERS * COUNTER_BYTES_MAX + 64;
    ZlibDecoder::new(packed)
        .take(most as u64)
        .read_to_end(&mut plain)
        .map_err(|_| FormatError::Form)?;
    counters(&plain)
}

/// The counters of the format without compression.
fn counters(mut bytes: &[u8]) -> Result<Vec<u64>, FormatError> {
    if u32::from_be_bytes(take(&mut bytes)?) != COOKIE {
        return Err(FormatError::Form);
    }
    let length: [u8; 4] = take(&mut bytes)?;
    let offset = u32::from_be_bytes(take(&mut bytes)?);
    let digits = u32::from_be_bytes(take(&mut bytes)?);
    let lowest = u64::from_be_bytes(take(&mut bytes)?);
    let highest = u64::from_be_bytes(take(&mut bytes)?);
    let scale = f64::from_be_bytes(take(&mut bytes)?);
    let ours = (0, u32::from(DIGITS), 1, MICROS_MAX);
    if (offset, digits, lowest, highest) != ours || scale.to_bits() != 1_f64.to_bits() {
        return Err(FormatError::Bounds);
    }
    let mut numbers = bytes
        .get(..u32::from_be_bytes(length) as usize)
        .ok_or(FormatError::Form)?;
    let (mut counts, mut index, mut total) = (Vec::new(), 0_usize, 0_u64);
    while !numbers.is_empty() {
        let number = number(&mut numbers)?;
        // The lowest bit is the sign.
        let half = number >> 1;
        if number & 1 == 1 {
            let zeros = usize::try_from(half + 1).map_err(|_| FormatError::Counts)?;
            index = index.saturating_add(zeros);
            continue;
        }
        if half > 0 {
            if index >= COUNTERS {
                return Err(FormatError::Counts);
            }
            counts.resize(index, 0);
            counts.push(half);
            total = total.checked_add(half).ok_or(FormatError::Counts)?;
        }
        index = index.saturating_add(1);
    }
    Ok(counts)
}

/// A number of one to nine bytes, the low bits first: each of the first eight has seven
/// of them, and says with its highest bit whether another byte follows.
fn number(bytes: &mut &[u8]) -> Result<u64, FormatError> {
    let mut value = 0;
    for shift in (0..56).step_by(7) {
        let [byte] = take(bytes)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    let [byte] = take(bytes)?;
    Ok(value | u64::from(byte) << 56)
}

/// The bytes of a length that stands before them, in four bytes.
fn prefix<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], FormatError> {
    let length = u32::from_be_bytes(take(bytes)?) as usize;
    bytes.get(..length).ok_or(FormatError::Form)
}

/// The next bytes.
fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], FormatError> {
    let (first, rest) = bytes.split_first_chunk().ok_or(FormatError::Form)?;
    *bytes = rest;
    Ok(*first)
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
    use proptest::prelude::*;

    use super::super::layout::index_of;
    use super::*;

    fn written(histogram: &Histogram<u64>) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(histogram, &mut bytes)
            .unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn counters_are_those_that_hdrhistogram_reads(
            times in prop::collection::vec(
                (any::<u64>().prop_map(|any| any >> (any % 64)), 1_u64..1 << 40), 0..300,
            ),
            cut in 0.0_f64..1.0,
        ) {
            // Method: HdrHistogram counts, writes, and reads what it wrote; each of its
            // counters is looked for in ours, and theirs are no fewer. Then the bytes are
            // cut short.
            let mut counted = Histogram::<u64>::new_with_bounds(1, MICROS_MAX, DIGITS).unwrap();
            for (micros, count) in times {
                counted.saturating_record_n(micros.clamp(1, MICROS_MAX), count);
            }
            let bytes = written(&counted);
            let theirs: Histogram<u64> =
                Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            let ours = read(&bytes).unwrap();
            prop_assert_eq!(ours.iter().sum::<u64>(), theirs.len());
            for step in theirs.iter_recorded() {
                let index = index_of(step.value_iterated_to());
                prop_assert_eq!(ours[index], step.count_at_value());
            }
            prop_assert_ne!(ours.last(), Some(&0));
            let cut = (bytes.len() as f64 * cut) as usize;
            prop_assert_eq!(read(&bytes[..cut]), Err(FormatError::Form));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            // Method: noise as a file, and as counters behind a right header; whatever
            // is read has room in our counters.
            prop_assert!(read(&bytes).is_err());
            let mut plain = Vec::new();
            plain.extend(COOKIE.to_be_bytes());
            plain.extend(u32::try_from(bytes.len()).unwrap().to_be_bytes());
            plain.extend(0_u32.to_be_bytes());
            plain.extend(u32::from(DIGITS).to_be_bytes());
            plain.extend(1_u64.to_be_bytes());
            plain.extend(MICROS_MAX.to_be_bytes());
            plain.extend(1_f64.to_be_bytes());
            plain.extend(&bytes);
            if let Ok(counts) = counters(&plain) {
                prop_assert!(counts.len() <= COUNTERS);
            }
        }
    }

    #[test]
    fn other_bounds_are_refused() {
        // Method: HdrHistogram writes one of two digits.
        let other = Histogram::<u64>::new_with_bounds(1, MICROS_MAX, 2).unwrap();
        assert_eq!(read(&written(&other)), Err(FormatError::Bounds));
    }
}
