//! JSON: the saved record itself.

use abx_evidence::scenario::ScenarioRecord;
use abx_evidence::{RunRecord, StudyRecord};

/// A study as one line of JSON: the saved record, nothing left out.
#[must_use]
pub fn study_json(record: &StudyRecord) -> String {
    let text = serde_json::to_string(record).expect("every key of a record is a string");
    text + "\n"
}

/// A run as one line of JSON: the saved record, nothing left out.
#[must_use]
pub fn run_json(record: &RunRecord) -> String {
    let text = serde_json::to_string(record).expect("every key of a record is a string");
    text + "\n"
}

/// A scenario as one line of JSON: the saved record, nothing left out.
#[must_use]
pub fn scenario_json(record: &ScenarioRecord) -> String {
    let text = serde_json::to_string(record).expect("every key of a record is a string");
    text + "\n"
}
