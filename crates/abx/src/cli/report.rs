//! `abx report`: a saved record, judged again.

use std::path::PathBuf;

use abx_evidence::doctor::{DOCTOR_SCHEMA, DoctorRecord, examine};
use abx_evidence::record::STUDY_SCHEMA;
use abx_evidence::{RUN_SCHEMA, RunRecord, StudyRecord, judge};
use clap::Args;
use serde_json::Value;

use super::output::{OutputFlags, PageFlags};
use super::{End, Failure, compare, output};

/// Judge a saved record again and print the same, without measuring.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx report ~/.local/state/abx/compare-1.json\n  \
    abx report ~/.local/state/abx/compare-1.json --html report.html")]
pub struct Report {
    /// The record, as `abx compare` saved it.
    record: PathBuf,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    page: PageFlags,
}

/// Reads, judges and prints.
pub fn report(report: &Report) -> Result<End, Failure> {
    let path = report.record.display();
    let text = std::fs::read_to_string(&report.record)
        .map_err(|error| Failure::usage(format!("cannot read {path}: {error}")))?;
    let not_a_record = |why: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "{path} is no record of abx ({why}): give a file that `abx compare` or `abx run \
             --json` saved"
        ))
    };
    let value: Value = serde_json::from_str(&text).map_err(|error| not_a_record(&error))?;
    let flags = &report.output;
    let style = output::style(flags);
    match value.get("schema").and_then(Value::as_str) {
        Some(STUDY_SCHEMA) => {
            // Read from the text again: its errors name line and column.
            let mut record: StudyRecord =
                serde_json::from_str(&text).map_err(|error| not_a_record(&error))?;
            judge(&mut record);
            let text = abx_report::study_text(&record, &style);
            output::print(&text, &record, flags)?;
            output::write_html(|| abx_report::study_html(&record), &report.page)?;
            Ok(compare::end(&record))
        }
        Some(RUN_SCHEMA) => {
            let record: RunRecord =
                serde_json::from_str(&text).map_err(|error| not_a_record(&error))?;
            let text = abx_report::run_text(&record, &style);
            output::print(&text, &record, flags)?;
            output::write_html(|| abx_report::run_html(&record), &report.page)?;
            Ok(End::Done)
        }
        Some(DOCTOR_SCHEMA) if report.page.html.is_some() => Err(Failure::usage(format!(
            "{path} is what `abx doctor` saw, which has no page: leave out `--html`"
        ))),
        Some(DOCTOR_SCHEMA) => {
            let mut record: DoctorRecord =
                serde_json::from_str(&text).map_err(|error| not_a_record(&error))?;
            examine(&mut record);
            let text = abx_report::doctor_text(&record, &style);
            output::print(&text, &record, flags)?;
            Ok(End::Done)
        }
        Some(other) => Err(not_a_record(&format!(
            "its schema is `{other}`, this version knows {STUDY_SCHEMA}, {RUN_SCHEMA} and \
             {DOCTOR_SCHEMA}"
        ))),
        None => Err(not_a_record(&"it has no schema")),
    }
}
