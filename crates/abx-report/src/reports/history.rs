//! Lists of records, in a terminal and as a page.

use std::fmt::Write;

use abx_verdict::bisect::BisectConclusion;
use abx_verdict::history::{Entry, History, OutlineComparison, RecordKind, UnreadFile};
use abx_verdict::{Metric, Verdict};

use crate::html::markup::{Element, Markup, element, missing, note, quoting, scrolling};
use crate::html::page::Page;
use crate::html::sign::sign;
use crate::words::metrics::metric_name;
use crate::words::style::Style;
use crate::words::units::{UNKNOWN, count, figure, moment, or_unknown, plural, ratios};
use crate::words::verdict::word;
use crate::words::wrap::{clean_name, columns, shorten, wrap};

/// The cells of a record's line.
pub(crate) type Cells = [String; COLUMNS];

pub(crate) fn cells(entry: &Entry) -> Cells {
    let outline = &entry.outline;
    let subjects = outline.subjects.iter();
    let subjects: Vec<String> = subjects.map(|subject| clean_name(&subject.name)).collect();
    let loads = match (&outline.loads[..], &outline.search) {
        (_, Some(search)) => plural(search.commits as u64, "commit"),
        ([only], None) => clean_name(only),
        (several, None) => plural(several.len() as u64, "load"),
    };
    let blocks = match outline.kind {
        RecordKind::Study | RecordKind::Bisect => count(outline.blocks as u64),
        RecordKind::Run => UNKNOWN.to_owned(),
    };
    [
        entry.id.clone(),
        moment(outline.started_unix_ms),
        subjects.join(", "),
        loads,
        verdict(entry),
        blocks,
    ]
}

/// The result in short: a verdict, the end of a search, or the throughput of a run.
fn verdict(entry: &Entry) -> String {
    let outline = &entry.outline;
    if let Some(search) = &outline.search {
        return match &outline.comparisons[..] {
            [commit] => one_verdict(commit),
            _ => ending(search.conclusion.as_ref()).to_owned(),
        };
    }
    match (&outline.comparisons[..], outline.kind) {
        ([], RecordKind::Run) => or_unknown(outline.throughput_per_s, |rate| {
            format!("{}/s", figure(rate))
        }),
        ([], RecordKind::Study | RecordKind::Bisect) => UNKNOWN.to_owned(),
        ([only], _) => one_verdict(only),
        (several, _) => plural(several.len() as u64, "verdict"),
    }
}

/// How a search for a commit ended, in a word or two.
fn ending(conclusion: Option<&BisectConclusion>) -> &'static str {
    match conclusion {
        None => "unfinished",
        Some(BisectConclusion::Culprit { .. }) => "found",
        Some(BisectConclusion::NothingToFind) => "nothing to find",
        Some(BisectConclusion::NotConfirmed { .. } | BisectConclusion::Spread { .. }) => {
            "no single commit"
        }
        Some(BisectConclusion::Undecided { .. }) => "undecided",
        Some(BisectConclusion::AllSkipped { .. }) => "one of several",
    }
}

/// The number of each verdict, if there are several comparisons: they would not fit into the
/// column.
pub(crate) fn verdicts(entry: &Entry) -> Option<String> {
    let outline = &entry.outline;
    if outline.comparisons.len() < 2 {
        return None;
    }
    let counts = outline.verdicts();
    let texts = counts
        .iter()
        .map(|(verdict, times)| format!("{} {}", count(*times as u64), word(*verdict)));
    Some(texts.collect::<Vec<_>>().join(", "))
}

fn one_verdict(comparison: &OutlineComparison) -> String {
    let bounds = comparison.low.zip(comparison.high);
    let ratio = comparison.ratio.zip(bounds);
    match ratio.filter(|_| comparison.verdict != Verdict::Inconclusive) {
        Some((ratio, (low, high))) => {
            let [ratio, ..] = ratios([ratio, low, high]);
            // The column is narrow, so metrics other than throughput have short names.
            let metric = match comparison.metric {
                Metric::Throughput => "",
                Metric::ServerCpu => " CPU",
                Metric::ResponseP50 => " p50",
                Metric::ResponseP90 => " p90",
                Metric::ResponseP99 => " p99",
                Metric::ResponseP999 => " p99.9",
                metric => &format!(" {}", metric_name(metric)),
            };
            format!("{ratio} {}{metric}", word(comparison.verdict))
        }
        None => word(comparison.verdict).to_owned(),
    }
}

pub(crate) const COLUMNS: usize = 6;
pub(crate) const COLUMN_NAMES: [&str; COLUMNS] =
    ["id", "when (UTC)", "subjects", "loads", "verdict", "blocks"];

/// The list of records, ready to be printed.
#[must_use]
pub fn history_text(history: &History, style: &Style) -> String {
    let mut out = String::new();
    let folder = clean_name(&history.folder);
    let head = match history.entries.len() {
        0 => format!("No matching record in {folder}"),
        _ => format!("Records in {folder}, newest first:"),
    };
    out.push_str(&style.paragraph(&head));
    if !history.entries.is_empty() {
        out.push_str(&rows(&history.entries, style));
    }
    let mut add = |text: &str| out.push_str(&style.paragraph(text));
    if history.left_out > 0 {
        let more = count(history.left_out as u64);
        add(&format!("{more} more: show them with `--limit N`."));
    }
    if history.unmeasured > 0 {
        let failed = match history.unmeasured {
            1 => "1 study failed before anything was measured: show it with `--all`.".to_owned(),
            several => format!(
                "{} studies failed before anything was measured: show them with `--all`.",
                count(several as u64)
            ),
        };
        add(&failed);
    }
    for unread in &history.unread {
        let [file, why] = [&unread.file, &unread.why].map(|text| clean_name(text));
        add(&format!("{file} is not listed: {why}."));
    }
    style.finish(&out)
}

fn rows(entries: &[Entry], style: &Style) -> String {
    let headers = COLUMN_NAMES.map(str::to_owned);
    let lines: Vec<Cells> = entries.iter().map(cells).collect();
    let widest = |column: usize| {
        let lines = std::iter::once(&headers).chain(&lines);
        let widths = lines.map(|cells| columns(&cells[column]));
        widths.max().unwrap_or(0)
    };
    let mut widths: [usize; COLUMNS] = std::array::from_fn(widest);
    let room = style.columns().saturating_sub(GAP.len() * (COLUMNS - 1));
    let urls = lines.iter().map(|cells| &cells[SUBJECTS]);
    let hosts = urls
        .filter(|text| text.contains("://"))
        .map(|url| columns(host(url)));
    share_out(&mut widths, room, hosts.max().unwrap_or(1).min(HOST_WIDTH));
    let mut out = String::new();
    line(&mut out, &headers, &widths);
    for (cells, entry) in lines.iter().zip(entries) {
        line(&mut out, cells, &widths);
        let below = format!("{}{GAP}", " ".repeat(widths[0]));
        let mut file = file_and_label(entry);
        if let Some(verdicts) = verdicts(entry) {
            file.push_str(&format!(": {verdicts}"));
        }
        out.push_str(&wrap(&file, &below, &below, style.columns()));
    }
    out
}

/// The label and the file of a record, and the commit that a search found.
fn file_and_label(entry: &Entry) -> String {
    let mut file = clean_name(&entry.file);
    if let (Some(_), [commit]) = (&entry.outline.search, &entry.outline.comparisons[..]) {
        file.push_str(&format!(": commit {}", clean_name(&commit.subject)));
    }
    match &entry.outline.label {
        Some(label) => format!("\"{}\" {file}", clean_name(label)),
        None => file,
    }
}

/// Narrows the widest of the columns that may be shortened until all fit. Subjects keep room for a
/// host if possible.
fn share_out(widths: &mut [usize; COLUMNS], room: usize, host: usize) {
    for least in [host, 1] {
        let least_of = |column: usize| if column == SUBJECTS { least } else { 1 };
        while widths.iter().sum::<usize>() > room {
            let wide = SHORTENED
                .into_iter()
                .filter(|column| widths[*column] > least_of(*column));
            match wide.max_by_key(|column| widths[*column]) {
                Some(column) => widths[column] -= 1,
                None => break,
            }
        }
    }
}

/// A URL's host and port; the whole of any other text.
fn host(text: &str) -> &str {
    match text.split_once("://") {
        Some((_, rest)) => rest.split(['/', '?']).next().unwrap_or(rest),
        None => text,
    }
}

/// Subjects in `width` columns. A URL loses its scheme and its path before its host and port,
/// which distinguish servers.
fn shorten_subjects(text: &str, width: usize) -> String {
    let host = host(text);
    if columns(text) <= width || host.len() == text.len() || text.contains(", ") {
        return shorten(text, width);
    }
    let path = text.split_once(host).map_or("", |(_, path)| path);
    let room = width.saturating_sub(columns(host));
    let path = if columns(path) <= room {
        path.to_owned()
    } else if room > 1 {
        shorten(path, room)
    } else {
        String::new()
    };
    // A host without room keeps its end, which has the port.
    let host: Vec<char> = host.chars().collect();
    if host.len() <= width {
        host.into_iter().chain(path.chars()).collect()
    } else {
        let end = &host[host.len() - width.saturating_sub(1)..];
        std::iter::once(&'…').chain(end).collect()
    }
}

/// Writes one line, with the last column on the right.
fn line(out: &mut String, cells: &Cells, widths: &[usize; COLUMNS]) {
    let mut text = String::new();
    for (column, (cell, width)) in cells.iter().zip(*widths).enumerate() {
        let gap = if column == 0 { "" } else { GAP };
        let cell = match column {
            SUBJECTS => shorten_subjects(cell, width),
            _ => shorten(cell, width),
        };
        let padding = " ".repeat(width.saturating_sub(columns(&cell)));
        let written = if column == COLUMNS - 1 {
            write!(text, "{gap}{padding}{cell}")
        } else {
            write!(text, "{gap}{cell}{padding}")
        };
        written.expect("a string takes everything");
    }
    out.push_str(text.trim_end());
    out.push('\n');
}

/// The columns that may be shortened: subjects, loads and verdict.
const SHORTENED: [usize; 3] = [SUBJECTS, 3, 4];
const SUBJECTS: usize = 2;
/// The widest host for which other columns are shortened first.
const HOST_WIDTH: usize = 30;
const GAP: &str = "  ";

/// The source of the records of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed<'a> {
    /// The folder of all records.
    Folder {
        /// The text that was searched for; `None` for all records.
        text: Option<&'a str>,
    },
    /// Records that the user named.
    Named,
}

/// The list as an HTML page; its links lead to `/record/ID`, and its form to
/// `/side?ids=ID&ids=ID` and `/?text=TEXT`.
#[must_use]
pub fn index_html(history: &History, listed: Listed<'_>) -> String {
    let from = match listed {
        Listed::Folder { .. } => {
            format!("Records in {}, newest first.", clean_name(&history.folder))
        }
        Listed::Named => "The given records, newest first.".to_owned(),
    };
    let sections = [
        ("records", "Newest first", records(history, listed)),
        ("unread", "Not listed", unread(&history.unread)),
    ];
    Page::new("abx records".to_owned(), &from, sections).html()
}

/// A page with the reason why there is no other page. Text in backticks is to be typed.
#[must_use]
pub fn notice_html(title: &str, text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let paragraphs = lines.map(|line| element("p").add(quoting(line)));
    let back = element("p").add(element("a").with("href", "/").text("All records"));
    let body = paragraphs.chain([back]).collect();
    let section = ("notice", "What happened", body);
    Page::new(title.to_owned(), "", [section]).html()
}

fn records(history: &History, listed: Listed<'_>) -> Markup {
    let mut out = Markup::new();
    if let Listed::Folder { text } = listed {
        out.push(search(text.unwrap_or_default()));
    }
    if history.entries.is_empty() {
        let none = "No matching record. `abx compare` and `abx run` save one for each \
                    measurement.";
        out.push(element("p").add(quoting(none)));
        return out;
    }
    let button = element("button").with("type", "submit");
    let form = element("form")
        .with("action", "/side")
        .add(table(&history.entries))
        .add(element("p").add(button.text("Show the selected records side by side")));
    out.push(form);
    if history.left_out > 0 {
        let more = count(history.left_out as u64);
        let text = format!("{more} more: search for a subject, a load or a file to see them.");
        out.push(note(&text));
    }
    out
}

fn search(text: &str) -> Element {
    let field = element("input")
        .with("type", "search")
        .with("name", "text")
        .with("value", text);
    let label = element("label").text("A subject, its version, a load, a file or an id: ");
    let button = element("button").with("type", "submit").text("Search");
    element("form")
        .with("action", "/")
        .with("role", "search")
        .add(element("p").add(label.add(field)).text(" ").add(button))
}

fn table(entries: &[Entry]) -> Element {
    let header = |text: &str| element("th").with("scope", "col").text(text);
    let mut heads = vec![header("mark")];
    heads.extend(COLUMN_NAMES.map(header));
    heads.push(header("file"));
    let caption = "Records and their verdicts";
    let table = element("table")
        .add(element("caption").text(caption))
        .add(element("thead").add(element("tr").add_all(heads)))
        .add(element("tbody").add_all(entries.iter().map(row)));
    scrolling(caption, table)
}

fn row(entry: &Entry) -> Element {
    let [id, when, subjects, loads, verdict, blocks] = cells(entry);
    let mark = element("input")
        .with("type", "checkbox")
        .with("name", "ids")
        .with("value", &id)
        .with("aria-label", format!("Mark {id}"));
    let link = element("a").with("href", format!("/record/{id}")).text(&id);
    let cell = |text: &str| element("td").isolated(text);
    let only = match &entry.outline.comparisons[..] {
        [only] => Some(only.verdict),
        _ => None,
    };
    element("tr")
        .add(element("td").add(mark))
        .add(element("th").with("scope", "row").add(link))
        .add(cell(&when).class("when"))
        .add(cell(&subjects))
        .add(cell(&loads))
        .add(signed(only, &verdicts(entry).unwrap_or(verdict)))
        .add(cell(&blocks).class("figure"))
        .add(cell(&file_and_label(entry)).class("file"))
}

fn signed(verdict: Option<Verdict>, text: &str) -> Element {
    let cell = element("td").add_all(verdict.map(sign));
    cell.text(text)
}

fn unread(files: &[UnreadFile]) -> Markup {
    missing(files.iter().map(|unread| {
        let why = format!(" is not listed: {}.", clean_name(&unread.why));
        (clean_name(&unread.file), why)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_is_too_long_keeps_its_host_and_port() {
        // Method: a URL in less and less room, one without a path, and names of subjects.
        let url = "http://127.0.0.1:3000/items/of/a/shop";
        for (width, shown) in [
            (37, url),
            (36, "127.0.0.1:3000/items/of/a/shop"),
            (30, "127.0.0.1:3000/items/of/a/shop"),
            (24, "127.0.0.1:3000/item…shop"),
            (16, "127.0.0.1:3000/…"),
            (14, "127.0.0.1:3000"),
            (8, "….1:3000"),
        ] {
            assert_eq!(shorten_subjects(url, width), shown, "{width}");
            assert!(columns(shown) <= width);
        }
        assert_eq!(
            shorten_subjects("ws://127.0.0.1:8090", 15),
            "127.0.0.1:8090"
        );
        assert_eq!(
            shorten_subjects("event, thread", 7),
            shorten("event, thread", 7)
        );
    }

    #[test]
    fn other_columns_are_shortened_before_a_host_is() {
        // Method: wide subjects, loads and verdicts, with room for the host and without.
        let mut widths = [6, 16, 40, 60, 40, 6];
        share_out(&mut widths, 80, 20);
        assert_eq!(widths[SUBJECTS], 20);
        assert_eq!(widths.iter().sum::<usize>(), 80);
        let mut widths = [6, 16, 40, 60, 40, 6];
        share_out(&mut widths, 40, 30);
        assert_eq!(widths.iter().sum::<usize>(), 40);
    }
}
