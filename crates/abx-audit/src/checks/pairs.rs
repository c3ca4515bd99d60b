//! Whether reports can be compared, and whether their differences are significant.

use std::collections::BTreeMap;

use abx_evidence::Level;

use super::figures::{printed_time, share, whole};
use super::generator::{InFlight, in_flight};
use super::responses;
use crate::finding::{AuditFinding, AuditFindingId, FileLine};
use crate::report::{FigureKey, LoadTool, ToolReport, WordKey};

/// The ratio that one in twenty pairs of runs of identical servers exceeds on a quiet machine,
/// one after the other for 4 s each (the log ratio has a standard deviation of 6.0 %).
pub(crate) const QUIET: f64 = 1.12;
/// The ratio from which runs are distinguished: chosen, because other users may have shared the
/// machine.
pub(crate) const DISTINGUISHED: f64 = 1.45;

/// From this ratio of requests in flight on, response times are those of different loads.
const MORE_UNDER_WAY: f64 = 1.5;

/// The value of a setting in a report, and its line.
type ReportedValue = Option<(String, usize)>;

/// A setting in which runs can differ: its name, its value, and the level of the finding.
type Setting = (&'static str, fn(&ToolReport) -> ReportedValue, Level);

pub(super) fn check(reports: &[ToolReport]) -> Vec<AuditFinding> {
    let mut out = copies(reports);
    let runs = runs(reports);
    for (name, value, level) in SETTINGS {
        let id = AuditFindingId::DifferentRuns;
        out.extend(differing(&runs, name, value, id, *level));
    }
    let (id, void) = (AuditFindingId::DifferentBodies, Level::Void);
    out.extend(differing(&runs, "bytes in a body", &BODY, id, void));
    let (id, note) = (AuditFindingId::DifferentHeads, Level::Note);
    out.extend(differing(&runs, "bytes in a head", &HEAD, id, note));
    out.extend(different_under_way(&runs));
    out.extend(small_differences(&runs));
    out
}

const SETTINGS: &[Setting] = &[
    ("tool", tool, Level::Void),
    ("connections", connections, Level::Void),
    ("path", path, Level::Void),
    ("a connection per request", opens_for_each, Level::Void),
    ("requests", requests, Level::Bound),
    ("the server's host", host, Level::Bound),
];

const BODY: fn(&ToolReport) -> ReportedValue = body_length;
const HEAD: fn(&ToolReport) -> ReportedValue = head_length;

/// Whether the runs differ in a setting that a comparison must hold constant.
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
    // In a run of fixed duration, the number of requests is a result.
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

/// The bytes of a response without its body, in tenths of a byte.
fn head_length(report: &ToolReport) -> ReportedValue {
    use FigureKey::{BytesBodies, BytesTotal, Completed, HeadSize};
    if let Some(head) = report.figure(HeadSize) {
        return Some((head.value.to_string(), head.line));
    }
    let (total, bodies) = (report.figure(BytesTotal)?, report.figure(BytesBodies)?);
    let count = report.value(Completed).filter(|count| *count > 0.0)?;
    let head = ((total.value - bodies.value) / count * 10.0).round() / 10.0;
    (report.tool == LoadTool::Ab && head > 0.0).then(|| (head.to_string(), total.line))
}

/// Reports whose runs can be compared: no rows of tables and no copies.
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
fn is_copy(report: &ToolReport, other: &ToolReport) -> bool {
    let are_same = report.figures.len() == other.figures.len()
        && report.figures.iter().zip(&other.figures).all(
            |((key, figure), (other_key, other_figure))| {
                key == other_key && figure.printed == other_figure.printed
            },
        );
    // A run has a duration to the millisecond; a few figures may be alike by chance.
    report.tool == other.tool && report.figures.len() > 4 && are_same
}

/// Reports with the same rate may be copies of one measurement.
fn copies(reports: &[ToolReport]) -> Vec<AuditFinding> {
    let mut out = Vec::new();
    for (index, report) in reports.iter().enumerate() {
        let rate = report.printed(FigureKey::Rate);
        let of_table = |other: &&ToolReport| {
            let same = rate.is_some_and(|rate| rate.contains('.'))
                && other.printed(FigureKey::Rate) == rate;
            report.tool == LoadTool::Table && other.tool != LoadTool::Table && same
        };
        let message = match reports[..index].iter().find(|other| is_copy(other, report)) {
            Some(other) => format!("all figures are those of {}", other.name),
            None => match reports.iter().find(of_table) {
                Some(other) => format!("the rate is that of {}", other.name),
                None => continue,
            },
        };
        out.push(report.note(AuditFindingId::SameFigures, message, &[FigureKey::Rate]));
    }
    out
}

/// A finding if the reports differ in this setting.
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
    // The most frequent value comes first.
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

/// The larger rate divided by the smaller one.
pub(crate) fn ratio(report: &ToolReport, other: &ToolReport) -> Option<f64> {
    let (rate, other) = (report.rate()?.value, other.rate()?.value);
    let (less, more) = (rate.min(other), rate.max(other));
    (less > 0.0).then_some(more / less)
}

/// Runs with equal connections, of which more were busy in one run than in another.
fn different_under_way(reports: &[&ToolReport]) -> Option<AuditFinding> {
    let mut known: Vec<(&ToolReport, InFlight)> = reports
        .iter()
        .filter_map(|report| Some((*report, in_flight(report)?)))
        .filter(|(report, _)| report.figure(FigureKey::Mean).is_some())
        .collect();
    let involved: Vec<&ToolReport> = known.iter().map(|(report, _)| *report).collect();
    let id = AuditFindingId::DifferentUnderWay;
    let connections: fn(&ToolReport) -> ReportedValue = connections;
    if differing(&involved, "", &connections, id, Level::Void).is_some() {
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
        reports: involved.iter().map(|report| report.name.clone()).collect(),
        message: format!(
            "requests in flight on average, and the mean time of one: {}",
            words.join(", ")
        ),
        rests_on: involved.iter().map(line).collect(),
    })
}

fn small_differences(reports: &[&ToolReport]) -> Option<AuditFinding> {
    let mut rated: Vec<&ToolReport> = reports
        .iter()
        .copied()
        .filter(|report| report.rate().is_some_and(|rate| rate.value > 0.0))
        .filter(|report| responses::serves(report))
        .collect();
    rated.sort_by(|report, other| {
        let rate = |report: &ToolReport| report.rate().map_or(0.0, |rate| rate.value);
        rate(other).total_cmp(&rate(report))
    });
    let mut words = Vec::new();
    let mut involved: Vec<&ToolReport> = Vec::new();
    for pair in rated.windows(2) {
        let [more, less] = pair else { continue };
        let Some(ratio) = ratio(more, less).filter(|ratio| *ratio < DISTINGUISHED) else {
            continue;
        };
        words.push(format!(
            "{} over {}: {}",
            more.name,
            less.name,
            share(ratio - 1.0)
        ));
        for report in pair {
            if !involved.iter().any(|other| other.name == report.name) {
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
            "{}. One in twenty pairs of identical servers (4 s each, two CPUs) differs by more \
             than about {} on a quiet machine, and by more on a shared one",
            words.join(", "),
            share(QUIET - 1.0)
        ),
        rests_on: involved.iter().map(line).collect(),
    })
}
