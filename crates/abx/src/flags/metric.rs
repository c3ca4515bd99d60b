//! Metrics by their names on the command line.

use abx_verdict::Metric;
use clap::ValueEnum;

/// The metric to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MetricName {
    /// Verified responses per second.
    Throughput,
    /// CPU time of the server per response.
    Cpu,
    /// The response time of 99 % of the requests, at a --rate.
    P99,
    /// Memory of the server after the load.
    Memory,
}

impl MetricName {
    /// The metric of this name.
    pub fn metric(self) -> Metric {
        match self {
            MetricName::Throughput => Metric::Throughput,
            MetricName::Cpu => Metric::ServerCpu,
            MetricName::P99 => Metric::ResponseP99,
            MetricName::Memory => Metric::Memory,
        }
    }
}
