//! A saved record, read again and judged.

use std::path::Path;

use abx_evidence::doctor::{DOCTOR_SCHEMA, DoctorRecord, examine};
use abx_evidence::record::STUDY_SCHEMA;
use abx_evidence::scenario::{SCENARIO_SCHEMA, ScenarioRecord};
use abx_evidence::timer::{TIMER_SCHEMA, TimerRecord, TimerRuns};
use abx_evidence::{RUN_SCHEMA, RunRecord, StudyRecord};
use serde::Deserialize;

use crate::ui::end::Failure;

/// A record that was read.
pub enum SavedRecord {
    /// That of a study, judged.
    Study(Box<StudyRecord>),
    /// That of a run, judged.
    Run(Box<RunRecord>),
    /// What came of a scenario.
    Scenario(Box<ScenarioRecord>),
    /// What was seen of a machine, concluded from.
    Machine(Box<DoctorRecord>),
    /// Where the time of a command went, concluded from its runs.
    Timer(Box<TimerRecord>),
}

/// What every record says of itself.
#[derive(Deserialize)]
struct RecordHead {
    schema: Option<String>,
}

/// Reads a record, and judges it.
pub fn read(path: &Path) -> Result<SavedRecord, Failure> {
    let shown = path.display();
    let text = abx_lab::read_text(path)
        .map_err(|error| Failure::usage(format!("cannot read {shown}: {error}")))?;
    let not_a_record = |why: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "{shown} is not a record of abx ({why}): give a file that `abx compare` or `abx run` saved"
        ))
    };
    let RecordHead { schema } =
        serde_json::from_str(&text).map_err(|error| not_a_record(&error))?;
    match schema.as_deref() {
        Some(STUDY_SCHEMA) => {
            let record = serde_json::from_str(&text).map_err(|error| not_a_record(&error))?;
            Ok(SavedRecord::Study(record))
        }
        Some(RUN_SCHEMA) => {
            let record = serde_json::from_str(&text).map_err(|error| not_a_record(&error))?;
            Ok(SavedRecord::Run(record))
        }
        Some(SCENARIO_SCHEMA) => {
            let record = serde_json::from_str(&text).map_err(|error| not_a_record(&error))?;
            Ok(SavedRecord::Scenario(record))
        }
        Some(DOCTOR_SCHEMA) => {
            let mut record: Box<DoctorRecord> =
                serde_json::from_str(&text).map_err(|error| not_a_record(&error))?;
            examine(&mut record);
            Ok(SavedRecord::Machine(record))
        }
        Some(TIMER_SCHEMA) => {
            let runs: TimerRuns =
                serde_json::from_str(&text).map_err(|error| not_a_record(&error))?;
            let record = TimerRecord::of(runs).ok_or_else(|| not_a_record(&"it has no run"))?;
            Ok(SavedRecord::Timer(Box::new(record)))
        }
        Some(other) => Err(unknown_schema(&shown, other)),
        None => Err(not_a_record(&"it has no schema")),
    }
}

/// A schema that this version cannot read: a later one of its own, or no record at all.
fn unknown_schema(path: &dyn std::fmt::Display, schema: &str) -> Failure {
    let kinds = [
        STUDY_SCHEMA,
        RUN_SCHEMA,
        SCENARIO_SCHEMA,
        DOCTOR_SCHEMA,
        TIMER_SCHEMA,
    ];
    let is_later = |own_text: &&str| own_text.split('/').next() == schema.split('/').next();
    let version = env!("CARGO_PKG_VERSION");
    Failure::usage(match kinds.into_iter().find(is_later) {
        Some(mine) => format!(
            "{path} has schema `{schema}`, which abx {version} cannot read: it reads `{mine}`. Use the \
             version of abx that wrote it (its `abx_version`), or a later one"
        ),
        None => format!(
            "{path} is not a record of abx (its schema is `{schema}`, and abx {version} reads {}): \
             give a file that `abx compare` or `abx run` saved",
            kinds.join(", ")
        ),
    })
}
