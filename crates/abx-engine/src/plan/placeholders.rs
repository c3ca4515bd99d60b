//! Placeholders: values that are filled in each time that a request is sent.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// How often each request is sent before the load. Its sequence numbers come before those of the
/// load.
pub const SENT_BEFORE_LOAD: u64 = 3;

/// A place in a request that is filled in each time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPlaceholder {
    /// The part of the request that contains it.
    pub part: PlaceholderPart,
    /// Where it begins there, in bytes.
    pub start: usize,
    /// Where it ends there. Placeholders do not overlap, and those of a part are in order.
    pub end: usize,
    pub kind: PlaceholderKind,
}

/// A part of a request that may have placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlaceholderPart {
    Path,
    /// The value of this one of the further headers, counted from 0.
    Header(usize),
    Body,
}

/// The kind of value that is filled in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlaceholderKind {
    /// A number that no other request of the load has.
    Sequence,
    /// A random number from `first` to `last`, both included.
    Random {
        first: u64,
        last: u64,
    },
    Uuid,
    /// The lines of a list in order, again and again.
    Line(LineList),
}

/// The lines of a file, at least one. Copies share them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(String, Vec<String>)", into = "(String, Vec<String>)")]
pub struct LineList {
    name: Arc<str>,
    lines: Arc<[String]>,
}

impl LineList {
    /// A list with the name of its file. Requests of a load with the same name share one list.
    /// `None` without lines.
    #[must_use]
    pub fn new(name: &str, lines: Vec<String>) -> Option<LineList> {
        (!lines.is_empty()).then(|| LineList::from((name.to_owned(), lines)))
    }

    /// The file's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The lines.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// The line of this number, which starts over after the last one.
    pub(crate) fn line(&self, number: u64) -> &str {
        let total = self.lines.len() as u64;
        let place = number.checked_rem(total).map(|place| place as usize);
        place.map_or("", |place| &self.lines[place])
    }
}

impl From<(String, Vec<String>)> for LineList {
    fn from((name, lines): (String, Vec<String>)) -> LineList {
        LineList {
            name: name.into(),
            lines: lines.into(),
        }
    }
}

impl From<LineList> for (String, Vec<String>) {
    fn from(list: LineList) -> (String, Vec<String>) {
        (list.name().to_owned(), list.lines.to_vec())
    }
}

impl PlaceholderKind {
    /// The value in the request with this number, from 0, that is sent before the load. The values
    /// differ as much as possible, so that responses that depend on them differ too.
    pub(super) fn example(&self, number: u64, random: &mut Random) -> String {
        let number = number % SENT_BEFORE_LOAD;
        let spread = |first: u64, last: u64| match number {
            0 => first,
            1 => last,
            _ => first + (last - first) / 2,
        };
        let mut text = Vec::new();
        match self {
            PlaceholderKind::Sequence => push_decimal(number, &mut text),
            PlaceholderKind::Random { first, last } => {
                push_decimal(spread(*first, *last), &mut text);
            }
            PlaceholderKind::Uuid => push_uuid(random, &mut text),
            PlaceholderKind::Line(list) => {
                let last = list.lines.len().saturating_sub(1) as u64;
                text.extend_from_slice(list.line(spread(0, last)).as_bytes());
            }
        }
        String::from_utf8(text).expect("digits and lines are text")
    }
}

pub(crate) fn push_decimal(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] += (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// Writes a random UUID (RFC 9562, section 5.4).
pub(crate) fn push_uuid(random: &mut Random, out: &mut Vec<u8>) {
    const VERSION: u128 = 0xf << 76;
    const VARIANT: u128 = 0b11 << 62;
    let drawn = (u128::from(random.draw()) << 64) | u128::from(random.draw());
    let uuid = (drawn & !(VERSION | VARIANT)) | (0x4 << 76) | (0b10 << 62);
    let mut text = [b'-'; 36];
    let mut place = 0;
    for nibble in (0..32).rev() {
        if matches!(place, 8 | 13 | 18 | 23) {
            place += 1;
        }
        text[place] = b"0123456789abcdef"[(uuid >> (4 * nibble)) as usize & 0xf];
        place += 1;
    }
    out.extend_from_slice(&text);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_is_written_as_it_is_printed(number in any::<u64>(), shift in 0..64_u32) {
            // Method: numbers of every length, compared with the standard library's text.
            let mut out = Vec::new();
            push_decimal(number >> shift, &mut out);
            prop_assert_eq!(out, (number >> shift).to_string().into_bytes());
        }

        #[test]
        fn a_uuid_has_its_form_version_and_variant(seed in any::<u64>()) {
            // Method: two UUIDs of any seed, which differ; hyphens, hexadecimal digits, and the two
            // digits that encode version and variant.
            let mut random = Random::new(seed);
            let mut uuids = [Vec::new(), Vec::new()];
            uuids.iter_mut().for_each(|out| push_uuid(&mut random, out));
            prop_assert_ne!(&uuids[0], &uuids[1]);
            for text in uuids {
                prop_assert_eq!(text.len(), 36);
                for (place, letter) in text.iter().enumerate() {
                    let is_right = match place {
                        8 | 13 | 18 | 23 => *letter == b'-',
                        14 => *letter == b'4',
                        19 => b"89ab".contains(letter),
                        _ => b"0123456789abcdef".contains(letter),
                    };
                    prop_assert!(is_right, "{}", String::from_utf8_lossy(&text));
                }
            }
        }
    }
}
