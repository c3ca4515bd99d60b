//! `abx report`: a saved record, judged again.

use abx_audit::SideBySideRows;
use clap::Args;

use super::expect::ExpectFlags;
use super::history::record_path;
use super::output::{FormatFlags, OutputFlags, Outputs, StudyFormatFlags};
use super::{compare, expect, output, run, scenario};
use crate::end::{End, Failure};
use crate::saved::{SavedRecord, read};

/// Print the report of a saved record, in any format, without measuring.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx report ~/.local/state/abx/compare-1795300000-42-811.json\n  \
    abx report last\n  \
    abx report 3fa9c1 --html report.html\n  \
    abx report monday.json tuesday.json wednesday.json\n  \
    abx report 3fa9c1 0a1b2c\n  \
    abx report times.json\n  \
    abx report 3fa9c1 --expect 'new >= 0.97 * old' --markdown -")]
#[command(mut_arg("json", |json| json.help(output::json_help("the record with its conclusions"))))]
pub struct Report {
    /// The record: a file, an id from `abx history`, or last (last~1: the one before it);
    /// several of one study, from other days or machines, are read together; beside one from
    /// `abx import`, all are shown side by side.
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<String>,
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
                "{} is the record of {kind}, so {flag} does not apply: leave it out, or give a record \
                 of `abx compare`",
                self.records.join(", ")
            ))),
        }
    }
}

/// Reads, judges and prints.
pub fn report(report: &Report) -> Result<End, Failure> {
    let flags = &report.output;
    let outputs = Outputs::of_study(flags, &report.formats, &report.study_formats)?;
    let style = output::style(flags);
    let [record] = &report.records[..] else {
        return several(report);
    };
    let path = record_path(record)?;
    match read(&path)? {
        SavedRecord::Study(record) => {
            let known = expect::known_of_record(&record);
            let answers = expect::ask(&record, &report.expect.read(&known)?);
            let printed = compare::print(&record, &answers, &outputs, flags);
            compare::conclude(printed, compare::ended(&record, &answers, flags))
        }
        SavedRecord::Run(record) => {
            report.refuse("a run, which compares nothing", report.of_studies())?;
            let outputs = Outputs::of_run(flags, &report.formats)?;
            let text = abx_report::run_text(&record, outputs.extent(), &style);
            outputs.print_run(&text, &record)?;
            Ok(run::ended(&record, flags))
        }
        SavedRecord::Imported(record) => {
            report.refuse(
                "another tool's report, which compares nothing",
                report.of_studies(),
            )?;
            let outputs = Outputs::of_run(flags, &report.formats)?;
            let text = abx_report::imported_text(&record, &style);
            outputs.print_imported(&text, &record)?;
            Ok(End::Done)
        }
        SavedRecord::Scenario(record) => {
            let given = report.formats.first_but_html().or(report.of_studies());
            report.refuse("a scenario, which has text, --html and --json", given)?;
            let outputs = Outputs::of_run(flags, &report.formats)?;
            scenario::print(&record, &outputs, flags)
        }
        SavedRecord::Machine(record) => {
            let given = report.formats.first().or(report.of_studies());
            report.refuse("`abx doctor`, which loads nothing", given)?;
            let text = abx_report::doctor_text(&record, &style);
            output::print(&text, &record, flags)?;
            Ok(End::Done)
        }
        SavedRecord::Timer(record) => {
            let given = report.formats.first().or(report.of_studies());
            report.refuse("`abx timer`, which compares nothing", given)?;
            let text = abx_report::timer_text(&record, &style);
            output::print(&text, &record, flags)?;
            Ok(End::Done)
        }
    }
}

/// Reads several records of one study together, or shows them beside imported ones.
fn several(report: &Report) -> Result<End, Failure> {
    if let Some(flag) = report.formats.first().or(report.of_studies()) {
        return Err(Failure::usage(format!(
            "several records are read together as text and with --json, so {flag} does not apply: \
             leave it out, or give one record"
        )));
    }
    let mut all: Vec<(&str, SavedRecord)> = Vec::new();
    for word in &report.records {
        all.push((word, read(&record_path(word)?)?));
    }
    let is_imported = |(_, one): &(&str, SavedRecord)| matches!(one, SavedRecord::Imported(_));
    if all.iter().any(is_imported) {
        return beside(&all, report);
    }
    let mut records = Vec::new();
    for (word, record) in all {
        match record {
            SavedRecord::Study(record) => records.push((word.to_owned(), *record)),
            _ => {
                return Err(Failure::usage(format!(
                    "{word} is no record of `abx compare`, and only those of one study are read \
                     together: leave it out"
                )));
            }
        }
    }
    let pooled = abx_evidence::pooled(&records).map_err(Failure::usage)?;
    let text = abx_report::pooled_text(&pooled, &output::style(&report.output));
    output::print(&text, &pooled, &report.output)?;
    Ok(End::Done)
}

/// Shows records beside reports of other tools, which compares nothing.
fn beside(all: &[(&str, SavedRecord)], report: &Report) -> Result<End, Failure> {
    let mut rows = SideBySideRows::default();
    for (word, record) in all {
        match record {
            SavedRecord::Imported(record) => rows.add_imported(word, record),
            SavedRecord::Run(record) => rows.add_run(word, record),
            SavedRecord::Study(record) => rows.add_study(word, record),
            SavedRecord::Scenario(_) => {
                return Err(Failure::usage(format!(
                    "{word} is the record of a scenario, whose sessions are no requests: leave it out"
                )));
            }
            SavedRecord::Machine(_) => {
                return Err(Failure::usage(format!(
                    "{word} is what `abx doctor` saw of a machine, which loads nothing: leave it out"
                )));
            }
            SavedRecord::Timer(_) => {
                return Err(Failure::usage(format!(
                    "{word} is what `abx timer` measured of a command, which loads nothing: leave it \
                     out"
                )));
            }
        }
    }
    let side_by_side = rows.finish();
    let text = abx_report::side_by_side_text(&side_by_side, &output::style(&report.output));
    output::print(&text, &side_by_side, &report.output)?;
    Ok(End::Done)
}
