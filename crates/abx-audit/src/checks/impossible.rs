//! Figures that are impossible for any run.

use abx_evidence::Level;

use super::figures::{printed_time, rounded};
use super::generator::{paced_rate, requested_total};
use crate::finding::{AuditFinding, AuditFindingId};
use crate::report::{FigureKey, LoadTool, ToolReport};

pub(super) fn check(report: &ToolReport) -> Vec<AuditFinding> {
    let findings = [
        duration(report),
        longer_than_run(report),
        rate(report),
        above_requested(report),
    ];
    findings.into_iter().flatten().collect()
}

fn finding(report: &ToolReport, message: String, keys: &[FigureKey]) -> AuditFinding {
    report.void(AuditFindingId::Contradiction, message, keys)
}

/// A duration that is zero, or far longer than requested.
fn duration(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{AskedDuration, Completed, Elapsed};
    let elapsed = report.figure(Elapsed)?;
    let requested = report.figure(AskedDuration);
    let most = match requested {
        Some(requested) => 1.5 * requested.high + SLOW_END_S,
        None => LONGEST_S,
    };
    let is_zero = elapsed.value <= 0.0 && report.value(Completed).is_some_and(|count| count > 0.0);
    if elapsed.low <= most && !is_zero {
        return None;
    }
    let mut message = format!("a duration of {} is impossible", printed_time(elapsed));
    if let Some(requested) = requested {
        message = format!("{message}: the run was set to {}", printed_time(requested));
        if let Some(count) = report.figure(Completed) {
            message = format!(
                "{message}; {} requests in that time would be about {}/s",
                count.printed,
                rounded(count.value / requested.value)
            );
        }
    }
    Some(finding(
        report,
        message,
        &[Elapsed, AskedDuration, Completed],
    ))
}

/// A request that took longer than the whole run.
fn longer_than_run(report: &ToolReport) -> Option<AuditFinding> {
    let elapsed = report.figure(FigureKey::Elapsed)?;
    let keys = [
        FigureKey::Max,
        FigureKey::Mean,
        FigureKey::Median,
        FigureKey::ConnectionTimeMax,
        FigureKey::ConnectionTimeMean,
    ];
    let figures = keys.iter().filter_map(|key| report.figure(*key));
    let quantiles = report.quantiles.iter().map(|quantile| &quantile.time);
    let longest = figures
        .chain(quantiles)
        .max_by(|time, other| time.low.total_cmp(&other.low))?;
    let is_table = report.tool == LoadTool::Table;
    if is_table || longest.low <= CLOCKS * elapsed.high + CLOCK_STEP_S {
        return None;
    }
    let message = format!(
        "a request of {} cannot be part of a run of {}",
        printed_time(longest),
        printed_time(elapsed)
    );
    let id = AuditFindingId::Contradiction;
    let lines = [longest.line, elapsed.line];
    Some(AuditFinding::at(report, id, Level::Void, message, lines))
}

fn rate(report: &ToolReport) -> Option<AuditFinding> {
    let rate = report.figure(FigureKey::Rate)?;
    (rate.low > RATE_MOST).then(|| {
        let message = format!(
            "a rate of {}/s is impossible for one generator",
            rate.printed
        );
        finding(report, message, &[FigureKey::Rate])
    })
}

/// A generator that paces its requests does not send several times as many.
fn above_requested(report: &ToolReport) -> Option<AuditFinding> {
    let requested = requested_total(report)?;
    let (key, reached) = paced_rate(report)?;
    if reached.low <= ABOVE_REQUESTED * requested {
        return None;
    }
    let message = format!(
        "{}/s is {} times the target rate of {}/s",
        reached.printed,
        rounded(reached.value / requested),
        rounded(requested)
    );
    Some(finding(report, message, &[key, FigureKey::AskedRate]))
}

/// About a year: no run of a load generator lasts this long.
const LONGEST_S: f64 = 3.2e7;
/// How long a generator may wait for requests in flight after the requested time.
const SLOW_END_S: f64 = 600.0;
/// Two clocks of one run differ by less than this factor.
const CLOCKS: f64 = 1.1;
/// The coarsest clock of a tool.
const CLOCK_STEP_S: f64 = 0.02;
/// No single generator reaches this rate, in requests/s.
const RATE_MOST: f64 = 1e8;
/// A rate that catches up after a pause stays below this multiple of the requested rate.
const ABOVE_REQUESTED: f64 = 1.5;
