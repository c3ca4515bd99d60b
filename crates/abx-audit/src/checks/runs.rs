//! How a run was made: how often, how long, over which connections, and what is missing.

use abx_evidence::Level;

use super::figures::{printed_time, share};
use crate::finding::{AuditFinding, AuditFindingId};
use crate::report::{FigureKey, LoadTool, ToolReport};

pub(super) fn check(report: &ToolReport) -> Vec<AuditFinding> {
    if report.tool == LoadTool::Table {
        return vec![bare(report)];
    }
    let findings = [
        set_up(report),
        some_set_up(report),
        once(report),
        short(report),
        odd_median(report),
        binned_median(report),
        life_of_connection(report),
        few_samples(report),
        incomplete(report),
    ];
    findings.into_iter().flatten().collect()
}

fn bare(report: &ToolReport) -> AuditFinding {
    let message =
        "a row of a table names no tool, connections, requests, duration, errors or unit of time"
            .to_owned();
    let id = AuditFindingId::BareFigures;
    AuditFinding::at(report, id, Level::Bound, message, [report.line])
}

fn set_up(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{BytesTotal, CallsPerConnection, ConnectMean, Failed, KeptAlive, Mean};
    if report.opens_for_each() != Some(true) {
        return None;
    }
    let how = match report.tool {
        LoadTool::Ab if report.figure(KeptAlive).is_some() => {
            "no connection was reused, although -k was given"
        }
        LoadTool::Ab => "no keep-alive (-k)",
        LoadTool::Httperf => "one call per connection",
        _ => "no keep-alive",
    };
    let part = report
        .figure(ConnectMean)
        .zip(report.figure(Mean))
        .filter(|(_, mean)| mean.value > 0.0 && mean.low > 0.0);
    let (message, level) = match part {
        Some((connect, mean)) => {
            let part = connect.value / mean.value;
            let level = if part >= SET_UP_SHARE {
                Level::Bound
            } else {
                Level::Note
            };
            let message = format!(
                "{how}: connecting took {} of the mean request's {} ({})",
                printed_time(connect),
                printed_time(mean),
                share(part)
            );
            (message, level)
        }
        None => (how.to_owned(), Level::Note),
    };
    let keys = match report.tool {
        LoadTool::Ab => vec![KeptAlive, ConnectMean, Mean],
        _ => vec![CallsPerConnection, ConnectMean, Mean],
    };
    let keys = if keys.iter().any(|key| report.figure(*key).is_some()) {
        keys
    } else {
        // The line of keep-alive requests, which would be between these two, is missing.
        vec![Failed, BytesTotal]
    };
    let id = AuditFindingId::ConnectionSetUp;
    Some(AuditFinding::of(report, id, level, message, &keys))
}

/// ab uses HTTP/1.0, and servers keep few of its connections alive.
fn some_set_up(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{Completed, KeptAlive};
    let (kept, completed) = (report.figure(KeptAlive)?, report.figure(Completed)?);
    if kept.value == 0.0 || kept.value >= KEPT_SHARE * completed.value {
        return None;
    }
    let message = format!(
        "{} of {} requests reused a connection ({}); the others opened one",
        kept.printed,
        completed.printed,
        share(kept.value / completed.value)
    );
    Some(report.bound(
        AuditFindingId::ConnectionSetUp,
        message,
        &[KeptAlive, Completed],
    ))
}

fn once(report: &ToolReport) -> Option<AuditFinding> {
    let key = [FigureKey::Rate, FigureKey::Mean]
        .into_iter()
        .find(|key| report.figure(*key).is_some())?;
    let message = "one run, no interval".to_owned();
    Some(report.note(AuditFindingId::SingleRun, message, &[key]))
}

fn short(report: &ToolReport) -> Option<AuditFinding> {
    let elapsed = report
        .figure(FigureKey::Elapsed)
        .filter(|elapsed| elapsed.high < LONG_S)?;
    let message = printed_time(elapsed);
    Some(report.note(AuditFindingId::ShortRun, message, &[FigureKey::Elapsed]))
}

/// ab uses the two requests after the middle one.
fn odd_median(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{Completed, Median};
    let count = report
        .figure(Completed)
        .filter(|count| count.value % 2.0 == 1.0)?;
    report
        .figure(Median)
        .filter(|_| report.tool == LoadTool::Ab)?;
    let message = format!(
        "{} is odd: as the median, ab prints the mean of the two requests after the middle one",
        count.printed
    );
    Some(report.note(AuditFindingId::ToolsOwnWay, message, &[Completed, Median]))
}

/// httperf counts lifetimes of connections in bins of 1 ms.
fn binned_median(report: &ToolReport) -> Option<AuditFinding> {
    let median = report
        .figure(FigureKey::Median)
        .filter(|_| report.tool == LoadTool::Httperf)?;
    let fraction = (median.value * 1e3).fract();
    if (fraction - 0.5).abs() > 0.01 || median.value > COARSE_S {
        return None;
    }
    let message = format!(
        "the median of {} ms is the middle of a bin of 1 ms, and stands for {} to {} ms",
        median.printed,
        (median.value * 1e3).floor(),
        (median.value * 1e3).ceil()
    );
    Some(report.note(AuditFindingId::ToolsOwnWay, message, &[FigureKey::Median]))
}

/// httperf's times are the lifetimes of connections.
fn life_of_connection(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{ConnectionTimeMean, Mean, TransferMean, WaitingMean};
    let life = report.figure(ConnectionTimeMean)?;
    let mut message = format!(
        "the connection time of {} ms is the life of a connection with several requests",
        life.printed
    );
    if let (Some(mean), Some(waiting), Some(transfer)) = (
        report.figure(Mean),
        report.figure(WaitingMean),
        report.figure(TransferMean),
    ) {
        message = format!(
            "{message}; a request took {} ms: response {} + transfer {}",
            mean.printed, waiting.printed, transfer.printed
        );
    }
    let keys = [ConnectionTimeMean, WaitingMean];
    Some(report.note(AuditFindingId::ToolsOwnWay, message, &keys))
}

fn few_samples(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{RateSamples, RateSpread};
    let samples = report
        .figure(RateSamples)
        .filter(|samples| samples.value < SAMPLES)?;
    let message = format!(
        "the reply rate's min, max and stddev come from {} samples of 5 s; httperf's manual \
         recommends 30 for a standard deviation",
        samples.printed
    );
    Some(report.note(
        AuditFindingId::ToolsOwnWay,
        message,
        &[RateSamples, RateSpread],
    ))
}

fn incomplete(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{AbortedAfter, Completed, Connections, Elapsed, Failed, Mean, Rate};
    if report.figure(AbortedAfter).is_some() {
        return None;
    }
    let required: &[(FigureKey, &str)] = match report.tool {
        LoadTool::Httperf => &[
            (Rate, "rate"),
            (Elapsed, "duration"),
            (Mean, "times"),
            (Failed, "errors"),
        ],
        LoadTool::Hey | LoadTool::Oha => &[(Rate, "rate"), (Elapsed, "duration"), (Mean, "times")],
        LoadTool::Wrk | LoadTool::Wrk2 => &[
            (Connections, "connections"),
            (Rate, "rate"),
            (Elapsed, "duration"),
            (Completed, "requests"),
            (Mean, "times"),
        ],
        LoadTool::Siege => &[
            (Rate, "rate"),
            (Elapsed, "duration"),
            (Completed, "requests"),
            (Failed, "failures"),
        ],
        _ => &[
            (Connections, "connections"),
            (Rate, "rate"),
            (Elapsed, "duration"),
            (Completed, "requests"),
            (Failed, "failures"),
            (Mean, "times"),
        ],
    };
    let missing: Vec<&str> = required
        .iter()
        .filter(|(key, _)| report.figure(*key).is_none())
        .map(|(_, name)| *name)
        .collect();
    if missing.is_empty() {
        return None;
    }
    let message = format!(
        "missing or unreadable: {}; checks that need them were skipped",
        missing.join(", ")
    );
    let lines = [report.line, report.last_line];
    let id = AuditFindingId::Incomplete;
    Some(AuditFinding::at(report, id, Level::Note, message, lines))
}

/// From this share of the mean time on, connection set-up matters.
const SET_UP_SHARE: f64 = 0.1;
const KEPT_SHARE: f64 = 0.9;
/// Runs below this duration are short.
const LONG_S: f64 = 10.0;
/// Bins of 1 ms are coarse for times below this.
const COARSE_S: f64 = 0.02;
const SAMPLES: f64 = 30.0;
