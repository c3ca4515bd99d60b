//! `abx history`: lists saved records.

use std::path::{Path, PathBuf};

use abx_lab::history::{
    AddError, Added, Adding, Archive, HistoryError, Query, SEARCHES, resolve, short_id_of_file,
};
use abx_lab::{Store, read_text, state_folder};
use abx_verdict::trend::Trend;
use clap::{Args, Subcommand};

use crate::commands::saved;
use crate::flags::metric::MetricName;
use crate::flags::output::{self, OutputFlags, print, style};
use crate::flags::saved_file::SavedFile;
use crate::flags::units;
use crate::ui::end::{End, Failure, notify};

/// List saved records.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx history\n  \
    abx history nginx --limit 5\n  \
    abx history add artifacts/*.json.zst\n  \
    abx history --trend nginx-sendfile\n  \
    abx report last\n\n\
    Name a record by its id, or by at least the first four characters of the id. last is the \
    newest record, and last~1 the one before it.")]
#[command(args_conflicts_with_subcommands = true)]
#[command(mut_arg("json", |json| output::saves(json, "the list or the trend")))]
pub struct HistoryArgs {
    #[command(subcommand)]
    command: Option<HistoryCommand>,
    /// Only records with this text in label, study, subject, load, file name or id.
    ///
    /// A subject matches by name, version, command or address.
    #[arg(value_name = "SUBJECT|TEXT")]
    text: Option<String>,
    /// Most records to list [default: 20; of a trend: 200].
    #[arg(long, value_name = "N", value_parser = units::whole_number::<usize>(1.., 20))]
    limit: Option<usize>,
    /// Show how the figures of a study changed.
    ///
    /// Prints the figures from record to record, and where their level changes. STUDY is the name
    /// of a study file, or of a subject of the command line.
    #[arg(long, value_name = "STUDY", conflicts_with_all = ["text", "all"])]
    trend: Option<String>,
    /// Metric of the trend [default: throughput; under a rate: p99].
    #[arg(long, value_enum, requires = "trend")]
    metric: Option<MetricName>,
    /// Write the trend as an HTML page; - as with --json.
    #[arg(
        long,
        help_heading = "Output",
        value_name = "FILE|-",
        requires = "trend"
    )]
    html: Option<String>,
    /// Write the trend as Markdown; - as with --json.
    #[arg(
        long,
        help_heading = "Output",
        value_name = "FILE|-",
        requires = "trend"
    )]
    markdown: Option<String>,
    /// Also list studies that failed before measuring.
    #[arg(long)]
    all: bool,
    /// Rebuild the index from all records.
    #[arg(long)]
    rebuild: bool,
    #[command(flatten)]
    output: OutputFlags,
}

/// What else can be done with the records.
#[derive(Debug, Subcommand)]
enum HistoryCommand {
    /// Add records from elsewhere, such as those of CI jobs.
    Add(HistoryAdd),
}

/// Add records from elsewhere, such as those of CI jobs.
///
/// Each is copied. A record that is already there is not added again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx history add record.json\n  \
    abx history add artifacts/*.json.zst\n\n\
    Exit codes: 0 every record is there; 2 a file is not a record; 3 a record cannot be written.")]
struct HistoryAdd {
    /// Records that `abx compare`, `abx run` or `abx bisect` saved, at most 1,000.
    #[arg(required = true, value_name = "FILE", num_args = 1..=FILES_MAX)]
    files: Vec<PathBuf>,
}

/// The most files that one command adds.
const FILES_MAX: usize = 1_000;

/// Brings the index up to date and prints the list.
pub fn history(history: &HistoryArgs) -> Result<End, Failure> {
    match &history.command {
        Some(HistoryCommand::Add(flags)) => add(flags),
        None => {
            check_without_trend(history)?;
            list(history)
        }
    }
}

// clap drops `requires` if a flag that is given excludes the required one.
/// Refuses flags about a trend if no trend is requested.
fn check_without_trend(history: &HistoryArgs) -> Result<(), Failure> {
    let flags = [
        ("--metric", history.metric.is_some()),
        (output::HTML, history.html.is_some()),
        ("--markdown", history.markdown.is_some()),
    ];
    match flags.into_iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) if history.trend.is_none() => Err(Failure::usage(format!(
            "{flag} needs the trend of a study: name one with --trend STUDY, or leave {flag} out"
        ))),
        _ => Ok(()),
    }
}

/// Adds every file that is a record, and reports the result for each.
fn add(flags: &HistoryAdd) -> Result<End, Failure> {
    let archive = Archive::open(&state_folder()).map_err(Failure::usage)?;
    let mut adding = archive.adding().map_err(Failure::no_claim)?;
    let mut end = End::Done;
    for file in &flags.files {
        let shown = file.display();
        let line = match add_file(&mut adding, file) {
            Ok(Added::New { id }) => format!("{shown}: added as {id}\n"),
            Ok(Added::Known { id }) => format!("{shown}: already there as {id}\n"),
            Err(failure) => {
                notify(&format!("abx: {}", failure.message));
                end = failure.end;
                continue;
            }
        };
        output::to_stdout(&line).map_err(Failure::no_claim)?;
    }
    // The next list finds the records in any case; updating the index now makes it faster.
    if let Err(error) = Archive::open(&state_folder()) {
        notify(&format!("abx: {error}"));
    }
    Ok(end)
}

fn add_file(adding: &mut Adding, file: &Path) -> Result<Added, Failure> {
    // Only a record that `abx report` can read is added.
    saved::read(file)?;
    let text = read_text(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))?;
    adding.add(&text).map_err(|error| match error {
        AddError::NoRecord(error) => Failure::usage(format!(
            "{} cannot be added ({error}): give a file that `abx compare`, `abx run` or `abx bisect` \
             saved",
            file.display()
        )),
        error @ AddError::Write { .. } => Failure::no_claim(error),
    })
}

fn list(history: &HistoryArgs) -> Result<End, Failure> {
    let folder = state_folder();
    let archive = if history.rebuild {
        Archive::rebuild(&folder)
    } else {
        Archive::open(&folder)
    };
    let archive = archive.map_err(Failure::usage)?;
    if let Some(problem) = archive.problem() {
        notify(&format!("abx: {problem}"));
    }
    if let Some(study) = &history.trend {
        return trend(history, &archive, study);
    }
    let query = Query {
        text: history.text.clone(),
        limit: Some(history.limit.unwrap_or(LISTED)),
        with_unmeasured: history.all,
    };
    let listed = archive.list(&query).map_err(Failure::no_claim)?;
    let text = abx_report::history_text(&listed, &style(&history.output));
    print(&text, &listed, &history.output)?;
    Ok(End::Done)
}

/// Prints how the figures of a study changed.
fn trend(history: &HistoryArgs, archive: &Archive, study: &str) -> Result<End, Failure> {
    let flags = &history.output;
    let formats = [
        (
            output::HTML,
            &history.html,
            abx_report::trend_html as fn(&Trend) -> String,
        ),
        ("--markdown", &history.markdown, abx_report::trend_markdown),
    ];
    let formats = formats
        .into_iter()
        .filter_map(|(flag, place, text)| Some((flag, place.as_deref()?, text)));
    let json = flags.json.iter().map(|place| ("--json", place.as_str()));
    let places = formats.clone().map(|(flag, place, _)| (flag, place));
    output::check_places(&json.chain(places).collect::<Vec<_>>())?;
    let metric = history.metric.map(MetricName::metric);
    let limit = history.limit.unwrap_or(TREND_RECORDS);
    let trend = archive
        .trend(study, metric, limit)
        .map_err(Failure::usage)?;
    let text = abx_report::trend_text(&trend, &style(flags));
    let formats = formats.map(|(flag, place, text)| (flag, place, text(&trend)));
    output::print_with(&text, &trend, flags, formats)?;
    Ok(End::Done)
}

/// How many records are listed by default.
const LISTED: usize = 20;
/// How many records a trend has by default: as many as in the simulations of its method.
const TREND_RECORDS: usize = 200;

/// The record that a word names: a file, the id of a saved record, or `last`.
pub fn record_path(word: &str) -> Result<PathBuf, Failure> {
    resolve(word, &state_folder()).map_err(Failure::usage)
}

/// The name of a record that was saved: its id, or its path if the history does not list it.
pub fn name_of(store: &Store) -> String {
    match listed_name(store.path()) {
        Some(name) => short_id_of_file(&name),
        None => store.path().display().to_string(),
    }
}

/// The name of a file in the history; `None` if the history does not list it.
fn listed_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent()?.canonicalize().ok()?;
    let archive = state_folder().canonicalize().ok()?;
    if folder == archive {
        Some(name.to_owned())
    } else if folder == archive.join(SEARCHES) {
        Some(format!("{SEARCHES}/{name}"))
    } else {
        None
    }
}

/// Prints how to find a record again, and why it is not in its usual place, if so.
pub fn print_place(store: &Store) {
    if let Some(why) = store.moved() {
        notify(&format!("abx: {why}"));
    }
    let name = name_of(store);
    notify(&format!(
        "Record: {name}\nPrint it again with: abx report {name}"
    ));
}

/// The file of a record that was saved.
pub fn file_of(store: &Store) -> SavedFile {
    saved_file(store.path())
}

/// A record's file, named by its id if the history lists it, otherwise by its own name.
pub fn saved_file(path: &Path) -> SavedFile {
    let file_name = || path.file_name().unwrap_or_default().to_string_lossy();
    let id = listed_name(path).map(|name| short_id_of_file(&name));
    SavedFile {
        name: id.unwrap_or_else(|| file_name().into_owned()),
        path: path.to_owned(),
    }
}

/// Adds a record that was saved to the index. The record itself is safe already, so a failure is
/// only reported.
pub fn note(store: &Store) {
    if store.moved().is_some() {
        // The record is outside the history, which was reported.
        return;
    }
    let problem = match Archive::open(&state_folder()) {
        Ok(archive) => archive.problem().map(HistoryError::to_string),
        Err(error) => Some(error.to_string()),
    };
    if let Some(problem) = problem {
        notify(&format!("abx: {problem}"));
    }
}
