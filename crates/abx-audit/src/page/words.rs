//! Words and table cells for the reports of other tools.

use std::collections::BTreeMap;

use abx_report::printing::{UNKNOWN, clean_name};

use crate::Audit;
use crate::finding::{AuditFinding, AuditFindingId};
use crate::report::{FigureKey, LoadTool, ToolReport};

/// The headers of a report's figures.
pub const FIGURE_HEADERS: [&str; 6] = [
    "report",
    "requests/s",
    "connections",
    "responses",
    "s",
    "mean ms",
];

/// A report's figures as printed.
pub fn figure_cells(report: &ToolReport) -> [String; 6] {
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

/// The file and lines of a report.
pub fn place(report: &ToolReport) -> String {
    span(&report.file, report.line, report.last_line)
}

/// A range of lines of a file.
pub fn span(file: &str, first: usize, last: usize) -> String {
    let file = clean_name(file);
    if first == last {
        format!("{file}:{first}")
    } else {
        format!("{file}:{first}-{last}")
    }
}

/// The duration in seconds.
fn seconds(report: &ToolReport) -> String {
    let elapsed = report.figures.get(&FigureKey::Elapsed);
    elapsed.map_or_else(|| UNKNOWN.to_owned(), |elapsed| trimmed(elapsed.value))
}

/// The mean time in ms; unknown for tables, which have no unit.
fn mean(report: &ToolReport) -> String {
    let mean = report.figures.get(&FigureKey::Mean);
    let mean = mean.filter(|_| report.tool != LoadTool::Table);
    mean.map_or_else(|| UNKNOWN.to_owned(), |mean| trimmed(1e3 * mean.value))
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A finding in words, with the lines it is based on.
pub fn text_with_lines(finding: &AuditFinding, audit: &Audit) -> String {
    format!("{} ({})", text_of(finding, audit), rests_on(finding, audit))
}

/// A finding in words, with the names of its reports unless its message contains them.
fn text_of(finding: &AuditFinding, audit: &Audit) -> String {
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
        total if total == audit.reports.len() && total > 1 => format!("all: {}", finding.message),
        _ => format!("{}: {}", finding.reports.join(", "), finding.message),
    }
}

/// The lines of a finding: listed once if they are the same in all of its files.
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
        [list] if audit.files.len() == 1 || finding.reports.len() == 1 => {
            format!("{} {list}", noun(list))
        }
        [list, rest @ ..] if !rest.is_empty() && rest.iter().all(|other| other == list) => {
            format!("{} {list} of each", noun(list))
        }
        _ => {
            let places: Vec<String> = by_file
                .iter()
                .map(|(file, lines)| format!("{} {}", called(file, audit), lines.join(", ")))
                .collect();
            format!("lines: {}", places.join("; "))
        }
    }
}

/// The name of a file's only report, otherwise of the file.
fn called<'a>(file: &'a str, audit: &'a Audit) -> &'a str {
    let mut reports = audit.reports.iter().filter(|report| report.file == file);
    match (reports.next(), reports.next()) {
        (Some(only), None) => &only.name,
        _ => file,
    }
}
