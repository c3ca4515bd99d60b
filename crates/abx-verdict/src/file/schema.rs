//! The JSON Schema of records, for programs that read them.

use schemars::schema_for;
use serde_json::Value;

use crate::file::study::StudyRecord;

/// The schema of records as this version reads them, in draft 2020-12. Keys
/// that it does not know are allowed, as readers ignore them.
#[must_use]
pub fn record_schema() -> Value {
    schema_for!(StudyRecord).to_value()
}
