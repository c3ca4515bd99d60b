//! Whether requests succeeded.

use abx_evidence::Level;

use super::figures::share;
use crate::finding::{AuditFinding, AuditFindingId};
use crate::report::{FigureKey, LoadTool, ToolReport};

/// Whether most responses were correct, as far as the report shows.
pub(super) fn serves(report: &ToolReport) -> bool {
    check(report)
        .iter()
        .all(|finding| finding.level < Level::Void)
}

pub(super) fn check(report: &ToolReport) -> Vec<AuditFinding> {
    let findings = [
        aborted(report),
        errors(report),
        unsuccessful(report),
        failures(report),
        own_limit(report),
        unread(report),
    ];
    findings.into_iter().flatten().collect()
}

/// Without the number of failures, a rate may consist of failures.
fn unread(report: &ToolReport) -> Option<AuditFinding> {
    let line = report.failures_unread?;
    let message = "a line that counts failed requests cannot be read, so all requests may have \
                   failed; correct that line"
        .to_owned();
    let id = AuditFindingId::Incomplete;
    Some(AuditFinding::at(report, id, Level::Void, message, [line]))
}

fn aborted(report: &ToolReport) -> Option<AuditFinding> {
    let after = report.figure(FigureKey::AbortedAfter)?;
    let message = format!(
        "ab ended after {} requests, without a report",
        after.printed
    );
    let keys = [FigureKey::AbortedAfter];
    Some(report.void(AuditFindingId::Aborted, message, &keys))
}

/// Responses with a status other than success, and the lines that show them.
fn wrong_statuses(report: &ToolReport) -> Option<(f64, Vec<usize>, &'static str)> {
    use FigureKey::{Not2xx, Status1xx, Status3xx, Status4xx, Status5xx};
    if let Some(wrong) = report.figure(Not2xx) {
        let words = match report.tool {
            LoadTool::Ab => "other than 2xx",
            _ => "of 4xx or 5xx",
        };
        return Some((wrong.value, vec![wrong.line], words));
    }
    let listed = report
        .statuses
        .iter()
        .filter(|(status, _)| !(200..300).contains(*status));
    let counted = [Status1xx, Status3xx, Status4xx, Status5xx]
        .into_iter()
        .filter_map(|key| report.figure(key));
    let wrong: Vec<_> = listed
        .map(|(_, figure)| figure)
        .chain(counted)
        .filter(|figure| figure.value > 0.0)
        .collect();
    let sum: f64 = wrong.iter().map(|figure| figure.value).sum();
    let lines = wrong.iter().map(|figure| figure.line).collect();
    (sum > 0.0).then_some((sum, lines, "other than 2xx"))
}

/// The number of all responses.
fn responses(report: &ToolReport) -> Option<f64> {
    let listed: f64 = report.statuses.values().map(|figure| figure.value).sum();
    let counted = report.value(FigureKey::Completed);
    counted.or((listed > 0.0).then_some(listed))
}

fn errors(report: &ToolReport) -> Option<AuditFinding> {
    let (wrong, mut lines, words) = wrong_statuses(report)?;
    if wrong <= 0.0 {
        return None;
    }
    let total = responses(report).filter(|total| *total >= wrong);
    let counted = match total {
        Some(total) if total == wrong => format!("all {wrong} responses had a status {words}"),
        Some(total) => format!(
            "{wrong} of {total} responses ({}) had a status {words}",
            share(wrong / total)
        ),
        None => format!("{wrong} responses had a status {words}"),
    };
    let remark = match report.tool {
        LoadTool::Ab => match report.printed(FigureKey::Failed) {
            Some(failed) => format!(
                "; ab counts them as complete ({failed} failed), includes them in its rate, and \
                 exits with 0"
            ),
            None => "; ab counts them as complete".to_owned(),
        },
        LoadTool::Oha => "; oha's success rate counts every response".to_owned(),
        LoadTool::Siege | LoadTool::H2load => String::new(),
        _ => "; the rate includes them".to_owned(),
    };
    lines.extend(
        report
            .figure(FigureKey::Completed)
            .map(|figure| figure.line),
    );
    let level = level(wrong, total.unwrap_or_default());
    let id = AuditFindingId::ErrorResponses;
    let message = counted + &remark;
    Some(AuditFinding::at(report, id, level, message, lines))
}

/// Siege counts responses of 4xx and 5xx among its transactions.
fn unsuccessful(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{Completed, Succeeded};
    let (succeeded, completed) = (report.figure(Succeeded)?, report.figure(Completed)?);
    let wrong = completed.value - succeeded.value;
    if report.tool != LoadTool::Siege || wrong <= 0.0 {
        return None;
    }
    let message = format!(
        "only {} of {} transactions were successful; siege's rate and its availability count the \
         others, too",
        succeeded.printed, completed.printed
    );
    let id = AuditFindingId::ErrorResponses;
    let level = level(wrong, completed.value);
    Some(AuditFinding::of(
        report,
        id,
        level,
        message,
        &[Succeeded, Completed],
    ))
}

/// Connections that httperf could not open because of a limit of its own machine.
fn own_failures(report: &ToolReport) -> f64 {
    LIMITS
        .iter()
        .filter_map(|(key, _)| report.value(*key))
        .sum()
}

fn own_limit(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{ConnectionsMade, Failed};
    let failed = own_failures(report);
    if failed <= 0.0 {
        return None;
    }
    let words = LIMITS.iter().filter_map(|(key, words)| {
        let figure = report.figure(*key).filter(|figure| figure.value > 0.0)?;
        Some(format!("{} {words}", figure.printed))
    });
    let words: Vec<String> = words.collect();
    let message = format!("httperf could not open connections: {}", words.join("; "));
    let made = report.value(ConnectionsMade).unwrap_or_default();
    let keys = LIMITS.map(|(key, _)| key);
    let keys = [&keys[..], &[Failed, ConnectionsMade]].concat();
    let id = AuditFindingId::GeneratorLimit;
    Some(AuditFinding::of(
        report,
        id,
        level(failed, failed + made),
        message,
        &keys,
    ))
}

/// The level of a finding about this share of failures.
fn level(wrong: f64, total: f64) -> Level {
    if total > 0.0 && wrong / total < VOID_SHARE {
        Level::Bound
    } else {
        Level::Void
    }
}

fn failures(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{
        Completed, Failed, FailedConnect, FailedExceptions, FailedLength, FailedReceive, TimedOut,
    };
    let parts = [
        (FailedConnect, "connecting"),
        (FailedReceive, "receiving"),
        (FailedLength, "of another length than the first"),
        (FailedExceptions, "otherwise"),
        (TimedOut, "timed out"),
    ];
    let present = parts.iter().filter_map(|(key, words)| {
        let figure = report.figure(*key).filter(|figure| figure.value > 0.0)?;
        Some((figure.value, format!("{} {words}", figure.printed)))
    });
    let (values, words): (Vec<f64>, Vec<String>) = present.unzip();
    let total = match report.value(Failed) {
        Some(failed) => failed - own_failures(report),
        None => values.iter().sum(),
    };
    if total <= 0.0 {
        return None;
    }
    let mut message = match (report.tool, report.printed(Completed)) {
        // Their failures are among their complete requests.
        (LoadTool::Ab | LoadTool::H2load, Some(completed)) => {
            format!("{total} of {completed} failed")
        }
        (_, Some(completed)) => format!("{completed} completed and {total} failed"),
        (_, None) => format!("{total} failed"),
    };
    if !words.is_empty() {
        message.push_str(&format!(" ({})", words.join(", ")));
    }
    if report.tool == LoadTool::Ab {
        message.push_str("; ab includes them in the rate, and exits with 0");
        if report
            .value(FailedLength)
            .is_some_and(|length| length > 0.0)
        {
            message.push_str("; a page whose length varies fails this way, too (-l)");
        }
    }
    if report.tool == LoadTool::Wrk && report.value(TimedOut).is_some_and(|count| count > 0.0) {
        message.push_str("; none of wrk's times includes requests that timed out");
    }
    let level = match (report.tool, responses(report)) {
        (LoadTool::Ab | LoadTool::H2load, Some(responses)) => level(total, responses),
        (_, responses) => level(total, responses.unwrap_or_default() + total),
    };
    let keys = [
        Failed,
        FailedConnect,
        FailedReceive,
        FailedLength,
        FailedExceptions,
        TimedOut,
        Completed,
    ];
    let id = AuditFindingId::FailedRequests;
    Some(AuditFinding::of(report, id, level, message, &keys))
}

/// From this share of failures on, a rate describes errors rather than responses.
const VOID_SHARE: f64 = 0.5;
/// Limits of httperf's own machine, and how to raise them.
const LIMITS: [(FigureKey, &str); 3] = [
    (
        FigureKey::NoDescriptor,
        "had no file descriptor (fd-unavail; raise `ulimit -n`)",
    ),
    (
        FigureKey::NoPort,
        "had no local port (addrunavail; widen net.ipv4.ip_local_port_range)",
    ),
    (
        FigureKey::TableFull,
        "found the system's file table full (ftab-full; raise fs.file-max)",
    ),
];
