//! Limits for the lists of a record: a small file may claim millions of items, each of which takes
//! a thousand times its bytes in memory.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

use crate::record::{BlockRecord, LoadRecord, SubjectRecord};

/// The most subjects and loads, a hundred times as many as in the largest known study.
const SUBJECTS_MAX: usize = 1_000;
const LOADS_MAX: usize = 1_000;
/// The most blocks, as many as a study file may request.
const BLOCKS_MAX: usize = 1_000_000;
/// The most slices of all blocks together; each takes about 1 kB.
pub(super) const SLICES_MAX: usize = 1_000_000;

/// The limits of a list.
struct Bounds<T> {
    items: &'static str,
    items_max: usize,
    slices_max: usize,
    /// How many slices an item has.
    slices: fn(&T) -> usize,
}

pub(super) fn subjects<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<SubjectRecord>, D::Error> {
    deserializer.deserialize_seq(Bounds::of("subjects", SUBJECTS_MAX, |_| 0))
}

pub(super) fn loads<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<LoadRecord>, D::Error> {
    deserializer.deserialize_seq(Bounds::of("loads", LOADS_MAX, |_| 0))
}

pub(super) fn blocks<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<BlockRecord>, D::Error> {
    deserializer.deserialize_seq(Bounds::of("blocks", BLOCKS_MAX, slices_of))
}

fn slices_of(block: &BlockRecord) -> usize {
    let rounds = block.loads.iter().flat_map(|load| &load.rounds);
    rounds.map(|round| round.slices.len()).sum()
}

impl<T> Bounds<T> {
    fn of(items: &'static str, items_max: usize, slices: fn(&T) -> usize) -> Bounds<T> {
        Bounds {
            items,
            items_max,
            slices_max: SLICES_MAX,
            slices,
        }
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Bounds<T> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "a list of {}", self.items)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let more = |max: usize, of: &str| A::Error::custom(format!("it has more than {max} {of}"));
        let (mut read, mut slices) = (Vec::new(), 0);
        while let Some(item) = list.next_element()? {
            slices += (self.slices)(&item);
            read.push(item);
            if read.len() > self.items_max {
                return Err(more(self.items_max, self.items));
            }
            if slices > self.slices_max {
                return Err(more(self.slices_max, "slices"));
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn error<T>(read: Result<T, serde_json::Error>) -> String {
        match read {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    /// Blocks that each have this many slices.
    fn of_slices(counts: &[usize]) -> Value {
        let block = |count: &usize| {
            let rows = vec![0; *count];
            let load = json!({
                "load": "l", "rounds": {"slices": [count]}, "histograms": {},
                "slices": {"subject": {"names": ["s"], "rows": rows}},
                "sides": {"subjects": [], "readings": {}},
            });
            json!({
                "index": 0, "seed": 0, "complete": true, "order": [], "subjects": {},
                "loads": [load], "canaries": [],
            })
        };
        counts.iter().map(block).collect()
    }

    #[test]
    fn lists_are_limited_to_what_a_study_can_have() {
        // Method: the most subjects, and one more; too many slices of one block, and of two
        // together; and too many blocks.
        let subject = json!({"name": "a", "command": []});
        let subjects = |count| subjects(Value::from(vec![subject.clone(); count]));
        assert_eq!(subjects(SUBJECTS_MAX).unwrap().len(), SUBJECTS_MAX);
        let why = error(subjects(SUBJECTS_MAX + 1));
        assert!(why.contains("more than 1000 subjects"), "{why}");
        let why = error(blocks(of_slices(&[SLICES_MAX + 1])));
        assert!(why.contains("more than 1000000 slices"), "{why}");
        let limited = |counts| {
            let bounds = Bounds {
                slices_max: 5,
                ..Bounds::of("blocks", 3, slices_of)
            };
            of_slices(counts).deserialize_seq(bounds)
        };
        assert_eq!(limited(&[2, 3]).unwrap().len(), 2);
        for (counts, limit) in [(&[2, 4][..], "5 slices"), (&[0; 4], "3 blocks")] {
            let why = error(limited(counts));
            assert!(why.contains(&format!("more than {limit}")), "{why}");
        }
    }
}
