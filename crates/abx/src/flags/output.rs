//! Where reports, records and other formats go.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use abx_evidence::scenario::ScenarioRecord;
use abx_evidence::{ExpectationResult, RunRecord, StudyRecord};
use abx_lab::Target;
use abx_report::{ReportExtent, Style};
use clap::Args;
use serde::Serialize;

use crate::ui::end::{Failure, tell};
use crate::ui::otlp;

/// Where things are said, and how.
#[derive(Debug, Clone, Args)]
pub struct OutputFlags {
    #[arg(long, value_name = "FILE|-", help = json_help("the record"), value_parser = record_file)]
    pub json: Option<String>,
    /// Print nothing on standard error except errors.
    #[arg(short, long)]
    pub quiet: bool,
    /// Do not use colour.
    #[arg(long)]
    pub no_color: bool,
}

/// The help of `--json` for a command that saves this.
pub fn json_help(what: &str) -> String {
    format!(
        "Also save {what} as JSON to this file, compressed if its name ends in .zst; - prints the \
         JSON on standard output instead of the text"
    )
}

/// Formats of studies and of runs.
#[derive(Debug, Clone, Args)]
pub struct FormatFlags {
    /// Write the report as one HTML file that includes plots and the record; - as with --json.
    #[arg(long, value_name = "FILE|-")]
    pub html: Option<String>,
    /// Write a Markdown summary for a pull request; - as with --json.
    #[arg(long, value_name = "FILE|-")]
    pub markdown: Option<String>,
    /// Write OpenMetrics text for Prometheus; - as with --json.
    #[arg(long, value_name = "FILE|-")]
    pub prometheus: Option<String>,
    /// Post metrics to an OpenTelemetry collector, such as http://127.0.0.1:4318.
    #[arg(long, value_name = "URL", value_parser = otlp::collector)]
    pub otlp: Option<Target>,
    /// Print all of the report, and not only what fits on a screen.
    #[arg(long)]
    pub full: bool,
    /// Say below the report what its words mean.
    #[arg(long, conflicts_with = "full")]
    pub explain_terms: bool,
}

/// Formats of what was measured, and of what was expected.
#[derive(Debug, Clone, Args)]
pub struct MeasuredFormatFlags {
    /// Write CSV with a row for each slice (a run has one); - as with --json.
    #[arg(long, value_name = "FILE|-")]
    pub csv: Option<String>,
    /// Write response time percentiles in HdrHistogram format, one file per subject and load:
    /// out.hgrm becomes out.SUBJECT.LOAD.hgrm.
    #[arg(long, value_name = "FILE")]
    pub hgrm: Option<String>,
    /// Write response times as an HdrHistogram log, one interval per block, load and subject; -
    /// as with --json.
    #[arg(long, value_name = "FILE|-")]
    pub hlog: Option<String>,
    /// Write JUnit XML with a test case for each comparison and expectation; - as with --json.
    #[arg(long, value_name = "FILE|-")]
    pub junit: Option<String>,
}

/// Reads the name of a record's file, and not a request's body.
fn record_file(text: &str) -> Result<String, String> {
    match text.trim_start().starts_with(['{', '[']) {
        true => Err(
            "--json saves the record to a file, and this is a body of JSON: send it by -b, with -H \
             'Content-Type: application/json'"
                .to_owned(),
        ),
        false => Ok(text.to_owned()),
    }
}

/// Formats that only a study has.
#[derive(Debug, Clone, Args)]
pub struct StudyFormatFlags {
    /// Write a picture of the verdicts as SVG, for a README; - as with --json.
    #[arg(long, value_name = "FILE|-")]
    pub svg: Option<String>,
    /// Write CSV with a row for each comparison; - as with --json.
    #[arg(long, value_name = "FILE|-")]
    pub csv_comparisons: Option<String>,
    #[command(flatten)]
    pub measured: MeasuredFormatFlags,
}

/// What the flags of one command say, and that it can be done.
pub struct Outputs<'a> {
    flags: &'a OutputFlags,
    formats: &'a FormatFlags,
    measured: Option<&'a MeasuredFormatFlags>,
    study: Option<&'a StudyFormatFlags>,
}

/// A format that studies and runs have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Html,
    Markdown,
    Prometheus,
}

/// A format of what was measured or expected, all of it in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MeasuredFormat {
    Csv,
    Hlog,
    Junit,
}

/// A format that only studies have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StudyFormat {
    Svg,
    CsvComparisons,
}

/// A text and where it goes.
struct Document {
    flag: &'static str,
    place: String,
    text: String,
}

impl<'a> Outputs<'a> {
    /// Those of a record that has no formats of its own.
    pub fn of_record(
        flags: &'a OutputFlags,
        formats: &'a FormatFlags,
    ) -> Result<Outputs<'a>, Failure> {
        let all = Outputs {
            flags,
            formats,
            measured: None,
            study: None,
        };
        all.checked()
    }

    /// Those of a run.
    pub fn of_run(
        flags: &'a OutputFlags,
        formats: &'a FormatFlags,
        measured: &'a MeasuredFormatFlags,
    ) -> Result<Outputs<'a>, Failure> {
        let all = Outputs {
            flags,
            formats,
            measured: Some(measured),
            study: None,
        };
        all.checked()
    }

    /// Those of a study.
    pub fn of_study(
        flags: &'a OutputFlags,
        formats: &'a FormatFlags,
        study: &'a StudyFormatFlags,
    ) -> Result<Outputs<'a>, Failure> {
        let all = Outputs {
            flags,
            formats,
            measured: Some(&study.measured),
            study: Some(study),
        };
        all.checked()
    }

    /// How much is to be printed.
    pub fn extent(&self) -> ReportExtent {
        match (self.formats.full, self.formats.explain_terms) {
            (true, _) => ReportExtent::Full,
            (false, true) => ReportExtent::Explained,
            (false, false) => ReportExtent::Brief,
        }
    }

    /// Two formats in one place would overwrite each other.
    fn checked(self) -> Result<Outputs<'a>, Failure> {
        let places: Vec<_> = self.places().collect();
        for (number, (flag, place)) in places.iter().enumerate() {
            let mut before = places[..number].iter();
            if let Some((other, _)) = before.find(|(_, other)| other == place) {
                return Err(Failure::usage(format!(
                    "{other} and {flag} both write to {}: give each its own file",
                    said(place)
                )));
            }
        }
        Ok(self)
    }

    /// Every flag that names a place, and the place.
    fn places(&self) -> impl Iterator<Item = (&'static str, &'a str)> {
        let shared = self.shared().map(|(format, place)| (format.flag(), place));
        let measured = { self.measured.into_iter() }.flat_map(MeasuredFormatFlags::places);
        let study = self.study.into_iter().flat_map(StudyFormatFlags::given);
        let study = study.map(|(format, place)| (format.flag(), place));
        shared.chain(measured).chain(study)
    }

    /// The formats that any record has, each with its place.
    fn shared(&self) -> impl Iterator<Item = (Format, &'a str)> {
        let record = self.flags.json.as_deref();
        let record = record.map(|place| (Format::Json, place));
        record.into_iter().chain(self.formats.given())
    }

    /// Prints a study and writes everything that was asked for. One document that
    /// cannot be written does not stop the others.
    pub fn print_study(
        &self,
        report: &str,
        record: &StudyRecord,
        answers: &[ExpectationResult],
    ) -> Result<(), Failure> {
        let text = |format| match format {
            Format::Json => abx_report::study_json(record),
            Format::Html => abx_report::study_html_with(record, answers),
            Format::Markdown => abx_report::study_markdown(record, answers),
            Format::Prometheus => abx_report::study_openmetrics(record, answers),
        };
        let study_text = |format| match format {
            StudyFormat::Svg => abx_report::study_svg(record),
            StudyFormat::CsvComparisons => abx_report::comparisons_csv(record),
        };
        let mut documents = self.documents(text);
        let given = self.study.into_iter().flat_map(StudyFormatFlags::given);
        documents.extend(
            given.map(|(format, place)| Document::new(format.flag(), place, study_text(format))),
        );
        documents.extend(self.of_measured(record, answers));
        let metrics = || abx_report::study_otlp(record, answers);
        self.write(report, documents, metrics)
    }

    /// The documents of what was measured, and of what was expected.
    fn of_measured(&self, record: &StudyRecord, answers: &[ExpectationResult]) -> Vec<Document> {
        let Some(measured) = self.measured else {
            return Vec::new();
        };
        let text = |format| match format {
            MeasuredFormat::Csv => abx_report::slices_csv(record),
            MeasuredFormat::Hlog => abx_report::study_hlog(record),
            MeasuredFormat::Junit => abx_report::study_junit(record, answers),
        };
        let given = measured.given();
        let given = given.map(|(format, place)| Document::new(format.flag(), place, text(format)));
        let hgrm = measured.hgrm.as_deref().into_iter();
        let hgrm = hgrm.flat_map(|place| percentiles(place, record));
        given.chain(hgrm).collect()
    }

    /// Prints a run, which is this study of one subject, and writes everything that was asked
    /// for, as [`Outputs::print_study`] does.
    pub fn print_run(
        &self,
        report: &str,
        record: &RunRecord,
        (study, answers): (&StudyRecord, &[ExpectationResult]),
    ) -> Result<(), Failure> {
        let text = |format| match format {
            Format::Json => abx_report::run_json(record),
            Format::Html => abx_report::run_html(record),
            Format::Markdown => abx_report::run_markdown(record),
            Format::Prometheus => abx_report::run_openmetrics(record),
        };
        let metrics = || abx_report::run_otlp(record);
        let mut documents = self.documents(text);
        documents.extend(self.of_measured(study, answers));
        self.write(report, documents, metrics)
    }

    /// Prints the report of a scenario, which has two formats.
    pub fn print_scenario(&self, report: &str, record: &ScenarioRecord) -> Result<(), Failure> {
        let text = |format| match format {
            Format::Html => abx_report::scenario_html(record),
            _ => abx_report::scenario_json(record),
        };
        conclude(write(report, &self.documents(text), self.flags))
    }

    fn documents(&self, text: impl Fn(Format) -> String) -> Vec<Document> {
        let document =
            |(format, place): (Format, &str)| Document::new(format.flag(), place, text(format));
        self.shared().map(document).collect()
    }

    fn write(
        &self,
        report: &str,
        documents: Vec<Document>,
        metrics: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let mut wrong = write(report, &documents, self.flags);
        if let Some(collector) = &self.formats.otlp
            && let Err(why) = otlp::post(collector, &metrics())
        {
            wrong.push(format!(
                "cannot post the metrics to {}: {why}. Post them again with: abx report RECORD \
                 --otlp URL",
                collector.url
            ));
        }
        conclude(wrong)
    }
}

impl Format {
    fn flag(self) -> &'static str {
        match self {
            Format::Json => "--json",
            Format::Html => "--html",
            Format::Markdown => "--markdown",
            Format::Prometheus => "--prometheus",
        }
    }
}

impl MeasuredFormat {
    fn flag(self) -> &'static str {
        match self {
            MeasuredFormat::Csv => "--csv",
            MeasuredFormat::Hlog => "--hlog",
            MeasuredFormat::Junit => "--junit",
        }
    }
}

impl StudyFormat {
    fn flag(self) -> &'static str {
        match self {
            StudyFormat::Svg => "--svg",
            StudyFormat::CsvComparisons => "--csv-comparisons",
        }
    }
}

impl Document {
    fn new(flag: &'static str, place: &str, text: String) -> Document {
        Document {
            flag,
            place: place.to_owned(),
            text,
        }
    }

    fn write(&self) -> Result<(), String> {
        if self.place == "-" {
            return to_stdout(&self.text);
        }
        abx_lab::write_text(Path::new(&self.place), &self.text).map_err(|error| {
            format!(
                "cannot write {}: {error}. Give a writable file (`{}`)",
                self.place, self.flag
            )
        })
    }
}

impl FormatFlags {
    /// The first flag of them that was given.
    pub fn first(&self) -> Option<&'static str> {
        let otlp = self.otlp.as_ref().map(|_| "--otlp");
        self.given()
            .next()
            .map(|(format, _)| format.flag())
            .or(otlp)
    }

    /// The first flag of them that was given and asks for another format than HTML.
    pub fn first_but_html(&self) -> Option<&'static str> {
        let mut all = self.given().map(|(format, _)| format);
        let first = all.find(|format| *format != Format::Html);
        let otlp = self.otlp.as_ref().map(|_| "--otlp");
        first.map(Format::flag).or(otlp)
    }

    /// The formats that were asked for, each with its place.
    fn given(&self) -> impl Iterator<Item = (Format, &str)> {
        given([
            (Format::Html, &self.html),
            (Format::Markdown, &self.markdown),
            (Format::Prometheus, &self.prometheus),
        ])
    }
}

impl MeasuredFormatFlags {
    /// The first flag of them that was given.
    pub fn first(&self) -> Option<&'static str> {
        self.places().next().map(|(flag, _)| flag)
    }

    /// The formats of one file that were asked for, each with its place.
    fn given(&self) -> impl Iterator<Item = (MeasuredFormat, &str)> {
        given([
            (MeasuredFormat::Csv, &self.csv),
            (MeasuredFormat::Hlog, &self.hlog),
            (MeasuredFormat::Junit, &self.junit),
        ])
    }

    /// Every flag that was given, with its place.
    fn places(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let files = self.given().map(|(format, place)| (format.flag(), place));
        files.chain(self.hgrm.as_deref().map(|place| (HGRM, place)))
    }
}

impl StudyFormatFlags {
    /// The first flag of them that was given.
    pub fn first(&self) -> Option<&'static str> {
        self.measured.first().or(self.first_of_comparisons())
    }

    /// The first flag of those that need a comparison.
    pub fn first_of_comparisons(&self) -> Option<&'static str> {
        self.given().next().map(|(format, _)| format.flag())
    }

    /// The formats of comparisons that were asked for, each with its place.
    fn given(&self) -> impl Iterator<Item = (StudyFormat, &str)> {
        given([
            (StudyFormat::Svg, &self.svg),
            (StudyFormat::CsvComparisons, &self.csv_comparisons),
        ])
    }
}

fn given<F, const N: usize>(all: [(F, &Option<String>); N]) -> impl Iterator<Item = (F, &str)> {
    let each = all.into_iter();
    each.filter_map(|(format, place)| Some((format, place.as_deref()?)))
}

/// A document for each subject and load; the place itself when there is but one.
fn percentiles(place: &str, record: &StudyRecord) -> Vec<Document> {
    let all = abx_report::study_hgrm(record);
    let is_alone = all.len() == 1;
    let document = |one: abx_report::Percentiles| Document {
        flag: HGRM,
        place: match is_alone {
            true => place.to_owned(),
            false => with_names(place, [&one.subject, &one.load]),
        },
        text: one.text,
    };
    all.into_iter().map(document).collect()
}

/// `out.hgrm` becomes `out.SUBJECT.LOAD.hgrm`.
fn with_names(place: &str, names: [&str; 2]) -> String {
    let is_unsafe = |letter: char| letter == '/' || letter.is_control();
    let names = names.map(|name| name.replace(is_unsafe, "_")).join(".");
    let path = PathBuf::from(place);
    let last = path.extension().map(|last| last.to_string_lossy());
    let path = match last {
        Some(last) => path.with_extension(format!("{names}.{last}")),
        None => PathBuf::from(format!("{place}.{names}")),
    };
    path.display().to_string()
}

fn said(place: &str) -> &str {
    match place {
        "-" => "standard output",
        place => place,
    }
}

const HGRM: &str = "--hgrm";

/// Prints a report that has no other formats, or the record itself where that
/// was asked for by `-`.
pub fn print(report: &str, record: &impl Serialize, flags: &OutputFlags) -> Result<(), Failure> {
    let mut documents = Vec::new();
    if let Some(place) = &flags.json {
        let text = serde_json::to_string(record)
            .map_err(|error| Failure::no_claim(format!("cannot write the record: {error}")))?;
        documents.push(Document::new(Format::Json.flag(), place, text + "\n"));
    }
    conclude(write(report, &documents, flags))
}

/// Writes the report and the documents, each whatever became of the others;
/// answers what went wrong.
fn write(report: &str, documents: &[Document], flags: &OutputFlags) -> Vec<String> {
    let mut wrong = Vec::new();
    if documents.iter().any(|one| one.place == "-") {
        if !flags.quiet {
            tell(report.trim_end());
        }
    } else {
        wrong.extend(to_stdout(report).err());
    }
    wrong.extend(documents.iter().filter_map(|one| one.write().err()));
    wrong
}

fn conclude(wrong: Vec<String>) -> Result<(), Failure> {
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(Failure::no_claim(wrong.join("\nabx: "))),
    }
}

/// How a report may look on standard output.
pub fn style(flags: &OutputFlags) -> Style {
    let is_utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
        .is_some_and(|value| {
            let value = value.to_ascii_lowercase();
            value.contains("utf-8") || value.contains("utf8")
        });
    let may_color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    Style {
        color: !flags.no_color && may_color && !is_dumb && io::stdout().is_terminal(),
        unicode: is_utf8,
        width: columns(
            std::env::var("COLUMNS").ok().as_deref(),
            terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0),
        ),
    }
}

/// How many columns a report may take: as many as the environment says, else as many as the
/// terminal has, else 80.
fn columns(asked: Option<&str>, terminal: Option<u16>) -> usize {
    let asked = asked.and_then(|text| text.parse().ok());
    let found = asked.or(terminal).filter(|columns| *columns > 0);
    found.map_or(COLUMNS, |columns| usize::from(columns).min(COLUMNS_MAX))
}

/// Columns where nobody says how many there are.
const COLUMNS: usize = 80;
/// Longer lines are hard to read.
const COLUMNS_MAX: usize = 120;

/// Prints a text at once.
pub fn to_stdout(text: &str) -> Result<(), String> {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        // The reader has seen enough, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(format!("cannot write to standard output: {error}")),
        Ok(()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_as_wide_as_the_terminal_within_reason() {
        // Method: what the environment says, and what the terminal does, alone and together.
        let table = [
            (None, None, 80),
            (None, Some(100), 100),
            (None, Some(300), 120),
            (None, Some(40), 40),
            (Some("90"), Some(100), 90),
            (Some("90"), None, 90),
            (Some("0"), Some(100), 80),
            (Some("wide"), Some(100), 100),
        ];
        for (asked, terminal, expected) in table {
            assert_eq!(columns(asked, terminal), expected, "{asked:?} {terminal:?}");
        }
    }

    #[test]
    fn names_stand_before_the_ending() {
        // Method: with and without an ending, and a name with a slash.
        assert_eq!(with_names("a/b.hgrm", ["old", "c50"]), "a/b.old.c50.hgrm");
        assert_eq!(
            with_names("b.hgrm", ["../a\nb\u{1b}", "c"]),
            "b..._a_b_.c.hgrm"
        );
        assert_eq!(with_names("a.d/b", ["old", "c50"]), "a.d/b.old.c50");
        assert_eq!(with_names("b.h", ["x/y", "c50"]), "b.x_y.c50.h");
    }
}
