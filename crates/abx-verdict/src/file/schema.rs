//! The JSON Schema of records, for programs that read them.

use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::Value;

use crate::file::study::StudyRecord;
use abx_evidence::scenario::ScenarioRecord;

/// A record of abx: a study (a run is one) or a scenario, told apart by `schema`.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is of use")]
enum Record {
    /// What `abx compare` and `abx run` save.
    Study(Box<StudyRecord>),
    /// What `abx run --scenario` saves.
    Scenario(Box<ScenarioRecord>),
}

/// The schema of records as this version reads them, in draft 2020-12. Keys
/// that it does not know are allowed, as readers ignore them.
#[must_use]
pub fn record_schema() -> Value {
    schema_for!(Record).to_value()
}
