//! How many requests quantiles are based on, and how coarse times are.

use abx_evidence::Level;

use super::figures::rounded;
use crate::finding::{AuditFinding, AuditFindingId};
use crate::report::{FigureKey, LoadTool, PrintedQuantile, ToolReport};

pub(super) fn check(report: &ToolReport) -> Vec<AuditFinding> {
    let findings = [few(report), maximum(report), coarse(report)];
    findings.into_iter().flatten().collect()
}

/// The quantiles below 100 %.
fn inner(report: &ToolReport) -> impl DoubleEndedIterator<Item = &PrintedQuantile> {
    report
        .quantiles
        .iter()
        .filter(|quantile| quantile.percent < 100.0)
}

fn few(report: &ToolReport) -> Option<AuditFinding> {
    let listed: f64 = report.statuses.values().map(|figure| figure.value).sum();
    let count = report
        .value(FigureKey::Completed)
        .or((listed > 0.0).then_some(listed))?;
    let slower = |quantile: &PrintedQuantile| count * (100.0 - quantile.percent) / 100.0;
    let is_few = |quantile: &&PrintedQuantile| slower(quantile) < ENOUGH - 1e-6;
    let few: Vec<&PrintedQuantile> = inner(report).filter(is_few).collect();
    if few.is_empty() {
        return None;
    }
    let above = |quantile: &&PrintedQuantile| {
        let requests = slower(quantile).ceil();
        format!("{requests:.0} above {} %", quantile.percent)
    };
    let words: Vec<String> = few.iter().map(above).collect();
    let message = format!("of {count} requests: {}", words.join(", "));
    let mut lines: Vec<usize> = few.iter().map(|quantile| quantile.time.line).collect();
    lines.extend(
        report
            .figure(FigureKey::Completed)
            .map(|figure| figure.line),
    );
    let id = AuditFindingId::FewForQuantile;
    Some(AuditFinding::at(report, id, Level::Note, message, lines))
}

fn maximum(report: &ToolReport) -> Option<AuditFinding> {
    let last = report
        .quantiles
        .iter()
        .find(|quantile| quantile.percent == 100.0);
    let max = last
        .map(|quantile| &quantile.time)
        .or(report.figure(FigureKey::Max))?;
    let same: Vec<&PrintedQuantile> = inner(report)
        .filter(|quantile| quantile.time.value == max.value)
        .collect();
    let first = same.first()?;
    let mut message = format!(
        "{} % and the slowest request are both {}",
        first.percent, first.time.printed
    );
    let count = report.figure(FigureKey::Completed);
    if let Some(count) = count.filter(|count| report.tool == LoadTool::Ab && count.value <= 100.0) {
        message.push_str(&format!(
            ": of {} requests, ab takes the last one",
            count.printed
        ));
    }
    let lines = same
        .iter()
        .map(|quantile| quantile.time.line)
        .chain([max.line]);
    let id = AuditFindingId::QuantileIsMaximum;
    Some(AuditFinding::at(report, id, Level::Note, message, lines))
}

/// Times of few milliseconds, printed in whole milliseconds.
fn coarse(report: &ToolReport) -> Option<AuditFinding> {
    let key = [FigureKey::Median, FigureKey::Mean]
        .into_iter()
        .find(|key| report.figure(*key).is_some())?;
    let time = report
        .figure(key)
        .filter(|_| report.tool != LoadTool::Table)?;
    let width = (time.high - time.low) / 2.0;
    // Another finding reports httperf's median.
    if time.value >= COARSE_STEPS * width || width <= 0.0 || report.tool == LoadTool::Httperf {
        return None;
    }
    let message = format!(
        "the {} may be anything from {} to {} ms",
        if key == FigureKey::Median {
            "median"
        } else {
            "mean"
        },
        rounded(time.low * 1e3),
        rounded(time.high * 1e3)
    );
    Some(report.note(AuditFindingId::CoarseTimes, message, &[key]))
}

/// This many requests must be slower than a quantile for it to be reliable.
const ENOUGH: f64 = 100.0;
/// A time of fewer steps of its last digit than this is coarse.
const COARSE_STEPS: f64 = 5.0;
