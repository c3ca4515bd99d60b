//! JSON: the saved record itself.

use serde::Serialize;

/// A record as one line of JSON, nothing left out.
#[must_use]
pub fn record_json(record: &impl Serialize) -> String {
    let text = serde_json::to_string(record).expect("every key of a record is a string");
    text + "\n"
}
