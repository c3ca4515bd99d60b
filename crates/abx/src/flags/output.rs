//! Where reports, records and other formats go.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use abx_lab::Target;
use abx_report::printing::clean_name;
use abx_report::{EXPORTERS, ExportedText, RecordPlace, ReportExtent, Style};
use abx_verdict::{ExpectationResult, StudyRecord};
use clap::{Arg, Args};
use serde::Serialize;

use crate::flags::saved_file::{SavedFile, file_with};
use crate::flags::units;
use crate::ui::end::{Failure, notify};
use crate::ui::otlp;

/// Where output goes, and how it looks.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputFlags {
    #[arg(
        long, value_name = "FILE|-", help = json_help("the record"),
        long_help = json_long_help("the record"), value_parser = record_file
    )]
    pub json: Option<String>,
    /// Print nothing on standard error except errors.
    #[arg(short, long)]
    pub quiet: bool,
    /// Do not use colour.
    #[arg(long)]
    pub no_color: bool,
}

/// The flag `--json` of a command that saves `what`.
pub fn saves(json: Arg, what: &str) -> Arg {
    let json = json.help(json_help(what));
    json.long_help(json_long_help(what))
}

fn json_help(what: &str) -> String {
    format!("Also save {what} as JSON; - prints only the JSON")
}

fn json_long_help(what: &str) -> String {
    format!(
        "Also save {what} as JSON to this file, compressed if its name ends in .zst; - prints the \
         JSON on standard output instead of the text"
    )
}

/// The text by which a person finds a record again.
#[derive(Debug, Clone, Args)]
pub struct LabelFlag {
    /// Save this text in the record, such as a version or a build number; `abx history` shows it
    /// and finds it.
    #[arg(long, help_heading = "Output", value_name = "TEXT", value_parser = units::label)]
    label: Option<String>,
}

impl LabelFlag {
    /// The text, if there is one.
    pub fn text(&self) -> Option<String> {
        self.label.clone()
    }
}

/// Formats of studies and of runs.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct FormatFlags {
    /// Write the report as one HTML page with plots.
    ///
    /// - as with --json.
    #[arg(long, value_name = "FILE|-")]
    pub html: Option<String>,
    /// Put the record into the HTML page, which a button of the page saves as a file.
    #[arg(long, requires = "html")]
    pub embed_record: bool,
    /// Write a Markdown summary for a pull request; - as with --json.
    #[arg(long, value_name = "FILE|-")]
    pub markdown: Option<String>,
    /// Write OpenMetrics text for Prometheus; - as with --json.
    #[arg(long, value_name = "FILE|-")]
    pub prometheus: Option<String>,
    /// Post metrics to an OpenTelemetry collector, such as http://127.0.0.1:4318.
    #[arg(long, value_name = "URL", value_parser = otlp::collector)]
    pub otlp: Option<Target>,
    /// Print the full report instead of the one-screen summary.
    #[arg(long)]
    pub full: bool,
    /// Append a glossary of the terms in the report.
    #[arg(long, conflicts_with = "full")]
    pub explain_terms: bool,
}

/// Formats of what was measured, and of what was expected.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct MeasuredFormatFlags {
    /// Write CSV with a row per slice (a run has one); - as with --json.
    #[arg(long, value_name = "FILE|-")]
    pub csv: Option<String>,
    /// Write response time percentiles in HdrHistogram format, one file per subject and load:
    /// out.hgrm becomes out.SUBJECT.LOAD.hgrm.
    #[arg(long, value_name = "FILE")]
    pub hgrm: Option<String>,
    /// Write the call chains that --why sampled, as flame graph tools read them: per chain a line
    /// SUBJECT;LOAD;FUNCTION;... COUNT; - as with --json.
    #[arg(long, value_name = "FILE|-")]
    pub folded: Option<String>,
    /// Write JUnit XML with a test case per comparison and expectation; - as with --json.
    #[arg(long, value_name = "FILE|-")]
    pub junit: Option<String>,
}

/// Reads the name of a record's file, and refuses the body of a request.
fn record_file(text: &str) -> Result<String, String> {
    if text.trim_start().starts_with(['{', '[']) {
        Err(
            "--json saves the record to a file, and this is a body of JSON: send it by -b, with -H \
             'Content-Type: application/json'"
                .to_owned(),
        )
    } else {
        Ok(text.to_owned())
    }
}

/// Formats that only a study has.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct StudyFormatFlags {
    /// Write a picture of the verdicts as SVG, for a README; - as with --json.
    #[arg(long, value_name = "FILE|-")]
    pub svg: Option<String>,
    /// Write CSV with a row per comparison; - as with --json.
    #[arg(long, value_name = "FILE|-")]
    pub csv_comparisons: Option<String>,
    #[command(flatten)]
    pub measured: MeasuredFormatFlags,
}

/// The output flags of a command, checked for conflicts.
pub struct Outputs<'a> {
    flags: &'a OutputFlags,
    formats: &'a FormatFlags,
    /// Every flag that names a place, with the place.
    places: Vec<(&'static str, &'a str)>,
}

/// Refuses two flags that write to the same place.
pub fn check_places(places: &[(&'static str, &str)]) -> Result<(), Failure> {
    for (index, (flag, place)) in places.iter().enumerate() {
        let mut before = places[..index].iter();
        if let Some((other, _)) = before.find(|(_, other)| other == place) {
            return Err(Failure::usage(format!(
                "{other} and {flag} both write to {}: give each its own file",
                destination(place)
            )));
        }
    }
    Ok(())
}

/// A text, and where it goes.
struct Document {
    flag: &'static str,
    place: String,
    text: String,
}

impl<'a> Outputs<'a> {
    /// The outputs of a command that also has `others`. Two formats in one place are refused,
    /// because they would overwrite each other.
    pub fn new(
        flags: &'a OutputFlags,
        formats: &'a FormatFlags,
        others: impl IntoIterator<Item = (&'static str, &'a str)>,
    ) -> Result<Outputs<'a>, Failure> {
        let record = flags.json.as_deref().map(|place| ("--json", place));
        let shared = record.into_iter().chain(formats.given());
        let places: Vec<_> = shared.chain(others).collect();
        check_places(&places)?;
        Ok(Outputs {
            flags,
            formats,
            places,
        })
    }

    fn is_given(&self, flag: &str) -> bool {
        self.places.iter().any(|(given, _)| *given == flag)
    }

    /// How much is printed.
    pub fn extent(&self) -> ReportExtent {
        match (self.formats.full, self.formats.explain_terms) {
            (true, _) => ReportExtent::Full,
            (false, true) => ReportExtent::Explained,
            (false, false) => ReportExtent::Brief,
        }
    }

    /// Prints the report of a record in this file, and writes all requested formats. A document
    /// that cannot be written does not stop the others.
    pub fn print(
        &self,
        report: &str,
        record: Judged,
        file: Option<&SavedFile>,
    ) -> Result<(), Failure> {
        let saved = self.flags.json.as_deref().filter(|place| *place != "-");
        let files = [saved.map(Path::new), file.map(|file| file.path.as_path())];
        let page = self.formats.html.as_deref();
        let file_name = page.and_then(|page| file_with(Path::new(page), files));
        let record_place = RecordPlace {
            name: file.map(|file| file.name.as_str()),
            file: file_name.as_deref(),
            is_embedded: self.formats.embed_record,
        };
        let documents: Vec<Document> = self
            .places
            .iter()
            .flat_map(|(flag, place)| documents(flag, place, record, record_place))
            .collect();
        let mut errors = write(report, &documents, self.flags);
        if self.is_given(FOLDED) && texts(FOLDED, record, record_place).is_empty() {
            errors.push("no call chain was sampled, so --folded has nothing to write".to_owned());
        }
        if let Some(collector) = &self.formats.otlp {
            for metrics in texts(OTLP, record, record_place) {
                let Err(why) = otlp::post(collector, &metrics.text) else {
                    continue;
                };
                errors.push(format!(
                    "cannot post the metrics to {}: {why}. Post them again with: abx report \
                     RECORD --otlp URL",
                    collector.url
                ));
            }
        }
        conclude(errors)
    }
}

/// A record with the results of its expectations.
pub type Judged<'a> = (&'a StudyRecord, &'a [ExpectationResult]);

/// The texts of a record in the format of a flag.
fn texts(flag: &str, (record, results): Judged, place: RecordPlace) -> Vec<ExportedText> {
    let exporter = EXPORTERS.iter().find(|exporter| exporter.flag == flag);
    exporter.map_or_else(Vec::new, |exporter| {
        (exporter.texts)(record, results, place)
    })
}

/// The documents of a flag: a single text goes to the place itself, and each of several to a file
/// of its own.
fn documents(
    flag: &'static str,
    place: &str,
    record: Judged,
    record_place: RecordPlace,
) -> Vec<Document> {
    let texts = texts(flag, record, record_place);
    let is_alone = texts.len() == 1;
    let document = |exported: ExportedText| Document {
        flag,
        place: match &exported.of {
            Some(names) if !is_alone => with_names(place, names),
            _ => place.to_owned(),
        },
        text: exported.text,
    };
    texts.into_iter().map(document).collect()
}

impl Document {
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
    /// The first of these flags that was given.
    pub fn first(&self) -> Option<&'static str> {
        self.given()
            .map(|(flag, _)| flag)
            .chain(self.posted())
            .next()
    }

    /// The first of these flags, except `--html`, that was given.
    pub fn first_but_html(&self) -> Option<&'static str> {
        self.given()
            .map(|(flag, _)| flag)
            .filter(|flag| *flag != HTML)
            .chain(self.posted())
            .chain(self.embed_record.then_some("--embed-record"))
            .next()
    }

    fn posted(&self) -> Option<&'static str> {
        self.otlp.as_ref().map(|_| OTLP)
    }

    /// The formats that were requested, each with its place.
    fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        given([
            (HTML, &self.html),
            ("--markdown", &self.markdown),
            ("--prometheus", &self.prometheus),
        ])
    }
}

impl MeasuredFormatFlags {
    /// Refuses a format of samples if nothing is sampled.
    pub fn refuse_unsampled(&self, is_sampled: bool) -> Result<(), Failure> {
        match self.folded {
            Some(_) if !is_sampled => Err(Failure::usage(
                "--folded writes the call chains that --why samples: add --why, or leave --folded \
                 out",
            )),
            _ => Ok(()),
        }
    }

    /// The formats that were requested, each with its place.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        given([
            ("--csv", &self.csv),
            ("--junit", &self.junit),
            ("--hgrm", &self.hgrm),
            (FOLDED, &self.folded),
        ])
    }
}

impl StudyFormatFlags {
    /// The first of these flags that was given.
    pub fn first(&self) -> Option<&'static str> {
        self.given().next().map(|(flag, _)| flag)
    }

    /// The first of these flags that was given and needs a comparison.
    pub fn first_of_comparisons(&self) -> Option<&'static str> {
        self.of_comparisons().next().map(|(flag, _)| flag)
    }

    /// The formats that were requested, each with its place.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.measured.given().chain(self.of_comparisons())
    }

    fn of_comparisons(&self) -> impl Iterator<Item = (&'static str, &str)> {
        given([
            ("--svg", &self.svg),
            ("--csv-comparisons", &self.csv_comparisons),
        ])
    }
}

fn given<'a, const N: usize>(
    pairs: [(&'static str, &'a Option<String>); N],
) -> impl Iterator<Item = (&'static str, &'a str)> {
    pairs
        .into_iter()
        .filter_map(|(flag, place)| Some((flag, place.as_deref()?)))
}

/// `out.hgrm` becomes `out.SUBJECT.LOAD.hgrm`.
fn with_names(place: &str, names: &[String; 2]) -> String {
    let names = names.each_ref().map(|name| file_name(name)).join(".");
    let path = PathBuf::from(place);
    let extension = path.extension().map(|ending| ending.to_string_lossy());
    let path = match extension {
        Some(extension) => path.with_extension(format!("{names}.{extension}")),
        None => PathBuf::from(format!("{place}.{names}")),
    };
    path.display().to_string()
}

/// A subject's or a load's name as a part of a file's name: not too long, and without characters
/// that have a meaning in paths and on terminals.
fn file_name(name: &str) -> String {
    let mut part = clean_name(name).replace(['/', '\u{fffd}'], "_");
    while part.len() > NAME_BYTES_MAX {
        part.pop();
    }
    part
}

/// Two names, and the one that the user gave, fit into the 255 bytes of a file's name.
const NAME_BYTES_MAX: usize = 80;

fn destination(place: &str) -> &str {
    match place {
        "-" => "standard output",
        place => place,
    }
}

/// The flag for the HTML page.
pub const HTML: &str = "--html";
const OTLP: &str = "--otlp";
const FOLDED: &str = "--folded";

/// Prints a report that has no other formats, or the record itself with `--json -`.
pub fn print(report: &str, record: &impl Serialize, flags: &OutputFlags) -> Result<(), Failure> {
    print_with(report, record, flags, [])
}

/// Like [`print()`], with other formats: the flag, the place and the text of each.
pub fn print_with<'a>(
    report: &str,
    record: &impl Serialize,
    flags: &OutputFlags,
    others: impl IntoIterator<Item = (&'static str, &'a str, String)>,
) -> Result<(), Failure> {
    let others = others.into_iter().map(|(flag, place, text)| Document {
        flag,
        place: place.to_owned(),
        text,
    });
    let mut documents: Vec<Document> = others.collect();
    if let Some(place) = &flags.json {
        let text = serde_json::to_string(record)
            .map_err(|error| Failure::no_claim(format!("cannot write the record: {error}")))?;
        documents.push(Document {
            flag: "--json",
            place: place.clone(),
            text: text + "\n",
        });
    }
    conclude(write(report, &documents, flags))
}

/// Writes the report and the documents, each even if others fail; returns the errors.
fn write(report: &str, documents: &[Document], flags: &OutputFlags) -> Vec<String> {
    let mut errors = Vec::new();
    if documents.iter().any(|document| document.place == "-") {
        if !flags.quiet {
            notify(report.trim_end());
        }
    } else {
        errors.extend(to_stdout(report).err());
    }
    errors.extend(
        documents
            .iter()
            .filter_map(|document| document.write().err()),
    );
    errors
}

fn conclude(errors: Vec<String>) -> Result<(), Failure> {
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Failure::no_claim(errors.join("\nabx: ")))
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

/// The width of a report: as the environment sets it, else that of the terminal, else 80 columns.
fn columns(requested: Option<&str>, terminal: Option<u16>) -> usize {
    let requested = requested.and_then(|text| text.parse().ok());
    let count = requested.or(terminal).filter(|columns| *columns > 0);
    count.map_or(COLUMNS, |columns| usize::from(columns).min(COLUMNS_MAX))
}

/// The width if neither the environment nor the terminal sets one.
const COLUMNS: usize = 80;
/// Longer lines are hard to read.
const COLUMNS_MAX: usize = 120;

/// Prints a text, and flushes it.
pub fn to_stdout(text: &str) -> Result<(), String> {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        // The reader, such as `head`, wants no more.
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
        // Method: the columns of the environment, and those of the terminal, alone and together.
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
        for (set, terminal, expected) in table {
            assert_eq!(columns(set, terminal), expected, "{set:?} {terminal:?}");
        }
    }

    #[test]
    fn every_output_flag_has_an_exporter() {
        // Method: all flags at once, compared with the list of exporters.
        let file = || Some("file".to_owned());
        let formats = FormatFlags {
            html: file(),
            embed_record: false,
            markdown: file(),
            prometheus: file(),
            otlp: otlp::collector("http://127.0.0.1:4318").ok(),
            full: false,
            explain_terms: false,
        };
        let study = StudyFormatFlags {
            svg: file(),
            csv_comparisons: file(),
            measured: MeasuredFormatFlags {
                csv: file(),
                hgrm: file(),
                junit: file(),
                folded: file(),
            },
        };
        let mut flags: Vec<&str> = formats
            .given()
            .chain(study.given())
            .map(|(flag, _)| flag)
            .chain(formats.posted())
            .chain(["--json"])
            .collect();
        let mut known = EXPORTERS.map(|exporter| exporter.flag);
        flags.sort_unstable();
        known.sort_unstable();
        assert_eq!(flags, known);
    }

    #[test]
    fn names_are_inserted_before_the_extension() {
        // Method: files with and without an extension; names with a slash and control characters.
        assert_eq!(
            with_names("a/b.hgrm", &["old", "c50"].map(str::to_owned)),
            "a/b.old.c50.hgrm"
        );
        assert_eq!(
            with_names("b.hgrm", &["../a\nb\u{1b}", "c"].map(str::to_owned)),
            "b..._a_b_.c.hgrm"
        );
        assert_eq!(
            with_names("a.d/b", &["old", "c50"].map(str::to_owned)),
            "a.d/b.old.c50"
        );
        assert_eq!(
            with_names("b.h", &["x/y", "c50"].map(str::to_owned)),
            "b.x_y.c50.h"
        );
    }
}
