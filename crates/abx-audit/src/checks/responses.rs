//! What became of the requests.

use abx_evidence::Level;

use super::figures::share;
use crate::finding::{AuditFinding, AuditFindingId};
use crate::report::{FigureKey, LoadTool, ToolReport};

/// Whether most of what came were right responses, as far as it is said.
pub(super) fn serves(report: &ToolReport) -> bool {
    check(report).iter().all(|one| one.level < Level::Void)
}

pub(super) fn check(report: &ToolReport) -> Vec<AuditFinding> {
    let all = [
        aborted(report),
        errors(report),
        failures(report),
        unread(report),
    ];
    all.into_iter().flatten().collect()
}

/// Without the number of failures, a rate may be one of failures.
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
    Some(AuditFinding::of(
        report,
        AuditFindingId::Aborted,
        Level::Void,
        message,
        &keys,
    ))
}

/// Responses with a status that is no success, and the lines that say so.
fn wrong_statuses(report: &ToolReport) -> Option<(f64, Vec<usize>, &'static str)> {
    use FigureKey::{Not2xx, Status1xx, Status3xx, Status4xx, Status5xx};
    if let Some(wrong) = report.figure(Not2xx) {
        let words = match report.tool {
            LoadTool::Ab => "other than 2xx",
            _ => "of 4xx or 5xx",
        };
        return Some((wrong.value, vec![wrong.line], words));
    }
    let listed = { report.statuses.iter() }.filter(|(status, _)| !(200..300).contains(*status));
    let counted = { [Status1xx, Status3xx, Status4xx, Status5xx] }
        .into_iter()
        .filter_map(|key| report.figure(key));
    let wrong: Vec<_> = { listed.map(|(_, figure)| figure).chain(counted) }
        .filter(|figure| figure.value > 0.0)
        .collect();
    let sum: f64 = wrong.iter().map(|figure| figure.value).sum();
    let lines = wrong.iter().map(|figure| figure.line).collect();
    (sum > 0.0).then_some((sum, lines, "other than 2xx"))
}

/// All responses that came.
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
    let all = responses(report);
    let of_all = all.filter(|all| *all >= wrong);
    let counted = match of_all {
        Some(all) if all == wrong => format!("all {wrong} responses had a status {words}"),
        Some(all) => format!(
            "{wrong} of {all} responses ({}) had a status {words}",
            share(wrong / all)
        ),
        None => format!("{wrong} responses had a status {words}"),
    };
    let own = match report.tool {
        LoadTool::Ab => match report.printed(FigureKey::Failed) {
            Some(failed) => format!(
                "; ab counts them as complete ({failed} failed), has them in its rate, and its exit \
                 code is 0"
            ),
            None => "; ab counts them as complete".to_owned(),
        },
        LoadTool::Oha => "; oha's success rate counts every response".to_owned(),
        LoadTool::Siege | LoadTool::H2load => String::new(),
        _ => "; they are in the rate".to_owned(),
    };
    lines.extend(
        report
            .figure(FigureKey::Completed)
            .map(|figure| figure.line),
    );
    let level = match of_all {
        Some(all) if wrong / all < VOID_SHARE => Level::Bound,
        _ => Level::Void,
    };
    let id = AuditFindingId::ErrorResponses;
    Some(AuditFinding::at(report, id, level, counted + &own, lines))
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
        Some(failed) => failed,
        None => values.iter().sum(),
    };
    if total <= 0.0 {
        return None;
    }
    let of = match report.printed(Completed) {
        Some(all) => format!("{total} failed beside {all} complete"),
        None => format!("{total} failed"),
    };
    let of = match (report.tool, report.printed(Completed)) {
        // ab's failures are among its complete requests.
        (LoadTool::Ab, Some(all)) => format!("{total} of {all} failed"),
        _ => of,
    };
    let mut message = match words.is_empty() {
        true => of,
        false => format!("{of} ({})", words.join(", ")),
    };
    if report.tool == LoadTool::Ab {
        message.push_str("; they are in the rate, and ab's exit code is 0");
        if report
            .value(FailedLength)
            .is_some_and(|length| length > 0.0)
        {
            message.push_str("; a page that changes its length fails so, too (-l)");
        }
    }
    if matches!(report.tool, LoadTool::Wrk) && report.value(TimedOut).is_some_and(|some| some > 0.0)
    {
        message.push_str("; requests that timed out are in none of wrk's times");
    }
    let level = match report.value(Completed) {
        Some(all) if total / all.max(1.0) < VOID_SHARE => Level::Bound,
        _ => Level::Void,
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

/// From this share on, a rate is more one of errors than of responses.
const VOID_SHARE: f64 = 0.5;
