//! Names of metrics within sentences and headings.

use abx_evidence::LoadShape;
use abx_verdict::{Comparison, Metric, StudyRecord};

use crate::words::wrap::clean_name;

pub(crate) fn metric_name(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "requests/s",
        Metric::ResponseP50 => "p50 response time",
        Metric::ResponseP90 => "p90 response time",
        Metric::ResponseP99 => "p99 response time",
        Metric::ResponseP999 => "p99.9 response time",
        Metric::ServerCpu => "CPU per response",
        Metric::Memory => "memory",
        Metric::ServerUserCpu => "user CPU per response",
        Metric::ServerSystemCpu => "system CPU per response",
        Metric::PageFaults => "page faults per response",
        Metric::ContextSwitches => "context switches per response",
        Metric::WireBytes => "bytes per response",
        Metric::HandshakeP50 => "p50 TLS handshake time",
        Metric::BroadcastFirstP50 => "p50 time to the first listener",
        Metric::BroadcastMedianP50 => "p50 time to half of the listeners",
        Metric::MemoryPerConnection => "memory per connection",
        Metric::ConnectRate => "connections opened per second",
        Metric::Capacity => "capacity",
        Metric::ReadyTime => "startup time",
        Metric::ColdStart => "cold-start throughput",
        Metric::Recovery => "time to recover",
        Metric::StepP50 => "p50 response time of a step",
        Metric::StepP99 => "p99 response time of a step",
    }
}

/// The name of a metric under a load, by the shape of its traffic; the plain name without a load
/// or for several.
pub(crate) fn metric_under(record: &StudyRecord, load: &str, metric: Metric) -> &'static str {
    match (metric, shape_under(record, load)) {
        (Metric::Throughput, shape) => rate_name(shape),
        (Metric::ResponseP50, LoadShape::Broadcast) => "p50 time to the last listener",
        (Metric::ResponseP90, LoadShape::Broadcast) => "p90 time to the last listener",
        (Metric::ResponseP99, LoadShape::Broadcast) => "p99 time to the last listener",
        (Metric::ResponseP999, LoadShape::Broadcast) => "p99.9 time to the last listener",
        (Metric::ResponseP50, LoadShape::Scenario) => "p50 session time",
        (Metric::ResponseP90, LoadShape::Scenario) => "p90 session time",
        (Metric::ResponseP99, LoadShape::Scenario) => "p99 session time",
        (Metric::ResponseP999, LoadShape::Scenario) => "p99.9 session time",
        (Metric::ServerCpu, LoadShape::Scenario) => "CPU per session",
        (Metric::ServerUserCpu, LoadShape::Scenario) => "user CPU per session",
        (Metric::ServerSystemCpu, LoadShape::Scenario) => "system CPU per session",
        (Metric::PageFaults, LoadShape::Scenario) => "page faults per session",
        (Metric::ContextSwitches, LoadShape::Scenario) => "context switches per session",
        (Metric::WireBytes, LoadShape::Scenario) => "bytes per session",
        _ => metric_name(metric),
    }
}

/// The metric of a comparison, with its step if it has one.
pub(crate) fn metric_of(record: &StudyRecord, comparison: &Comparison) -> String {
    let Some(step) = &comparison.step else {
        return metric_under(record, &comparison.load, comparison.metric).to_owned();
    };
    let quantile = match comparison.metric {
        Metric::StepP99 => "p99",
        _ => "p50",
    };
    format!("{quantile} of step {}", clean_name(step))
}

pub(crate) fn shape_under(record: &StudyRecord, load: &str) -> LoadShape {
    let load_record = record.measured.load(load);
    load_record.map_or(LoadShape::Request, |load| load.settings.exchange.shape)
}

/// The unit whose CPU time is compared under a load.
pub(crate) fn cost_unit(shape: LoadShape) -> &'static str {
    match shape {
        LoadShape::Scenario => "session",
        _ => "response",
    }
}

pub(crate) fn rate_under(record: &StudyRecord, load: &str) -> &'static str {
    rate_name(shape_under(record, load))
}

/// The unit of throughput of all loads; "per second" if they differ.
pub(crate) fn rate_of_all(record: &StudyRecord) -> &'static str {
    let loads = record.measured.loads.iter();
    let mut rates = loads.map(|load| rate_name(load.settings.exchange.shape));
    let Some(rate) = rates.next() else {
        return rate_name(LoadShape::default());
    };
    if rates.all(|other| other == rate) {
        rate
    } else {
        "per second"
    }
}

pub(crate) fn rate_name(shape: LoadShape) -> &'static str {
    match shape {
        LoadShape::Request => "requests/s",
        LoadShape::Echo => "messages/s",
        LoadShape::Broadcast => "broadcasts/s",
        LoadShape::Connections => "connections/s",
        LoadShape::Scenario => "sessions/s",
    }
}

pub(crate) fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
