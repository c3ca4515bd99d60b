//! Whether figures that depend on each other agree within rounding.

use abx_evidence::Level;

use super::figures::{printed_time, range};
use crate::figure::{PrintedFigure, Reach};
use crate::finding::{AuditFinding, AuditFindingId};
use crate::report::{FigureKey, LoadTool, ToolReport};

/// A printed figure that can also be computed from others.
#[derive(Clone)]
struct Equation {
    /// The computation in words.
    words: String,
    computed: Reach,
    printed: FigureKey,
    /// The unit of `printed` in those words.
    unit: f64,
    from: Vec<FigureKey>,
}

pub(super) fn check(report: &ToolReport) -> Vec<AuditFinding> {
    let equations = match report.tool {
        LoadTool::Table => Vec::new(),
        LoadTool::Ab => [rates(report), of_ab(report), bytes_of_ab(report)].concat(),
        LoadTool::Httperf => [rates(report), of_httperf(report)].concat(),
        _ => rates(report),
    };
    let mut findings: Vec<AuditFinding> = equations
        .into_iter()
        .filter_map(|equation| contradiction(report, equation))
        .collect();
    findings.extend(orders(report));
    findings.extend(statuses(report));
    findings.extend(differing_connections(report));
    findings.extend(crowd(report));
    findings
}

fn finding(report: &ToolReport, message: String, keys: &[FigureKey]) -> AuditFinding {
    report.void(AuditFindingId::Contradiction, message, keys)
}

fn contradiction(report: &ToolReport, equation: Equation) -> Option<AuditFinding> {
    let printed = report.figure(equation.printed)?;
    if equation.computed.meets(printed.reach()) {
        return None;
    }
    let message = format!(
        "{} = {}, but the report shows {}",
        equation.words,
        range(equation.computed.scaled(1.0 / equation.unit)),
        printed.printed
    );
    let keys = [&equation.from[..], &[equation.printed]].concat();
    Some(finding(report, message, &keys))
}

/// Requests ÷ time.
fn rates(report: &ToolReport) -> Vec<Equation> {
    use FigureKey::{Completed, Elapsed, Rate, Sent, Succeeded};
    let equation = || {
        let elapsed = report.figure(Elapsed)?;
        let (words, count, from) = match report.tool {
            // Their rates include errors, some of which the report may leave out.
            LoadTool::Hey | LoadTool::Oha => {
                let listed: f64 = report.statuses.values().map(|figure| figure.value).sum();
                let at_least = Reach {
                    low: listed,
                    high: f64::INFINITY,
                };
                (format!("at least {listed}"), at_least, vec![Elapsed])
            }
            // Whether the rate includes failures depends on the version.
            LoadTool::H2load => {
                let (done, succeeded) = (report.figure(Completed)?, report.figure(Succeeded)?);
                let either = Reach {
                    low: succeeded.low.min(done.low),
                    high: done.high,
                };
                (done.printed.clone(), either, vec![Completed, Elapsed])
            }
            tool => {
                let key = if tool == LoadTool::Httperf {
                    Sent
                } else {
                    Completed
                };
                let count = report.figure(key)?;
                (count.printed.clone(), count.reach(), vec![key, Elapsed])
            }
        };
        Some(Equation {
            words: format!("{words} requests ÷ {}", printed_time(elapsed)),
            computed: count.over(elapsed.reach()),
            printed: Rate,
            unit: 1.0,
            from,
        })
    };
    equation().into_iter().collect()
}

fn of_ab(report: &ToolReport) -> Vec<Equation> {
    use FigureKey::{
        Completed, ConnectMean, Connections, Elapsed, Mean, MeanComputed, ProcessingMean,
        TimePerRequest,
    };
    let figure = |key| report.figure(key);
    let elapsed = || Some((figure(Elapsed)?, figure(Completed)?));
    let computed = || {
        let ((elapsed, count), connections) = (elapsed()?, figure(Connections)?);
        let sum = elapsed.reach().times(connections.reach());
        Some(Equation {
            words: format!(
                "{} connections × {} ÷ {} requests in ms",
                connections.printed,
                printed_time(elapsed),
                count.printed
            ),
            computed: sum.over(count.reach()),
            printed: MeanComputed,
            unit: 1e-3,
            from: vec![Connections, Elapsed, Completed],
        })
    };
    let per_request = || {
        let (elapsed, count) = elapsed()?;
        Some(Equation {
            words: format!(
                "{} ÷ {} requests in ms",
                printed_time(elapsed),
                count.printed
            ),
            computed: elapsed.reach().over(count.reach()),
            printed: TimePerRequest,
            unit: 1e-3,
            from: vec![Elapsed, Completed],
        })
    };
    let parts = || {
        let (connect, processing) = (figure(ConnectMean)?, figure(ProcessingMean)?);
        Some(Equation {
            words: format!(
                "mean Connect {} + Processing {}",
                connect.printed, processing.printed
            ),
            computed: connect.reach().plus(processing.reach()),
            printed: Mean,
            unit: 1e-3,
            from: vec![ConnectMean, ProcessingMean],
        })
    };
    let equations = [computed(), per_request(), parts()];
    equations.into_iter().flatten().collect()
}

fn bytes_of_ab(report: &ToolReport) -> Vec<Equation> {
    use FigureKey::{BodyLength, BytesBodies, BytesTotal, Completed, Elapsed, Failed, Transfer};
    let figure = |key| report.figure(key);
    let transfer = || {
        let (elapsed, bytes) = (figure(Elapsed)?, figure(BytesTotal)?);
        Some(Equation {
            words: format!(
                "{} bytes ÷ {} in KiB/s",
                bytes.printed,
                printed_time(elapsed)
            ),
            computed: bytes.reach().over(elapsed.reach()),
            printed: Transfer,
            unit: 1024.0,
            from: vec![BytesTotal, Elapsed],
        })
    };
    let length = || {
        let (bytes, count) = (figure(BytesBodies)?, figure(Completed)?);
        // ab counts a response of another length than the first as failed.
        figure(Failed).filter(|failed| failed.value == 0.0)?;
        Some(Equation {
            words: format!(
                "{} bytes of bodies ÷ {} requests",
                bytes.printed, count.printed
            ),
            computed: bytes.reach().over(count.reach()),
            printed: BodyLength,
            unit: 1.0,
            from: vec![BytesBodies, Completed],
        })
    };
    let equations = [transfer(), length()];
    equations.into_iter().flatten().collect()
}

fn of_httperf(report: &ToolReport) -> Vec<Equation> {
    use FigureKey::{
        BodySize, ConnectionRate, CpuShare, CpuSystem, CpuUser, Elapsed, FootSize, HeadSize, Rate,
        ResponseSize, TimePerConnection, TimePerRequest,
    };
    let figure = |key| report.figure(key);
    let inverse = |rate: FigureKey, printed: FigureKey| {
        let per_second = figure(rate).filter(|rate| rate.low > 0.0)?;
        Some(Equation {
            words: format!("1 ÷ {}/s in ms", per_second.printed),
            computed: Reach::exact(1.0).over(per_second.reach()),
            printed,
            unit: 1e-3,
            from: vec![rate],
        })
    };
    let size = || {
        let (head, body, foot) = (figure(HeadSize)?, figure(BodySize)?, figure(FootSize)?);
        Some(Equation {
            words: format!(
                "header {} + content {} + footer {}",
                head.printed, body.printed, foot.printed
            ),
            computed: head.reach().plus(body.reach()).plus(foot.reach()),
            printed: ResponseSize,
            unit: 1.0,
            from: vec![HeadSize],
        })
    };
    let cpu = || {
        let (user, system, elapsed) = (figure(CpuUser)?, figure(CpuSystem)?, figure(Elapsed)?);
        let used = user.reach().plus(system.reach());
        Some(Equation {
            words: format!(
                "({} + {}) s of CPU time ÷ {} in %",
                user.printed,
                system.printed,
                printed_time(elapsed)
            ),
            computed: used.over(elapsed.reach()).scaled(100.0),
            printed: CpuShare,
            unit: 1.0,
            from: vec![CpuUser, Elapsed],
        })
    };
    let equations = [
        inverse(ConnectionRate, TimePerConnection),
        inverse(Rate, TimePerRequest),
        size(),
        cpu(),
    ];
    equations.into_iter().flatten().collect()
}

/// Pairs of figures of which the first must not exceed the second.
fn orders(report: &ToolReport) -> Vec<AuditFinding> {
    use FigureKey::{Completed, Failed, Max, Mean, Median, Min, Not2xx, Sent, Succeeded};
    let mut out = Vec::new();
    let pairs = [
        (Min, Mean, "the shortest time", "the mean"),
        (Min, Median, "the shortest time", "the median"),
        (Mean, Max, "the mean time", "the longest"),
        (Median, Max, "the median time", "the longest"),
        (
            Completed,
            Sent,
            "the number of responses",
            "that of requests",
        ),
        (
            Succeeded,
            Completed,
            "the number of successes",
            "that of responses",
        ),
        (
            Not2xx,
            Completed,
            "the number of errors",
            "that of responses",
        ),
    ];
    for (small_key, large_key, small_name, large_name) in pairs {
        // Siege counts hits, and successes separately.
        if report.tool == LoadTool::Siege && small_key == Succeeded {
            continue;
        }
        if let (Some(small), Some(large)) = (report.figure(small_key), report.figure(large_key))
            && large.reach().is_below(small.reach())
        {
            let message = format!(
                "{small_name} ({}) is above {large_name} ({})",
                small.printed, large.printed
            );
            out.push(finding(report, message, &[small_key, large_key]));
        }
    }
    if report.tool == LoadTool::Ab
        && let (Some(failed), Some(completed)) = (report.figure(Failed), report.figure(Completed))
        && completed.value < failed.value
    {
        let message = format!(
            "{} of {} requests failed",
            failed.printed, completed.printed
        );
        out.push(finding(report, message, &[Failed, Completed]));
    }
    out.extend(quantile_orders(report));
    out
}

fn quantile_orders(report: &ToolReport) -> Vec<AuditFinding> {
    let mut times: Vec<(String, &PrintedFigure)> = report
        .quantiles
        .iter()
        .map(|quantile| (format!("{} %", quantile.percent), &quantile.time))
        .collect();
    let ends = times.last().is_some_and(|(last, _)| last == "100 %");
    let max = report.figure(FigureKey::Max).filter(|_| !ends);
    times.extend(max.map(|max| ("the longest".to_owned(), max)));
    let id = AuditFindingId::Contradiction;
    let mut out = Vec::new();
    for window in times.windows(2) {
        if let [(lower_name, lower), (upper_name, upper)] = window
            && upper.reach().is_below(lower.reach())
        {
            let message = format!(
                "{lower_name} is {}, but {upper_name} is less: {}",
                lower.printed, upper.printed
            );
            let lines = [lower.line, upper.line];
            out.push(AuditFinding::at(report, id, Level::Void, message, lines));
        }
    }
    let of = |percent: f64| {
        report
            .quantiles
            .iter()
            .find(|quantile| quantile.percent == percent)
    };
    for (percent, key) in [(100.0, FigureKey::Max), (50.0, FigureKey::Median)] {
        if report.tool == LoadTool::Ab
            && let (Some(quantile), Some(figure)) = (of(percent), report.figure(key))
            && !quantile.time.reach().meets(figure.reach())
        {
            let message = format!(
                "{percent} % is {}, but the table above it shows {}",
                quantile.time.printed, figure.printed
            );
            let lines = [quantile.time.line, figure.line];
            out.push(AuditFinding::at(report, id, Level::Void, message, lines));
        }
    }
    out
}

/// The responses of all statuses must add up to all responses.
fn statuses(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{Completed, Status1xx, Status2xx, Status3xx, Status4xx, Status5xx};
    if report.tool != LoadTool::Httperf {
        return None;
    }
    let keys = [Status1xx, Status2xx, Status3xx, Status4xx, Status5xx];
    let counts: Option<Vec<f64>> = keys.iter().map(|key| report.value(*key)).collect();
    let sum: f64 = counts?.iter().sum();
    let completed = report
        .figure(Completed)
        .filter(|figure| figure.value != sum)?;
    let message = format!(
        "the statuses add up to {sum} responses, but the report shows {}",
        completed.printed
    );
    Some(finding(report, message, &[Status2xx, Completed]))
}

/// The command must set the number of connections that the report shows.
fn differing_connections(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{AskedConnections, Connections};
    let requested = report.figure(AskedConnections)?;
    let opened = report.figure(Connections)?;
    let message = format!(
        "the command sets {} connections, and the report shows {}",
        requested.printed, opened.printed
    );
    (requested.value != opened.value)
        .then(|| finding(report, message, &[AskedConnections, Connections]))
}

/// More requests in flight than connections.
fn crowd(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{Completed, Connections, Elapsed, Mean};
    if !matches!(report.tool, LoadTool::Ab | LoadTool::Siege) {
        return None;
    }
    let (count, elapsed) = (report.figure(Completed)?, report.figure(Elapsed)?);
    let (mean, connections) = (report.figure(Mean)?, report.figure(Connections)?);
    let busy = count.reach().times(mean.reach()).over(elapsed.reach());
    if !connections.reach().is_below(busy) {
        return None;
    }
    let message = format!(
        "{} requests × {} ÷ {} = {} requests in flight, on {} connections",
        count.printed,
        printed_time(mean),
        printed_time(elapsed),
        range(busy),
        connections.printed
    );
    Some(finding(
        report,
        message,
        &[Completed, Mean, Elapsed, Connections],
    ))
}
