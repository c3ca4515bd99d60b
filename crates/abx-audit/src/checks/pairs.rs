//! Whether reports can be compared, and what their differences are worth.

use std::collections::BTreeMap;

use abx_evidence::Level;

use super::figures::{printed_time, share, whole};
use super::generator::{InFlight, in_flight};
use super::responses;
use crate::figure::PrintedFigure;
use crate::finding::{AuditFinding, AuditFindingId, FileLine};
use crate::report::{FigureKey, LoadTool, ToolReport, WordKey};

/// Two runs of identical servers, one after the other, for 4 s each: on a quiet machine,
/// one pair in twenty differs by more (a spread of 6.0 % of the log ratio).
pub(crate) const QUIET: f64 = 1.12;
/// What runs must differ by to be distinguished: a limit that we have chosen, since others may
/// have used the machine, too.
pub(crate) const DISTINGUISHED: f64 = 1.45;

/// With so many times the requests under way, times are those of another load.
const MORE_UNDER_WAY: f64 = 1.5;

/// The value of something in a report, and its line.
type ReportedValue = Option<(String, usize)>;

/// A way in which runs can differ: its name, its value, and how far that limits.
type Setting = (&'static str, fn(&ToolReport) -> ReportedValue, Level);

pub(super) fn check(reports: &[ToolReport]) -> Vec<AuditFinding> {
    let mut out = copies(reports);
    let tool_reports = runs(reports);
    for (name, value, level) in SETTINGS {
        let id = AuditFindingId::DifferentRuns;
        out.extend(differing(&tool_reports, name, value, id, *level));
    }
    let (id, void) = (AuditFindingId::DifferentBodies, Level::Void);
    out.extend(differing(&tool_reports, "bytes in a body", &BODY, id, void));
    let (id, note) = (AuditFindingId::DifferentHeads, Level::Note);
    out.extend(differing(&tool_reports, "bytes in a head", &HEAD, id, note));
    out.extend(different_under_way(&tool_reports));
    out.extend(small_differences(&tool_reports));
    out
}

const SETTINGS: &[Setting] = &[
    ("tool", tool, Level::Void),
    ("connections", connections, Level::Void),
    ("path", path, Level::Void),
    ("a connection for each request", opens_for_each, Level::Void),
    ("requests", requests, Level::Bound),
    ("the server's host", host, Level::Bound),
];

const BODY: fn(&ToolReport) -> ReportedValue = body_length;
const HEAD: fn(&ToolReport) -> ReportedValue = head_length;

/// Whether these differ in what a comparison needs to be the same.
pub(crate) fn differ(reports: &[&ToolReport]) -> bool {
    let id = AuditFindingId::DifferentRuns;
    let void = SETTINGS
        .iter()
        .filter(|(_, _, level)| *level == Level::Void);
    let mut values = void.map(|(_, value, _)| *value).chain([BODY]);
    values.any(|value| differing(reports, "", &value, id, Level::Void).is_some())
}

fn tool(report: &ToolReport) -> ReportedValue {
    Some((report.tool.name().to_owned(), report.line))
}

fn path(report: &ToolReport) -> ReportedValue {
    let mut words = [WordKey::Path, WordKey::Url]
        .iter()
        .filter_map(|key| report.words.get(key));
    let line = words.next()?.line;
    Some((report.path()?.to_owned(), line))
}

fn opens_for_each(report: &ToolReport) -> ReportedValue {
    use FigureKey::{CallsPerConnection, Failed, KeptAlive};
    let opens = report.opens_for_each()?;
    let keys = [KeptAlive, CallsPerConnection, Failed];
    let figure = keys.into_iter().find_map(|key| report.figure(key));
    let line = figure.map_or(report.line, |figure| figure.line);
    Some((if opens { "yes" } else { "no" }.to_owned(), line))
}

fn requests(report: &ToolReport) -> ReportedValue {
    // In a run of a set time, the number of requests is a result.
    let is_set = report.tool == LoadTool::Ab || report.figure(FigureKey::AskedRequests).is_some();
    let count = report.counted().filter(|_| is_set)?;
    Some((count.printed.clone(), count.line))
}

fn host(report: &ToolReport) -> ReportedValue {
    let word = report.words.get(&WordKey::Host)?;
    Some((word.word.clone(), word.line))
}

fn connections(report: &ToolReport) -> ReportedValue {
    let key = match report.tool {
        LoadTool::Httperf => FigureKey::ConnectionsMost,
        _ => FigureKey::Connections,
    };
    let figure = report
        .figure(key)
        .or(report.figure(FigureKey::AskedConnections))?;
    Some((figure.value.to_string(), figure.line))
}

fn body_length(report: &ToolReport) -> ReportedValue {
    let key = match report.tool {
        LoadTool::Httperf => FigureKey::BodySize,
        _ => FigureKey::BodyLength,
    };
    let figure = report.figure(key)?;
    Some((figure.value.to_string(), figure.line))
}

/// What is left of a response without its body, where that is a whole number for each.
fn head_length(report: &ToolReport) -> ReportedValue {
    use FigureKey::{BytesBodies, BytesTotal, Completed, HeadSize};
    if let Some(head) = report.figure(HeadSize) {
        return Some((head.value.to_string(), head.line));
    }
    let (printed_figure, bodies) = (report.figure(BytesTotal)?, report.figure(BytesBodies)?);
    let count = report.value(Completed).filter(|count| *count > 0.0)?;
    let each = ((printed_figure.value - bodies.value) / count * 10.0).round() / 10.0;
    (report.tool == LoadTool::Ab && each > 0.0).then(|| (each.to_string(), printed_figure.line))
}

/// Reports whose runs can be set beside each other: no rows of tables, nothing twice.
pub(crate) fn runs(reports: &[ToolReport]) -> Vec<&ToolReport> {
    let mut out: Vec<&ToolReport> = Vec::new();
    for report in reports {
        let is_new = !out.iter().any(|other| is_copy(other, report));
        if report.tool != LoadTool::Table && is_new {
            out.push(report);
        }
    }
    out
}

/// Whether both have the same figures, printed alike.
pub(crate) fn is_copy(tool_report: &ToolReport, other: &ToolReport) -> bool {
    let printed = |(pair, other): ((&FigureKey, &PrintedFigure), (&FigureKey, &PrintedFigure))| {
        pair.0 == other.0 && pair.1.printed == other.1.printed
    };
    let are_same = tool_report.figures.len() == other.figures.len()
        && tool_report.figures.iter().zip(&other.figures).all(printed);
    // A run has a duration to the millisecond; a few figures may be alike by chance.
    tool_report.tool == other.tool && tool_report.figures.len() > 4 && are_same
}

/// A rate that two reports have may be one and the same measurement.
fn copies(reports: &[ToolReport]) -> Vec<AuditFinding> {
    let mut out = Vec::new();
    for (number, report) in reports.iter().enumerate() {
        let rate = report.printed(FigureKey::Rate);
        let of_table = |other: &&ToolReport| {
            let same = rate.is_some_and(|rate| rate.contains('.'))
                && other.printed(FigureKey::Rate) == rate;
            report.tool == LoadTool::Table && other.tool != LoadTool::Table && same
        };
        let message = match reports[..number]
            .iter()
            .find(|other| is_copy(other, report))
        {
            Some(other) => format!("all figures are those of {}", other.name),
            None => match reports.iter().find(of_table) {
                Some(other) => format!("the rate is that of {}", other.name),
                None => continue,
            },
        };
        let id = AuditFindingId::SameFigures;
        let keys = [FigureKey::Rate];
        out.push(report.note(id, message, &keys));
    }
    out
}

/// One finding when reports have different values of this setting.
fn differing(
    reports: &[&ToolReport],
    name: &str,
    value: &fn(&ToolReport) -> ReportedValue,
    id: AuditFindingId,
    level: Level,
) -> Option<AuditFinding> {
    let mut by_value: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut rests_on = Vec::new();
    for report in reports {
        if let Some((value, line)) = value(report) {
            by_value.entry(value).or_default().push(&report.name);
            let file = report.file.clone();
            rests_on.push(FileLine { file, line });
        }
    }
    if by_value.len() < 2 {
        return None;
    }
    // What most have comes first.
    let mut groups: Vec<(&String, &Vec<&str>)> = by_value.iter().collect();
    groups.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let words: Vec<String> = groups
        .iter()
        .map(|(value, names)| format!("{value} ({})", names.join(", ")))
        .collect();
    Some(AuditFinding {
        id,
        level,
        reports: by_value
            .values()
            .flatten()
            .map(|name| (*name).to_owned())
            .collect(),
        message: format!("{name}: {}", words.join(", ")),
        rests_on,
    })
}

/// How many times the smaller rate the larger one is.
pub(crate) fn ratio(tool_report: &ToolReport, other: &ToolReport) -> Option<f64> {
    let (value, other) = (tool_report.rate()?.value, other.rate()?.value);
    let (less, more) = (value.min(other), value.max(other));
    (less > 0.0).then_some(more / less)
}

/// Equal connections of which more were busy in one run than in another.
fn different_under_way(reports: &[&ToolReport]) -> Option<AuditFinding> {
    let mut known: Vec<(&ToolReport, InFlight)> = reports
        .iter()
        .filter_map(|report| Some((*report, in_flight(report)?)))
        .filter(|(report, _)| report.figure(FigureKey::Mean).is_some())
        .collect();
    let tool_reports: Vec<&ToolReport> = known.iter().map(|(report, _)| *report).collect();
    let id = AuditFindingId::DifferentUnderWay;
    if differing(
        &tool_reports,
        "",
        &(connections as fn(&ToolReport) -> ReportedValue),
        id,
        Level::Void,
    )
    .is_some()
    {
        return None;
    }
    known.sort_by(|(_, in_flight), (_, other)| {
        other.mean.middle().total_cmp(&in_flight.mean.middle())
    });
    let ((_, most), (_, least)) = (known.first()?, known.last()?);
    if most.mean.low < MORE_UNDER_WAY * least.at_most {
        return None;
    }
    let words: Vec<String> = known
        .iter()
        .filter_map(|(report, busy)| {
            let mean = report.figure(FigureKey::Mean)?;
            Some(format!(
                "{} about {} ({})",
                report.name,
                whole(busy.mean.middle()),
                printed_time(mean)
            ))
        })
        .collect();
    let line = |report: &&ToolReport| FileLine {
        file: report.file.clone(),
        line: report
            .figure(FigureKey::Mean)
            .map_or(report.line, |mean| mean.line),
    };
    Some(AuditFinding {
        id,
        level: Level::Bound,
        reports: tool_reports
            .iter()
            .map(|report| report.name.clone())
            .collect(),
        message: format!(
            "requests in flight on average, and the mean time of one: {}",
            words.join(", ")
        ),
        rests_on: tool_reports.iter().map(line).collect(),
    })
}

fn small_differences(reports: &[&ToolReport]) -> Option<AuditFinding> {
    let mut rated: Vec<&ToolReport> = reports
        .iter()
        .copied()
        .filter(|report| report.rate().is_some_and(|rate| rate.value > 0.0))
        .filter(|report| responses::serves(report))
        .collect();
    rated.sort_by(|tool_report, other| {
        let rate = |report: &ToolReport| report.rate().map_or(0.0, |rate| rate.value);
        rate(other).total_cmp(&rate(tool_report))
    });
    let mut words = Vec::new();
    let mut involved: Vec<&ToolReport> = Vec::new();
    for two in rated.windows(2) {
        let [more, less] = two else { continue };
        let Some(ratio) = ratio(more, less).filter(|ratio| *ratio < DISTINGUISHED) else {
            continue;
        };
        words.push(format!(
            "{} over {}: {}",
            more.name,
            less.name,
            share(ratio - 1.0)
        ));
        for report in two {
            if !involved
                .iter()
                .any(|tool_report| tool_report.name == report.name)
            {
                involved.push(report);
            }
        }
    }
    if words.is_empty() {
        return None;
    }
    let line = |report: &&ToolReport| {
        let line = report
            .figure(FigureKey::Rate)
            .map_or(report.line, |rate| rate.line);
        let file = report.file.clone();
        FileLine { file, line }
    };
    Some(AuditFinding {
        id: AuditFindingId::SmallDifference,
        level: Level::Bound,
        reports: involved.iter().map(|report| report.name.clone()).collect(),
        message: format!(
            "{}. Of identical servers (4 s each, two processors), one pair in twenty differs by \
             more than about {} on a quiet machine, and by more on a shared one",
            words.join(", "),
            share(QUIET - 1.0)
        ),
        rests_on: involved.iter().map(line).collect(),
    })
}
