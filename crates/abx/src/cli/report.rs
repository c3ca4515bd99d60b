//! `abx report`: a saved record, judged again.

use std::path::Path;

use abx_evidence::doctor::{DOCTOR_SCHEMA, DoctorRecord, examine};
use abx_evidence::record::STUDY_SCHEMA;
use abx_evidence::{RUN_SCHEMA, RunRecord, StudyRecord, judge, judge_against};
use clap::Args;
use serde_json::Value;

use super::expect::ExpectFlags;
use super::history::record_path;
use super::output::{FormatFlags, OutputFlags, Outputs, StudyFormatFlags};
use super::{End, Failure, compare, expect, output};

/// Judge a saved record again and print the same, without measuring.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx report ~/.local/state/abx/compare-1795300000-42-811.json\n  \
    abx report 3fa9c1 --html report.html\n  \
    abx report 3fa9c1 --expect 'new >= 0.97 * old' --markdown -")]
pub struct Report {
    /// The record: its file, or its id as `abx history` lists it.
    record: String,
    #[command(flatten)]
    expect: ExpectFlags,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    formats: FormatFlags,
    #[command(flatten)]
    study_formats: StudyFormatFlags,
}

impl Report {
    /// The first flag that only a study has an answer to.
    fn of_studies(&self) -> Option<&'static str> {
        let expected = self.expect.is_given();
        let flag = self.study_formats.first();
        flag.or(expected.then_some("--expect or --fail-if-slower"))
    }

    /// Refuses a flag that this kind of record has no answer to.
    fn refuse(&self, kind: &str, flag: Option<&'static str>) -> Result<(), Failure> {
        match flag {
            None => Ok(()),
            Some(flag) => Err(Failure::usage(format!(
                "{} is of {kind}, so {flag} has nothing to go by: leave it out, or give a record \
                 of `abx compare`",
                self.record
            ))),
        }
    }
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
    let outputs = Outputs::of_study(flags, &report.formats, &report.study_formats)?;
    let style = output::style(flags);
    let path = record_path(&report.record)?;
    match read(&path)? {
        Kept::Study(record) => {
            let known = expect::known_of_record(&record);
            let answers = expect::ask(&record, &report.expect.read(&known)?);
            let printed = compare::print(&record, &answers, &outputs, flags);
            compare::conclude(printed, expect::end(&answers, compare::end(&record)))
        }
        Kept::Run(record) => {
            report.refuse("a run, which compares nothing", report.of_studies())?;
            let text = abx_report::run_text(&record, &style);
            Outputs::of_run(flags, &report.formats)?.print_run(&text, &record)?;
            Ok(End::Done)
        }
        Kept::Machine(record) => {
            let given = report.formats.first().or(report.of_studies());
            report.refuse("what was seen of a machine, which loads nothing", given)?;
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
            let record = StudyRecord::read(&text).map_err(|error| not_a_record(&error))?;
            let mut record = Box::new(record);
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
        Some(other) => Err(unknown_schema(&shown, other)),
        None => Err(not_a_record(&"it has no schema")),
    }
}

/// A schema that this version cannot read: a later one of its own, or no record at all.
fn unknown_schema(path: &dyn std::fmt::Display, schema: &str) -> Failure {
    let kinds = [STUDY_SCHEMA, RUN_SCHEMA, DOCTOR_SCHEMA];
    let is_later = |own: &&str| own.split('/').next() == schema.split('/').next();
    let version = env!("CARGO_PKG_VERSION");
    Failure::usage(match kinds.into_iter().find(is_later) {
        Some(own) => format!(
            "{path} is a record of schema `{schema}`, which abx {version} cannot read: it knows \
             `{own}`. Read it with the version of abx that wrote it (its `abx_version`), or a \
             later one"
        ),
        None => format!(
            "{path} is no record of abx (its schema is `{schema}`, and abx {version} knows {}): \
             give a file that `abx compare` or `abx run` saved",
            kinds.join(", ")
        ),
    })
}
