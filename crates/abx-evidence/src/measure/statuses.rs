//! The unexpected statuses of responses.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often each status was received. `merge` is associative and commutative.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "BTreeMap<String, u64>", into = "BTreeMap<String, u64>")]
pub struct Statuses(BTreeMap<u16, u64>);

impl Statuses {
    /// Counts one response.
    pub fn add(&mut self, status: u16) {
        self.add_times(status, 1);
    }

    fn add_times(&mut self, status: u16, times: u64) {
        *self.0.entry(status).or_default() += times;
    }

    /// Whether no status was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The statuses, lowest first, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.0.iter().map(|(status, count)| (*status, *count))
    }

    /// The counts by class: 4 for 400 to 499.
    #[must_use]
    pub fn classes(&self) -> BTreeMap<u16, u64> {
        let mut classes = BTreeMap::new();
        for (status, count) in self.iter() {
            *classes.entry(status / 100).or_default() += count;
        }
        classes
    }

    /// At most `most` statuses, the most frequent first.
    #[must_use]
    pub fn most_frequent(&self, most: usize) -> Vec<u16> {
        let mut pairs: Vec<(u16, u64)> = self.iter().collect();
        pairs.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        pairs
            .into_iter()
            .map(|(status, _)| status)
            .take(most)
            .collect()
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Statuses) {
        for (status, count) in other.iter() {
            self.add_times(status, count);
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl From<Statuses> for BTreeMap<String, u64> {
    fn from(statuses: Statuses) -> BTreeMap<String, u64> {
        statuses
            .0
            .into_iter()
            .map(|(status, count)| (status.to_string(), count))
            .collect()
    }
}

impl TryFrom<BTreeMap<String, u64>> for Statuses {
    type Error = String;

    fn try_from(named: BTreeMap<String, u64>) -> Result<Statuses, String> {
        let statuses = named.into_iter().map(|(name, count)| {
            let status = name
                .parse()
                .map_err(|_| format!("`{name}` is not a status"))?;
            Ok((status, count))
        });
        statuses.collect::<Result<_, String>>().map(Statuses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_counted_by_class_and_read_back() {
        // Method: statuses of two classes in two parts, merged; written and read, and a name that
        // is not a number.
        let mut statuses = Statuses::default();
        assert!(statuses.is_empty());
        [404, 404, 503]
            .into_iter()
            .for_each(|status| statuses.add(status));
        let mut more = Statuses::default();
        [429, 503].into_iter().for_each(|status| more.add(status));
        statuses.merge(&more);
        assert_eq!(statuses.classes(), BTreeMap::from([(4, 3), (5, 2)]));
        assert_eq!(statuses.most_frequent(2), [404, 503]);
        let text = serde_json::to_string(&statuses).unwrap();
        assert_eq!(text, r#"{"404":2,"429":1,"503":2}"#);
        assert_eq!(serde_json::from_str::<Statuses>(&text).unwrap(), statuses);
        assert!(serde_json::from_str::<Statuses>(r#"{"ok":1}"#).is_err());
    }
}
