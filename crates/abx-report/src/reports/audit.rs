//! What reports of other tools say, in words and cells that all pages of them share.

use std::collections::BTreeMap;

use abx_audit::{
    Audit, AuditFinding, AuditFindingId, AuditedFile, FigureKey, LoadTool, ToolReport,
};
use abx_evidence::Level;

use crate::document::Table;
use crate::words::style::{Style, Tint};
use crate::words::units::{GLUE, UNKNOWN, plural};
use crate::words::wrap::{clean, clean_name, wrap};

/// What the cells of a report are called.
pub(crate) const FIGURE_HEADERS: [&str; 6] = [
    "report",
    "requests/s",
    "connections",
    "responses",
    "s",
    "mean ms",
];

/// A report's figures as they were printed.
pub(crate) fn figure_cells(report: &ToolReport) -> [String; 6] {
    let printed = |key: FigureKey| {
        let figure = report.figures.get(&key);
        figure.map_or_else(|| UNKNOWN.to_owned(), |figure| clean_name(&figure.printed))
    };
    let rate = report.rate();
    let rate = rate.map_or_else(|| UNKNOWN.to_owned(), |rate| clean_name(&rate.printed));
    let connections = match report.tool {
        LoadTool::Httperf => FigureKey::ConnectionsMost,
        _ => FigureKey::Connections,
    };
    [
        clean_name(&report.name),
        rate,
        printed(connections),
        printed(FigureKey::Completed),
        seconds(report),
        mean(report),
    ]
}

/// Where a report stands.
pub(crate) fn place(report: &ToolReport) -> String {
    span(&report.file, report.line, report.last_line)
}

/// Lines of a file.
pub(crate) fn span(file: &str, first: usize, last: usize) -> String {
    let file = clean_name(file);
    match first == last {
        true => format!("{file}:{first}"),
        false => format!("{file}:{first}-{last}"),
    }
}

/// The duration in seconds.
fn seconds(report: &ToolReport) -> String {
    let elapsed = report.figures.get(&FigureKey::Elapsed);
    elapsed.map_or_else(|| UNKNOWN.to_owned(), |elapsed| trimmed(elapsed.value))
}

/// The mean time in ms; tables have no unit.
fn mean(report: &ToolReport) -> String {
    let mean = report.figures.get(&FigureKey::Mean);
    let mean = mean.filter(|_| report.tool != LoadTool::Table);
    mean.map_or_else(|| UNKNOWN.to_owned(), |mean| trimmed(1e3 * mean.value))
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What a finding says, and the lines that it rests on.
pub(crate) fn told_with_lines(finding: &AuditFinding, audit: &Audit) -> String {
    format!("{} ({})", told(finding, audit), rests_on(finding, audit))
}

/// What a finding says, and of whom where it does not say that itself.
fn told(finding: &AuditFinding, audit: &Audit) -> String {
    use AuditFindingId::{
        DifferentBodies, DifferentHeads, DifferentRuns, DifferentUnderWay, SmallDifference,
    };
    let names_them = [
        DifferentBodies,
        DifferentHeads,
        DifferentRuns,
        DifferentUnderWay,
        SmallDifference,
    ];
    match finding.reports.len() {
        _ if names_them.contains(&finding.id) => finding.message.clone(),
        1 if audit.reports.len() == 1 => finding.message.clone(),
        all if all == audit.reports.len() && all > 1 => format!("all: {}", finding.message),
        _ => format!("{}: {}", finding.reports.join(", "), finding.message),
    }
}

/// The lines of a finding: once, where they are the same in all of its files.
fn rests_on(finding: &AuditFinding, audit: &Audit) -> String {
    let mut by_file: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for place in &finding.rests_on {
        let lines = by_file.entry(&place.file).or_default();
        let line = place.line.to_string();
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let lists: Vec<String> = by_file.values().map(|lines| lines.join(", ")).collect();
    let noun = |lines: &str| {
        if lines.contains(", ") {
            "lines"
        } else {
            "line"
        }
    };
    match &lists[..] {
        [one] if audit.files.len() == 1 || finding.reports.len() == 1 => {
            format!("{} {one}", noun(one))
        }
        [one, rest @ ..] if !rest.is_empty() && rest.iter().all(|other| other == one) => {
            format!("{} {one} of each", noun(one))
        }
        _ => {
            let each = by_file
                .iter()
                .map(|(file, lines)| format!("{} {}", called(file, audit), lines.join(", ")));
            format!("lines: {}", each.collect::<Vec<_>>().join("; "))
        }
    }
}

/// The name of a file's only report, else of the file.
fn called<'a>(file: &'a str, audit: &'a Audit) -> &'a str {
    let mut own = audit.reports.iter().filter(|report| report.file == file);
    match (own.next(), own.next()) {
        (Some(only), None) => &only.name,
        _ => file,
    }
}

/// The report of an audit, ready to be printed.
#[must_use]
pub fn audit_text(audit: &Audit, style: &Style) -> String {
    let mut sections = vec![headline(audit, style)];
    if !audit.reports.is_empty() {
        sections.push(figures(audit, style));
        sections.push(findings(audit, style));
        sections.push(conclusions(audit, style));
    }
    sections.extend(audit.study.iter().map(|study| settling(study, style)));
    style.finish(&sections.join("\n"))
}

/// How many reports there are and of which tools, and what cannot be read.
fn headline(audit: &Audit, style: &Style) -> String {
    let mut counts: BTreeMap<LoadTool, u64> = BTreeMap::new();
    for report in &audit.reports {
        *counts.entry(report.tool).or_default() += 1;
    }
    let counted = counts.iter().map(|(tool, count)| match tool {
        LoadTool::Table => format!("{} of a table", plural(*count, "row")),
        tool => format!("{} of {}", plural(*count, "report"), tool.name()),
    });
    let counted: Vec<String> = counted.collect();
    let files = plural(audit.files.len() as u64, "file");
    let text = match counted.is_empty() {
        true => format!("No report of a load generator in {files}."),
        false => format!("{} in {files}.", counted.join(", ")),
    };
    let mut out = style.paragraph(&text);
    for file in &audit.files {
        out.push_str(&unread(file, style));
    }
    out
}

fn unread(file: &AuditedFile, style: &Style) -> String {
    let name = clean_name(&file.file);
    let mut out = String::new();
    let why = match (file.is_text, file.reports) {
        (false, _) => Some("it is no text".to_owned()),
        (true, 0) => Some(format!(
            "no report in {}: known are those of ab, httperf, wrk, wrk2, hey, oha, h2load and siege",
            plural(file.lines as u64, "line")
        )),
        _ => None,
    };
    if let Some(why) = why {
        out.push_str(&style.note(&format!("Not read: {name}: {why}.")));
    }
    for unread in file.unread.iter().take(UNREAD_MOST) {
        let why = clean_name(&unread.why);
        out.push_str(&style.note(&format!("Not read: {name}:{}: {why}.", unread.line)));
    }
    if let Some(more @ 1..) = file.unread.len().checked_sub(UNREAD_MOST) {
        out.push_str(&style.note(&format!("Not read: {name}: {more} more (--json has all).")));
    }
    out
}

/// The figures as they were printed, and where they stand.
fn figures(audit: &Audit, style: &Style) -> String {
    let rows = audit.reports.iter().map(figure_cells);
    let mut out = Table::new(FIGURE_HEADERS, rows).text(style.columns());
    let mut rows: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut places = Vec::new();
    for report in &audit.reports {
        match report.tool {
            LoadTool::Table => rows.entry(&report.file).or_default().push(report.line),
            _ => places.push(format!("{}: {}", clean_name(&report.name), place(report))),
        }
    }
    places.extend(rows.iter().filter_map(|(file, lines)| {
        let (first, last) = (lines.first()?, lines.last()?);
        Some(format!("rows: {}", span(file, *first, *last)))
    }));
    out.push_str(&style.note(&format!("{}.", places.join(", "))));
    out
}

/// All findings, those of one kind together.
fn findings(audit: &Audit, style: &Style) -> String {
    let mut out = String::new();
    for of_a_kind in audit
        .findings
        .chunk_by(|one, next| (one.level, one.id) == (next.level, next.id))
    {
        let Some(first) = of_a_kind.first() else {
            continue;
        };
        let (word, tint) = match first.level {
            Level::Void => ("void", Tint::Bad),
            Level::Bound => ("bound", Tint::Doubtful),
            Level::Note => ("note", Tint::Plain),
        };
        let blanks = " ".repeat(INDENT.len() - word.len());
        let start = format!("{}{blanks}", style.paint(word, tint));
        out.push_str(&wrap(first.id.meaning(), &start, INDENT, style.columns()));
        for finding in of_a_kind {
            let text = told_with_lines(finding, audit);
            let text = clean(&text).replace(" %", &format!("{GLUE}%"));
            let deeper = format!("{INDENT}  ");
            out.push_str(&wrap(&text, INDENT, &deeper, style.columns()));
        }
    }
    out
}

fn conclusions(audit: &Audit, style: &Style) -> String {
    let mut out = style.paragraph("What can be concluded:");
    for sentence in &audit.conclusions {
        out.push_str(&wrap(&clean(sentence), "  - ", "    ", style.columns()));
    }
    out
}

/// The study that would settle what is left open.
fn settling(study: &str, style: &Style) -> String {
    let words = "What would settle it, with COMMAND for what starts each server:";
    let command = wrap(&clean(study), "  $ ", "      ", style.columns());
    style.paragraph(words) + &command
}

/// The longest level, and a blank.
const INDENT: &str = "       ";
/// So many lines that cannot be read are named of each file.
const UNREAD_MOST: usize = 5;
