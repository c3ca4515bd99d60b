//! `abx report`: a saved record, judged again.

use abx_verdict::expectation::expectation_results;
use clap::Args;

use crate::commands::compare;
use crate::commands::history::{record_path, saved_file};
use crate::commands::saved::{self, SavedRecord, read};
use crate::flags::expect;
use crate::flags::expect::ExpectFlags;
use crate::flags::help;
use crate::flags::output;
use crate::flags::output::{FormatFlags, OutputFlags, Outputs, StudyFormatFlags};
use crate::ui::end::{End, Failure};

/// Print the report of a saved record, in any format, without measuring.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  abx report last\n  abx report 3fa9c1 --html report.html\n\n\
        `abx report --help` has all flags and more examples.",
    after_long_help = "Examples:\n  \
    abx report ~/.local/state/abx/compare-1795300000-42-811.json\n  \
    abx report last\n  \
    abx report 3fa9c1 --html report.html\n  \
    abx report monday.json tuesday.json wednesday.json\n  \
    abx report 3fa9c1 0a1b2c\n  \
    abx report times.json\n  \
    abx report 3fa9c1 --expect 'new >= 0.97 * old' --markdown -\n  \
    abx report last --expect 'p99<50ms,errors<0.1%' --junit junit.xml",
    mut_arg("json", |json| output::saves(json, "the record with its conclusions")),
    mut_args(|argument| help::brief(argument, BRIEF))
)]
pub struct Report {
    /// The record: a file, an id from `abx history`, or last (last~1: the one before it);
    /// several of one study, from other days or machines, are read together.
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

/// The flags of `abx report -h`.
const BRIEF: &[&str] = &[
    "expect",
    "fail_if_slower",
    "json",
    "html",
    "markdown",
    "full",
    "explain_terms",
    "help",
];

impl Report {
    /// The first flag that applies only to a study.
    fn of_studies(&self) -> Option<&'static str> {
        let expected = self.expect.is_given();
        let flag = self.study_formats.first();
        flag.or(expected.then_some("--expect or --fail-if-slower"))
    }

    /// Refuses a flag that does not apply to this kind of record.
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
    let outputs = Outputs::new(flags, &report.formats, report.study_formats.given())?;
    let style = output::style(flags);
    let [record] = &report.records[..] else {
        return several(report);
    };
    let path = record_path(record)?;
    let file = saved_file(&path);
    match read(&path)? {
        SavedRecord::Study(record) => {
            if record.run().is_some() {
                let of_comparisons = report.study_formats.first_of_comparisons();
                let slower = report.expect.fail_if_slower.as_ref();
                let refused = of_comparisons.or(slower.map(|_| "--fail-if-slower"));
                report.refuse("a run, which compares nothing", refused)?;
            }
            if report.study_formats.measured.folded.is_some()
                && record.conclusions.cpu_ledgers.is_empty()
            {
                return Err(without_samples(&report.records));
            }
            let known = expect::known_of_record(&record);
            let results = expectation_results(&record, &report.expect.read(&known)?);
            compare::print(&record, &results, Some(&file), (&outputs, flags))
        }
        SavedRecord::Bisect(record) => {
            let given = report.formats.first_but_html().or(report.of_studies());
            report.refuse("`abx bisect`, which has text, --json and --html", given)?;
            let confirmed = saved::confirmed(&record);
            let text = abx_report::bisect_text(&record, confirmed.as_ref(), &style);
            let page = report.formats.html.as_deref().map(|place| {
                let page = abx_report::bisect_html(&record, confirmed.as_ref());
                (output::HTML, place, page)
            });
            output::print_with(&text, &record, flags, page)?;
            Ok(End::Done)
        }
        SavedRecord::Machine(record) => {
            let given = report.formats.first().or(report.of_studies());
            report.refuse(
                "`abx doctor`, which measures this machine, not your servers",
                given,
            )?;
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

/// Reads several records of one study together.
fn several(report: &Report) -> Result<End, Failure> {
    if let Some(flag) = report.formats.first().or(report.of_studies()) {
        return Err(Failure::usage(format!(
            "several records are read together as text and with --json, so {flag} does not apply: \
             leave it out, or give one record"
        )));
    }
    let mut records = Vec::new();
    for word in &report.records {
        match read(&record_path(word)?)? {
            SavedRecord::Study(record) if record.measured.is_comparison() => {
                records.push((word.clone(), *record));
            }
            _ => return Err(not_of_a_study(word, &report.records)),
        }
    }
    let pooled = abx_verdict::pooled(&records).map_err(Failure::usage)?;
    let text = abx_report::pooled_text(&pooled, &output::style(&report.output));
    output::print(&text, &pooled, &report.output)?;
    Ok(End::Done)
}

/// The failure for records without call chains, which `--folded` needs.
fn without_samples(words: &[String]) -> Failure {
    Failure::usage(format!(
        "{} has no call chains, which --folded writes: measure again with --why, or give a record \
         that was measured with it",
        words.join(", ")
    ))
}

/// The failure for several records, one of which is not the record of a comparison.
fn not_of_a_study(word: &str, words: &[String]) -> Failure {
    Failure::usage(format!(
        "{word} is not a record of `abx compare`, and `abx report` reads only records of one study \
         together. To see these next to each other, use `abx view {}`; to learn which server is \
         faster, measure them together: `abx compare URL URL`",
        words.join(" ")
    ))
}
