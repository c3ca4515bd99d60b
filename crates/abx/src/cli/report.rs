//! `abx report`: a saved record, judged again.

use std::path::Path;

use abx_evidence::doctor::{DOCTOR_SCHEMA, DoctorRecord, examine};
use abx_evidence::record::STUDY_SCHEMA;
use abx_evidence::{RUN_SCHEMA, RunRecord, StudyRecord, judge, judge_against};
use clap::Args;
use serde_json::Value;

use super::history::record_path;
use super::output::{OutputFlags, PageFlags};
use super::{End, Failure, compare, output};

/// Judge a saved record again and print the same, without measuring.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx report ~/.local/state/abx/compare-1795300000-42-811.json\n  \
    abx report 3fa9c1\n  \
    abx report 3fa9c1 --html report.html")]
pub struct Report {
    /// The record: its file, or its id as `abx history` lists it.
    record: String,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    page: PageFlags,
}

/// A record that was read.
pub enum Kept {
    /// That of a study, judged.
    Study(Box<StudyRecord>),
    /// That of a run.
    Run(Box<RunRecord>),
    /// What was seen of a machine, concluded from.
    Machine(Box<DoctorRecord>),
}

/// Reads, judges and prints.
pub fn report(report: &Report) -> Result<End, Failure> {
    let flags = &report.output;
    let style = output::style(flags);
    match read(&record_path(&report.record)?)? {
        Kept::Study(record) => {
            let text = abx_report::study_text(&record, &style);
            output::print(&text, &record, flags)?;
            output::write_html(|| abx_report::study_html(&record), &report.page)?;
            Ok(compare::end(&record))
        }
        Kept::Run(record) => {
            let text = abx_report::run_text(&record, &style);
            output::print(&text, &record, flags)?;
            output::write_html(|| abx_report::run_html(&record), &report.page)?;
            Ok(End::Done)
        }
        Kept::Machine(_) if report.page.html.is_some() => Err(Failure::usage(
            "what `abx doctor` saw has no page: leave out `--html`",
        )),
        Kept::Machine(record) => {
            let text = abx_report::doctor_text(&record, &style);
            output::print(&text, &record, flags)?;
            Ok(End::Done)
        }
    }
}

/// Reads a record, and judges that of a study.
pub fn read(path: &Path) -> Result<Kept, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read {shown}: {error}")))?;
    let not_a_record = |why: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "{shown} is no record of abx ({why}): give a file that `abx compare` or `abx run` saved"
        ))
    };
    let value: Value = serde_json::from_str(&text).map_err(|error| not_a_record(&error))?;
    match value.get("schema").and_then(Value::as_str) {
        Some(STUDY_SCHEMA) => {
            // Read from the text again: its errors name line and column.
            let mut record: Box<StudyRecord> =
                serde_json::from_str(&text).map_err(|error| not_a_record(&error))?;
            judge(&mut record);
            judge_against(&mut record);
            Ok(Kept::Study(record))
        }
        Some(RUN_SCHEMA) => {
            let record = serde_json::from_str(&text).map_err(|error| not_a_record(&error))?;
            Ok(Kept::Run(record))
        }
        Some(DOCTOR_SCHEMA) => {
            let mut record: Box<DoctorRecord> =
                serde_json::from_str(&text).map_err(|error| not_a_record(&error))?;
            examine(&mut record);
            Ok(Kept::Machine(record))
        }
        Some(other) => Err(not_a_record(&format!(
            "its schema is `{other}`, this version knows {STUDY_SCHEMA}, {RUN_SCHEMA} and \
             {DOCTOR_SCHEMA}"
        ))),
        None => Err(not_a_record(&"it has no schema")),
    }
}
