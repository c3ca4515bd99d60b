//! `abx report`: a saved record, judged again.

use std::path::PathBuf;

use abx_evidence::record::STUDY_SCHEMA;
use abx_evidence::{RUN_SCHEMA, RunRecord, StudyRecord, judge};
use clap::Args;
use serde_json::Value;

use super::expect::ExpectFlags;
use super::output::{OutputFlags, Outputs, StudyOutputFlags};
use super::{End, Failure, compare, expect, output};

/// Judge a saved record again and print the same, without measuring.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx report ~/.local/state/abx/compare-1.json\n  \
    abx report RECORD.json --expect 'new >= 0.97 * old' --markdown -")]
pub struct Report {
    /// The record, as `abx compare` saved it.
    record: PathBuf,
    #[command(flatten)]
    expect: ExpectFlags,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    study_output: StudyOutputFlags,
}

impl Report {
    /// A run has neither slices nor comparisons.
    fn refuse_what_runs_have_not(&self) -> Result<(), Failure> {
        let given = self.study_output.given();
        let flag = given.first().map(|(flag, _)| *flag);
        let expected = self.expect.is_given();
        match flag.or(expected.then_some("--expect or --fail-if-slower")) {
            None => Ok(()),
            Some(flag) => Err(Failure::usage(format!(
                "{} is of a run, which compares nothing, so {flag} has nothing to go by: leave it \
                 out, or give a record of `abx compare`",
                self.record.display()
            ))),
        }
    }
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
    let outputs = Outputs::of_study(flags, &report.study_output)?;
    match value.get("schema").and_then(Value::as_str) {
        Some(STUDY_SCHEMA) => {
            // Read from the text again: its errors name line and column.
            let mut record: StudyRecord =
                serde_json::from_str(&text).map_err(|error| not_a_record(&error))?;
            judge(&mut record);
            let known = expect::known_of_record(&record);
            let answers = expect::ask(&record, &report.expect.read(&known)?);
            let printed = compare::print(&record, &answers, &outputs, flags);
            compare::conclude(printed, expect::end(&answers, compare::end(&record)))
        }
        Some(RUN_SCHEMA) => {
            let record: RunRecord =
                serde_json::from_str(&text).map_err(|error| not_a_record(&error))?;
            report.refuse_what_runs_have_not()?;
            let text = abx_report::run_text(&record, &output::style(flags));
            Outputs::of_run(flags)?.print_run(&text, &record)?;
            Ok(End::Done)
        }
        Some(other) => Err(not_a_record(&format!(
            "its schema is `{other}`, this version knows {STUDY_SCHEMA} and {RUN_SCHEMA}"
        ))),
        None => Err(not_a_record(&"it has no schema")),
    }
}
