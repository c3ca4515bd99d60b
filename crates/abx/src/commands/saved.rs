//! A saved record, read again and judged.

use std::error::Error;
use std::path::Path;

use abx_evidence::record::STUDY_SCHEMA;
use abx_evidence::{Measured, OUTPUT_SCHEMA};
use abx_lab::history::find;
use abx_lab::state_folder;
use abx_verdict::bisect::BisectRecord;
use abx_verdict::doctor::{DoctorRecord, examine};
use abx_verdict::timer::{TimerRecord, TimerRuns};
use abx_verdict::{OLD_RUN_SCHEMA, RUN_SCHEMA, StudyRecord};
use serde::Deserialize;

use crate::ui::end::Failure;

/// A record that was read.
pub enum SavedRecord {
    /// A study or a run, judged.
    Study(Box<StudyRecord>),
    /// A search for a commit.
    Bisect(Box<BisectRecord>),
    /// An examination of a machine by `abx doctor`, with conclusions.
    Machine(Box<DoctorRecord>),
    /// Where the time of a command went, concluded from its runs.
    Timer(Box<TimerRecord>),
}

/// The common head of all records.
#[derive(Deserialize)]
struct RecordHead {
    schema: Option<String>,
    kind: Option<String>,
}

/// A run in its old schema.
#[derive(Deserialize)]
struct OldRun {
    measured: Measured,
}

/// Reads a record, and judges it.
pub fn read(path: &Path) -> Result<SavedRecord, Failure> {
    let shown = path.display();
    let text = abx_lab::read_text(path)
        .map_err(|error| Failure::usage(format!("cannot read {shown}: {error}")))?;
    let not_a_record = |why: Box<dyn Error>| {
        Failure::usage(format!(
            "{shown} is not a record of abx ({why}): give a file that `abx compare` or `abx run` saved"
        ))
    };
    let head: RecordHead =
        serde_json::from_str(&text).map_err(|error| not_a_record(error.into()))?;
    let schema = head
        .schema
        .ok_or_else(|| not_a_record("it has no schema".into()))?;
    if !SCHEMAS.contains(&&schema[..]) {
        return Err(unknown_schema(&shown, &schema));
    }
    parse(&text, &schema, head.kind.as_deref()).map_err(not_a_record)
}

/// The comparison that confirmed the commit that a search found; `None` if its record is not
/// saved any more.
pub fn confirmed(search: &BisectRecord) -> Option<StudyRecord> {
    let id = &search.confirmation.as_ref()?.record;
    let path = find(id, &state_folder()).ok()?;
    match read(&path).ok()? {
        SavedRecord::Study(record) => Some(*record),
        _ => None,
    }
}

/// The record in a text of one of the [`SCHEMAS`].
fn parse(text: &str, schema: &str, kind: Option<&str>) -> Result<SavedRecord, Box<dyn Error>> {
    Ok(match (schema, kind) {
        (STUDY_SCHEMA | RUN_SCHEMA, _) => {
            SavedRecord::Study(Box::new(StudyRecord::from_json(text)?))
        }
        (OLD_RUN_SCHEMA, _) => {
            let OldRun { measured } = serde_json::from_str(text)?;
            SavedRecord::Study(Box::new(StudyRecord::judged(measured)))
        }
        (_, Some("bisect")) => SavedRecord::Bisect(serde_json::from_str(text)?),
        (_, Some("doctor")) => {
            let mut record: Box<DoctorRecord> = serde_json::from_str(text)?;
            examine(&mut record);
            SavedRecord::Machine(record)
        }
        (_, Some("timer")) => {
            let runs: TimerRuns = serde_json::from_str(text)?;
            SavedRecord::Timer(Box::new(TimerRecord::of(runs).ok_or("it has no run")?))
        }
        (_, kind) => {
            let kind = kind.unwrap_or("unknown");
            return Err(format!("its kind is {kind}, which abx does not report").into());
        }
    })
}

/// The failure for a schema that this version cannot read: another version of a known schema, or
/// the schema of another program.
fn unknown_schema(path: &dyn std::fmt::Display, schema: &str) -> Failure {
    let has_same_name = |known: &&str| known.split('/').next() == schema.split('/').next();
    let version = env!("CARGO_PKG_VERSION");
    Failure::usage(match SCHEMAS.into_iter().find(has_same_name) {
        Some(known) => format!(
            "{path} has schema `{schema}`, which abx {version} cannot read: it reads `{known}`. Use \
             the version of abx that wrote it (its `abx_version`), or a later one"
        ),
        None => format!(
            "{path} is not a record of abx (its schema is `{schema}`, and abx {version} reads {}): \
             give a file that `abx compare` or `abx run` saved",
            SCHEMAS.join(", ")
        ),
    })
}

/// The schemas that this version reads.
const SCHEMAS: [&str; 4] = [STUDY_SCHEMA, RUN_SCHEMA, OLD_RUN_SCHEMA, OUTPUT_SCHEMA];
