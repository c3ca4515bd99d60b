//! Names of metrics within sentences and headings.

use abx_evidence::Metric;

/// A metric's name within a sentence.
pub(crate) fn metric_name(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "requests/s",
        Metric::ResponseP50 => "p50 response time",
        Metric::ResponseP90 => "p90 response time",
        Metric::ResponseP99 => "p99 response time",
        Metric::ResponseP999 => "p99.9 response time",
        Metric::ServerCpu => "CPU for each answer",
        Metric::Memory => "memory",
        Metric::ContextSwitches => "context switches for each answer",
        Metric::WireBytes => "bytes for each answer",
        Metric::Capacity => "capacity",
        Metric::ReadyTime => "time to be ready",
        Metric::ColdStart => "share of speed when cold",
    }
}

/// A name at the start of a sentence.
pub(crate) fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
