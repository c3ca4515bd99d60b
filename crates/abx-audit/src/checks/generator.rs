//! Whether the generator was the limit, not the server.

use abx_evidence::Level;

use super::figures::{printed_time, rounded, share, whole};
use crate::figure::{PrintedFigure, Reach};
use crate::finding::{AuditFinding, AuditFindingId};
use crate::report::{FigureKey, LoadTool, ToolReport, WordKey};

/// The mean number of requests in flight, by Little's law.
pub(crate) struct InFlight {
    /// Computed from the report's figures.
    pub(crate) mean: Reach,
    /// The upper bound outside a period as long as the longest request, during which only that
    /// request may have been in flight.
    pub(crate) at_most: f64,
}

/// The mean number of requests in flight, if the report shows it.
pub(crate) fn in_flight(report: &ToolReport) -> Option<InFlight> {
    let elapsed = report.reach(FigureKey::Elapsed)?;
    let mean = report.reach(FigureKey::Mean)?;
    let count = match report.tool {
        LoadTool::Table => return None,
        LoadTool::Hey | LoadTool::Oha => {
            let listed: f64 = report.statuses.values().map(|figure| figure.value).sum();
            Reach::exact(Some(listed).filter(|listed| *listed > 0.0)?)
        }
        _ => report.reach(FigureKey::Completed)?,
    };
    let busy = count.times(mean);
    let without_longest = report.reach(FigureKey::Max).map(|max| elapsed.minus(max));
    let at_most = match without_longest {
        Some(time) if time.low > 0.0 => busy.high / time.low,
        Some(_) => f64::INFINITY,
        None => busy.over(elapsed).high,
    };
    Some(InFlight {
        mean: busy.over(elapsed),
        at_most,
    })
}

pub(super) fn check(report: &ToolReport) -> Vec<AuditFinding> {
    let findings = [
        idle_connections(report),
        one_at_a_time(report),
        requested_rate(report),
        cpu(report),
        late(report),
        corrected(report),
    ];
    findings.into_iter().flatten().collect()
}

/// Whether the request rate was set.
fn is_paced(report: &ToolReport) -> bool {
    report.tool == LoadTool::Wrk2
        || report
            .value(FigureKey::AskedRate)
            .is_some_and(|rate| rate > 0.0)
}

fn idle_connections(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{
        AskedConnections, Completed, Connections, Elapsed, Max, Mean, MeanComputed, Rate,
    };
    let connections = report
        .figure(Connections)
        .or(report.figure(AskedConnections))?;
    let in_flight = in_flight(report)?;
    if is_paced(report) || connections.value < 2.0 {
        return None;
    }
    if in_flight.at_most >= IDLE_SHARE * connections.value {
        return None;
    }
    let mean = report.figure(Mean)?;
    let rate = report.rate()?.printed;
    let mut message = format!(
        "about {} of {} connections had a request in flight ({}: {rate}/s × {})",
        whole(in_flight.mean.middle()),
        connections.printed,
        share(in_flight.mean.middle() / connections.value),
        printed_time(mean)
    );
    if let Some(max) = report.figure(Max) {
        message.push_str(&format!(
            ", or at most {} if only one was busy for as long as the longest request took ({})",
            whole(in_flight.at_most),
            printed_time(max)
        ));
    }
    match (report.tool, report.printed(MeanComputed)) {
        (LoadTool::Ab, Some(computed)) => message.push_str(&format!(
            ". None of ab's times includes the rest; its \"Time per request\" of \
             {computed} ms is connections × time ÷ requests, not measured"
        )),
        (LoadTool::Siege, _) => message.push_str(", unless it paused between requests (-d)"),
        (LoadTool::Hey | LoadTool::Oha | LoadTool::H2load, _) => {
            message.push_str(", unless a rate was set");
        }
        _ => {}
    }
    let keys = [Completed, Connections, Elapsed, Max, Mean, Rate];
    Some(report.bound(AuditFindingId::IdleConnections, message, &keys))
}

fn requested_rate(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{AskedRate, Mean};
    if !is_paced(report) {
        return None;
    }
    let rate = paced_rate(report);
    let reached = rate.as_ref().map_or("-", |(_, rate)| rate.printed.as_str());
    let keys = [
        AskedRate,
        rate.as_ref().map_or(FigureKey::Rate, |(key, _)| *key),
        Mean,
    ];
    if let Some(message) = saturated(report) {
        let id = AuditFindingId::Saturated;
        return Some(report.bound(id, message, &keys));
    }
    let message = match report.printed(AskedRate) {
        Some(target) => format!("the target rate was {target}, and the report shows {reached}/s"),
        None => format!("wrk2 sends at the rate that -R sets, and the report shows {reached}/s"),
    };
    let id = AuditFindingId::AskedRate;
    Some(AuditFinding::of(
        report,
        id,
        Level::Bound,
        message,
        &keys[..2],
    ))
}

/// How far a paced run fell short of its rate.
fn saturated(report: &ToolReport) -> Option<String> {
    let (_, reached) = paced_rate(report)?;
    let mean = report.figure(FigureKey::Mean);
    if let Some(target) = requested_total(report).filter(|target| reached.high < REACHED * target) {
        let mean = mean.map(|mean| format!(", at a mean time of {}", printed_time(mean)));
        return Some(format!(
            "the run reached {}/s of its target of {}/s{}",
            reached.printed,
            rounded(target),
            mean.unwrap_or_default()
        ));
    }
    // wrk2 measures from when a request was due, so its times include queueing.
    let (connections, in_flight) = (report.figure(FigureKey::Connections)?, in_flight(report)?);
    let is_queue =
        report.tool == LoadTool::Wrk2 && in_flight.mean.low > QUEUE * connections.value.max(1.0);
    is_queue.then(|| {
        format!(
            "{}/s × {} = {} requests in flight or late, on {} connections",
            reached.printed,
            mean.map_or_else(|| "-".to_owned(), printed_time),
            whole(in_flight.mean.middle()),
            connections.printed
        )
    })
}

/// The rate that a paced generator controls: for httperf, that of connections.
pub(super) fn paced_rate(report: &ToolReport) -> Option<(FigureKey, PrintedFigure)> {
    let key = FigureKey::ConnectionRate;
    match report.tool {
        LoadTool::Httperf => Some((key, report.figure(key)?.clone())),
        _ => Some((FigureKey::Rate, report.rate()?)),
    }
}

/// The requested rate, of all connections together.
pub(super) fn requested_total(report: &ToolReport) -> Option<f64> {
    let target = report
        .value(FigureKey::AskedRate)
        .filter(|rate| *rate > 0.0)?;
    match report.tool {
        // Their rate is per connection.
        LoadTool::Hey | LoadTool::H2load => {
            Some(target * report.value(FigureKey::AskedConnections)?)
        }
        _ => Some(target),
    }
}

fn one_at_a_time(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{Connections, ConnectionsMost, Rate, TimePerRequest, WaitingMean};
    let key = match report.tool {
        LoadTool::Httperf => ConnectionsMost,
        LoadTool::H2load => return None,
        _ => Connections,
    };
    let most = report.figure(key).filter(|most| most.value <= 1.0)?;
    // httperf may have several calls in flight on a connection, and a rate that leaves gaps
    // shows even less.
    let mut message = format!("at most {} connection at a time", most.printed);
    if let (Some(period), Some(wait)) = (report.figure(TimePerRequest), report.figure(WaitingMean))
        && report.tool == LoadTool::Httperf
        && !is_paced(report)
    {
        message.push_str(&format!(
            ": one request every {} ms, {} ms of which is the wait for the first byte of the \
             response",
            period.printed, wait.printed
        ));
    }
    let keys = [key, Rate, TimePerRequest, WaitingMean];
    Some(report.bound(AuditFindingId::OneAtATime, message, &keys))
}

fn cpu(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{CpuShare, CpuSystem, CpuUser};
    let used = report
        .figure(CpuShare)
        .filter(|used| used.low >= CPU_SHARE)?;
    let mut message = format!(
        "httperf used {} % of one CPU; it never sleeps, so this does not show whether it was the \
         limit",
        used.printed
    );
    if let Some(host) = report.own_host() {
        message.push_str(&format!(
            ". The server was on the same machine ({host}), so they shared its CPUs"
        ));
    }
    let keys = [CpuShare, CpuUser, CpuSystem];
    Some(report.bound(AuditFindingId::GeneratorCpu, message, &keys))
}

/// On one machine, the kernel completes a connection within the connect call, before the server
/// accepts it. A longer connection time is therefore the generator's delay. A connection for which
/// the server has no room takes a second or more.
fn late(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{ConnectMean, ConnectMin, Mean};
    let host = report.own_host()?;
    let (least, mean) = (report.figure(ConnectMin)?, report.figure(ConnectMean)?);
    let is_late = least.low >= LATE_S && least.high < UNRECEIVED_S;
    if !is_late || report.tool != LoadTool::Ab || report.word(WordKey::Tls).is_some() {
        return None;
    }
    let message = format!(
        "connecting to {host} took at least {}, and {} on average. On one machine, the kernel \
         connects at once, without the server, so ab caused the delay. It reads responses in the \
         same loop",
        printed_time(least),
        printed_time(mean)
    );
    let keys = [ConnectMin, ConnectMean, Mean];
    Some(report.bound(AuditFindingId::LateGenerator, message, &keys))
}

/// wrk adds the times of requests that it did not send.
fn corrected(report: &ToolReport) -> Option<AuditFinding> {
    use FigureKey::{Completed, Connections, Elapsed, Mean};
    let connections = report.figure(Connections)?;
    let in_flight = in_flight(report)?;
    if report.tool != LoadTool::Wrk || in_flight.mean.low <= CORRECTED * connections.value {
        return None;
    }
    let message = format!(
        "the printed mean implies {} requests in flight on {} connections: wrk adds times of \
         requests that it would have sent, so its times are not those of the {} requests",
        whole(in_flight.mean.middle()),
        connections.printed,
        report.printed(Completed).unwrap_or("counted")
    );
    let keys = [Completed, Connections, Elapsed, Mean];
    Some(report.note(AuditFindingId::ToolsOwnWay, message, &keys))
}

/// Connections were idle if fewer than this share of them can have been busy.
const IDLE_SHARE: f64 = 0.9;
/// In percent: a busier generator has no CPU time left.
const CPU_SHARE: f64 = 85.0;
/// No kernel takes this long to connect on one machine.
const LATE_S: f64 = 0.002;
/// The earliest retry of a connection that the server had no room for.
const UNRECEIVED_S: f64 = 0.2;
/// More than rounding and the start and end of a run explain.
const CORRECTED: f64 = 1.1;
/// A generator that keeps up reaches this share of the requested rate.
const REACHED: f64 = 0.9;
/// With this many requests in flight per connection, requests wait for a connection.
const QUEUE: f64 = 2.0;
