//! What limits a report: findings with their figures and lines.

use std::collections::BTreeSet;

use abx_evidence::Level;
use serde::Serialize;

use crate::report::{FigureKey, ToolReport};

/// The kind of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditFindingId {
    /// The tool ended without a result.
    Aborted,
    /// Responses that were errors.
    ErrorResponses,
    /// Requests without a correct response.
    FailedRequests,
    /// Figures that contradict each other.
    Contradiction,
    /// Bodies of different lengths compared.
    DifferentBodies,
    /// Runs that differ in more than the server.
    DifferentRuns,
    /// Fewer requests in flight than connections.
    IdleConnections,
    /// Requests one after the other.
    OneAtATime,
    /// A rate that was set for the generator.
    AskedRate,
    /// A paced run that did not reach its rate.
    Saturated,
    /// Failures that a limit of the generator caused.
    GeneratorLimit,
    /// A generator near its limit.
    GeneratorCpu,
    /// A generator that reads its sockets late.
    LateGenerator,
    /// Times of runs with different numbers of requests in flight.
    DifferentUnderWay,
    /// A difference that identical servers show too.
    SmallDifference,
    /// Figures without tool, load or duration.
    BareFigures,
    /// One connection per request.
    ConnectionSetUp,
    /// A quantile from few requests.
    FewForQuantile,
    QuantileIsMaximum,
    /// Times that are printed too coarsely.
    CoarseTimes,
    /// A figure that the tool does not compute as its name suggests.
    ToolsOwnWay,
    SingleRun,
    ShortRun,
    DifferentHeads,
    /// Figures that another report has too.
    SameFigures,
    Incomplete,
}

impl AuditFindingId {
    /// What the finding means, for all reports that have it.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        use AuditFindingId as Id;
        match self {
            Id::Aborted => "The tool ended early: there is no result.",
            Id::ErrorResponses => {
                "Errors or redirects instead of the page: their rate shows nothing about the page."
            }
            Id::FailedRequests => {
                "Requests without a correct response: the rate includes incorrect ones."
            }
            Id::Contradiction => "Figures that contradict each other by more than rounding.",
            Id::DifferentBodies => "Different bodies: the servers did not do the same work.",
            Id::DifferentRuns => "Runs that differ in more than the server.",
            Id::IdleConnections => {
                "Connections without a request (Little's law): the generator did not keep them \
                 busy, so the server may serve more than this rate."
            }
            Id::OneAtATime => {
                "One request at a time: this shows a time, not how much the server can serve."
            }
            Id::AskedRate => "The rate was set: it is not what the server can serve.",
            Id::Saturated => {
                "The requested rate was not reached: the server or the generator was saturated, so \
                 the rate is about its capacity."
            }
            Id::GeneratorLimit => {
                "The generator reached its own limit: these failures do not come from the server."
            }
            Id::GeneratorCpu => {
                "The generator was busy: it, or a shared CPU, may have been the limit."
            }
            Id::LateGenerator => {
                "The generator was late: its times include the delay, and the server may serve \
                 more."
            }
            Id::DifferentUnderWay => {
                "Times at different numbers of requests in flight: a request waits for those \
                 before it, so the times do not show which server responds faster."
            }
            Id::SmallDifference => {
                "Differences that identical servers also show when each is loaded once."
            }
            Id::BareFigures => "Figures without their tool, load or duration.",
            Id::ConnectionSetUp => {
                "One connection per request: this measures connection set-up together with the \
                 server."
            }
            Id::FewForQuantile => "Quantiles from few requests: fewer than 100 were slower.",
            Id::QuantileIsMaximum => "A quantile that equals the slowest request.",
            Id::CoarseTimes => "Times near the smallest time that the tool prints.",
            Id::ToolsOwnWay => "Figures that do not mean what their names suggest.",
            Id::SingleRun => "One run each: another run may differ by an unknown amount.",
            Id::ShortRun => {
                "Short runs: the figures include the start, and events rarer than once in a third \
                 of that time may be missing."
            }
            Id::DifferentHeads => {
                "Heads of different lengths: the responses differ in more than the body."
            }
            Id::SameFigures => "The same figures twice: they count once.",
            Id::Incomplete => "Reports with missing or unreadable lines.",
        }
    }
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FileLine {
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

/// One finding about one or more reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditFinding {
    pub id: AuditFindingId,
    /// How far it limits what may be claimed.
    pub level: Level,
    /// The names of the reports.
    pub reports: Vec<String>,
    pub message: String,
    /// The lines that the finding is based on.
    pub rests_on: Vec<FileLine>,
}

impl ToolReport {
    /// A note about this report, based on these figures.
    pub(crate) fn note(
        &self,
        id: AuditFindingId,
        message: String,
        keys: &[FigureKey],
    ) -> AuditFinding {
        AuditFinding::of(self, id, Level::Note, message, keys)
    }

    /// A finding that makes the report's rate a bound.
    pub(crate) fn bound(
        &self,
        id: AuditFindingId,
        message: String,
        keys: &[FigureKey],
    ) -> AuditFinding {
        AuditFinding::of(self, id, Level::Bound, message, keys)
    }

    /// A finding that makes the report void.
    pub(crate) fn void(
        &self,
        id: AuditFindingId,
        message: String,
        keys: &[FigureKey],
    ) -> AuditFinding {
        AuditFinding::of(self, id, Level::Void, message, keys)
    }
}

impl AuditFinding {
    /// A finding about one report, based on these figures.
    pub(crate) fn of(
        report: &ToolReport,
        id: AuditFindingId,
        level: Level,
        message: String,
        keys: &[FigureKey],
    ) -> AuditFinding {
        let figures = keys.iter().filter_map(|key| report.figure(*key));
        AuditFinding::at(
            report,
            id,
            level,
            message,
            figures.map(|figure| figure.line),
        )
    }

    /// A finding about one report, based on these lines of its file.
    pub(crate) fn at(
        report: &ToolReport,
        id: AuditFindingId,
        level: Level,
        message: String,
        lines: impl IntoIterator<Item = usize>,
    ) -> AuditFinding {
        let mut lines: BTreeSet<usize> = lines.into_iter().collect();
        if lines.is_empty() {
            lines.insert(report.line);
        }
        let line = |line| FileLine {
            file: report.file.clone(),
            line,
        };
        AuditFinding {
            id,
            level,
            reports: vec![report.name.clone()],
            message,
            rests_on: lines.into_iter().map(line).collect(),
        }
    }
}

/// Merges equal findings about several reports into one.
pub(crate) fn merged(findings: Vec<AuditFinding>) -> Vec<AuditFinding> {
    let mut out: Vec<AuditFinding> = Vec::new();
    for finding in findings {
        let is_same = |other: &&mut AuditFinding| {
            (other.id, other.level, &other.message) == (finding.id, finding.level, &finding.message)
        };
        match out.iter_mut().find(is_same) {
            Some(other) => {
                other.reports.extend(finding.reports);
                other.rests_on.extend(finding.rests_on);
            }
            None => out.push(finding),
        }
    }
    out.sort_by_key(|finding| (std::cmp::Reverse(finding.level), finding.id));
    out
}
