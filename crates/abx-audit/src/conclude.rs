//! What can still be concluded from reports.

use crate::checks::{DISTINGUISHED, QUIET, differ, in_flight, ratio, rounded, runs, share};
use crate::finding::{AuditFinding, AuditFindingId};
use crate::report::{FigureKey, LoadTool, ToolReport};

/// What a report's rate shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worth {
    Void,
    /// A lower bound of what the server can serve.
    AtLeast,
    /// The capacity of the server or of the generator.
    Capacity,
    /// The rate with one request at a time.
    OneAtATime,
    OneRun,
}

/// The conclusions as sentences, the most useful first.
pub(crate) fn conclusions(reports: &[ToolReport], findings: &[AuditFinding]) -> Vec<String> {
    if reports.is_empty() {
        return Vec::new();
    }
    let tool_reports = runs(reports);
    let of = |wanted: Worth| -> Vec<&ToolReport> {
        let matching = tool_reports.iter().copied();
        matching
            .filter(|report| worth(report, findings) == wanted)
            .collect()
    };
    let mut out = Vec::new();
    let one_run = of(Worth::OneRun);
    out.extend(standing(&one_run));
    let wrong = [
        AuditFindingId::ErrorResponses,
        AuditFindingId::FailedRequests,
    ];
    let some_wrong: Vec<&ToolReport> = one_run
        .iter()
        .copied()
        .filter(|report| about(report, findings).any(|finding| wrong.contains(&finding.id)))
        .collect();
    if !some_wrong.is_empty() {
        out.push(format!(
            "{}: some responses were incorrect, so this is not a rate of correct responses.",
            names(&some_wrong)
        ));
    }
    out.extend(late(&one_run, findings));
    out.extend(of(Worth::AtLeast).into_iter().filter_map(at_least));
    out.extend(of(Worth::Capacity).into_iter().filter_map(saturated));
    out.extend(of(Worth::OneAtATime).into_iter().map(one_at_a_time));
    let void = of(Worth::Void);
    if !void.is_empty() {
        out.push(format!(
            "{}: nothing about how fast the page is served.",
            names(&void)
        ));
    }
    if tool_reports.is_empty() {
        out.push(
            "A table alone: nothing, since errors, connections, requests and duration are unknown."
                .to_owned(),
        );
    }
    out.push(
        "Not in these reports, so not checked: the machines, what else ran on them, versions and \
         settings, the order of the runs, warm-up."
            .to_owned(),
    );
    out
}

fn at_least(report: &ToolReport) -> Option<String> {
    let rate = report.rate()?.printed;
    let name = &report.name;
    Some(format!(
        "{name}: the server served {rate} requests/s in this run; the report does not show how \
         much more it could serve."
    ))
}

fn saturated(report: &ToolReport) -> Option<String> {
    let rate = report.rate()?.printed;
    let name = &report.name;
    Some(format!(
        "{name}: the server or the generator was saturated at {rate} requests/s in this run; the \
         report does not show which one."
    ))
}

/// The conclusion from rates that a late generator measured.
fn late(reports: &[&ToolReport], findings: &[AuditFinding]) -> Option<String> {
    let is_late = |finding: &AuditFinding| finding.id == AuditFindingId::LateGenerator;
    let late: Vec<&ToolReport> = reports
        .iter()
        .copied()
        .filter(|report| about(report, findings).any(is_late))
        .collect();
    (!late.is_empty()).then(|| {
        format!(
            "{}: the generator was late, so the report does not show how much more the server can \
             serve.",
            names(&late)
        )
    })
}

/// The findings about this report.
fn about<'a>(
    report: &ToolReport,
    findings: &'a [AuditFinding],
) -> impl Iterator<Item = &'a AuditFinding> {
    findings
        .iter()
        .filter(move |finding| finding.reports.contains(&report.name))
}

/// Whether one of these findings limits what the report shows.
fn has(report: &ToolReport, findings: &[AuditFinding], ids: &[AuditFindingId]) -> bool {
    use abx_evidence::Level;
    about(report, findings).any(|finding| {
        let limits = BOUNDS.contains(&finding.id) || finding.id == AuditFindingId::Saturated;
        ids.contains(&finding.id) && (finding.level == Level::Void || limits)
    })
}

fn worth(report: &ToolReport, findings: &[AuditFinding]) -> Worth {
    use AuditFindingId as Id;
    let void = [
        Id::Aborted,
        Id::ErrorResponses,
        Id::FailedRequests,
        Id::Contradiction,
        Id::GeneratorLimit,
        Id::Incomplete,
    ];
    if has(report, findings, &void) || report.rate().is_none() {
        Worth::Void
    } else if has(report, findings, &[Id::Saturated]) {
        Worth::Capacity
    } else if has(report, findings, &[Id::OneAtATime]) {
        Worth::OneAtATime
    } else if has(report, findings, &BOUNDS) {
        Worth::AtLeast
    } else {
        Worth::OneRun
    }
}

fn names(reports: &[&ToolReport]) -> String {
    let names: Vec<&str> = reports.iter().map(|report| report.name.as_str()).collect();
    match &names[..] {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// What runs show if only their number limits them.
fn standing(reports: &[&ToolReport]) -> Option<String> {
    let [first, ..] = reports else {
        return None;
    };
    if let [report] = reports {
        let rate = report.rate()?.printed;
        let how = match report.opens_for_each() {
            Some(true) => ", with a new connection per request,",
            _ => "",
        };
        return Some(format!(
            "{}: {rate} requests/s{how} in one run; another run may differ.",
            report.name
        ));
    }
    if differ(reports) {
        return Some(format!(
            "{}: one run each, and the runs differ in more than the server, so they do not show \
             which one is faster.",
            names(reports)
        ));
    }
    let rate = |report: &ToolReport| report.rate().map_or(0.0, |rate| rate.value);
    let (mut most, mut least) = (*first, *first);
    for report in reports {
        if rate(report) > rate(most) {
            most = report;
        }
        if rate(report) < rate(least) {
            least = report;
        }
    }
    let largest = ratio(most, least)?;
    let spread = format!(
        "{} over {}: {}",
        most.name,
        least.name,
        share(largest - 1.0)
    );
    Some(match largest {
        small if small < QUIET => format!(
            "{}: cannot be distinguished. The largest difference is {spread}; identical servers \
             differ as much, even on a quiet machine.",
            names(reports)
        ),
        some if some < DISTINGUISHED => format!(
            "{}: cannot be distinguished. The largest difference is {spread}; identical servers may \
             differ as much on a shared machine.",
            names(reports)
        ),
        large => format!(
            "{}: {} had {} times the rate of {} in one run each. If machine and settings were the \
             same, it is probably faster; one run each does not show by how much. Pairs that \
             differ by less than {} cannot be distinguished.",
            names(reports),
            most.name,
            rounded(large),
            least.name,
            share(DISTINGUISHED - 1.0)
        ),
    })
}

fn one_at_a_time(report: &ToolReport) -> String {
    let rate = report
        .rate()
        .map_or_else(|| "-".to_owned(), |rate| rate.printed);
    let is_busy = in_flight(report).is_some_and(|flight| flight.mean.middle() > SEQUENTIAL);
    let mean = report.printed(FigureKey::Mean).filter(|_| is_busy);
    let time = match mean {
        Some(mean) if report.tool == LoadTool::Httperf => format!(", {mean} ms each on average"),
        _ => String::new(),
    };
    format!(
        "{}: one request after the other{time}, {rate}/s in one run; the report does not show how \
         much the server can serve.",
        report.name
    )
}

/// Findings that make a rate a lower bound.
const BOUNDS: [AuditFindingId; 3] = [
    AuditFindingId::IdleConnections,
    AuditFindingId::OneAtATime,
    AuditFindingId::AskedRate,
];
/// From this mean number on, nearly always one request was in flight.
const SEQUENTIAL: f64 = 0.9;
