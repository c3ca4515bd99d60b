//! The metrics by which subjects are compared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The metric that is compared.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Verified responses per second.
    Throughput,
    /// The response time of half of the requests.
    ResponseP50,
    /// The response time that 90 % of the requests do not exceed.
    ResponseP90,
    /// The response time that 99 % of the requests do not exceed.
    ResponseP99,
    /// The response time that 99.9 % of the requests do not exceed.
    #[serde(rename = "response_p99_9")]
    ResponseP999,
    /// The subject's CPU time per complete response.
    ServerCpu,
    /// Memory of all its processes after the load, shared pages counted once.
    Memory,
    /// The part of that CPU time in user mode.
    ServerUserCpu,
    /// The part of that CPU time in the kernel.
    ServerSystemCpu,
    /// Page faults per complete response.
    PageFaults,
    /// Context switches of its threads per complete response.
    ContextSwitches,
    /// Bytes received per complete response.
    WireBytes,
    /// The time of half of the TLS handshakes.
    #[serde(rename = "handshake_p50")]
    HandshakeP50,
    /// The time until the first listener has half of the broadcasts.
    #[serde(rename = "broadcast_first_p50")]
    BroadcastFirstP50,
    /// The time until half of the listeners have half of the broadcasts.
    #[serde(rename = "broadcast_median_p50")]
    BroadcastMedianP50,
    /// Memory per idle connection.
    MemoryPerConnection,
    /// Connections opened per second, handshake included.
    ConnectRate,
    /// The highest rate at which it meets an objective.
    Capacity,
    /// The time from its start to the first correct response.
    ReadyTime,
    /// Throughput in the warm-up after a fresh start, as a share of that in the
    /// slices that followed.
    ColdStart,
    /// The time from a fault to the last request that was lost or delayed.
    Recovery,
    /// The response time of half of the requests of one step of a scenario.
    StepP50,
    /// The response time that 99 % of the requests of one step of a scenario do not exceed.
    StepP99,
}

/// The meaning of a metric for a subject: whether more is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense {
    Speed,
    Time,
    /// Something that the subject needs; a difference is called less or more.
    Cost,
}

/// A quantile rests on at least this many requests beyond it in each block.
const BEYOND_MIN: f64 = 100.0;

impl Metric {
    /// All metrics, in the order in which they are printed.
    pub const ALL: [Metric; 23] = [
        Metric::Throughput,
        Metric::ResponseP50,
        Metric::ResponseP90,
        Metric::ResponseP99,
        Metric::ResponseP999,
        Metric::ServerCpu,
        Metric::Memory,
        Metric::ServerUserCpu,
        Metric::ServerSystemCpu,
        Metric::PageFaults,
        Metric::ContextSwitches,
        Metric::WireBytes,
        Metric::HandshakeP50,
        Metric::BroadcastFirstP50,
        Metric::BroadcastMedianP50,
        Metric::MemoryPerConnection,
        Metric::ConnectRate,
        Metric::Capacity,
        Metric::ReadyTime,
        Metric::ColdStart,
        Metric::Recovery,
        Metric::StepP50,
        Metric::StepP99,
    ];

    /// The metrics of each step of a scenario.
    pub const STEP: [Metric; 2] = [Metric::StepP50, Metric::StepP99];

    /// The quantiles of response times, the highest last.
    pub const RESPONSE: [Metric; 4] = [
        Metric::ResponseP50,
        Metric::ResponseP90,
        Metric::ResponseP99,
        Metric::ResponseP999,
    ];

    /// The meaning of a higher value.
    #[must_use]
    pub fn sense(self) -> Sense {
        match self {
            Metric::Throughput | Metric::ConnectRate | Metric::Capacity | Metric::ColdStart => {
                Sense::Speed
            }
            Metric::ResponseP50
            | Metric::ResponseP90
            | Metric::ResponseP99
            | Metric::ResponseP999
            | Metric::HandshakeP50
            | Metric::BroadcastFirstP50
            | Metric::BroadcastMedianP50
            | Metric::ReadyTime
            | Metric::Recovery
            | Metric::StepP50
            | Metric::StepP99 => Sense::Time,
            Metric::ServerCpu
            | Metric::Memory
            | Metric::ServerUserCpu
            | Metric::ServerSystemCpu
            | Metric::PageFaults
            | Metric::ContextSwitches
            | Metric::WireBytes
            | Metric::MemoryPerConnection => Sense::Cost,
        }
    }

    /// The share of requests, of a load or a step, that do not exceed a quantile of response
    /// times; `None` for other metrics.
    #[must_use]
    pub fn quantile(self) -> Option<f64> {
        match self {
            Metric::ResponseP50 | Metric::StepP50 => Some(0.5),
            Metric::ResponseP90 => Some(0.9),
            Metric::ResponseP99 | Metric::StepP99 => Some(0.99),
            Metric::ResponseP999 => Some(0.999),
            _ => None,
        }
    }

    /// The number of requests that a block needs for it: at least 100 beyond a
    /// quantile. Source: docs/explain/statistics/response-times.md, "Response times".
    #[must_use]
    pub fn requests_min(self) -> u64 {
        self.quantile()
            .map_or(1, |share| (BEYOND_MIN / (1.0 - share)).round() as u64)
    }

    /// Whether it is counted and not measured: neither the machine nor the generator changes it.
    #[must_use]
    pub fn is_counted(self) -> bool {
        self == Metric::WireBytes
    }

    /// Whether it describes a subject's start and belongs to no load.
    #[must_use]
    pub fn is_of_a_start(self) -> bool {
        self == Metric::ReadyTime
    }

    /// Whether it belongs to one step of a scenario.
    #[must_use]
    pub fn is_of_a_step(self) -> bool {
        Metric::STEP.contains(&self)
    }

    /// Whether it is a time that ends with a response to a request of the load.
    #[must_use]
    pub fn is_response_time(self) -> bool {
        Metric::RESPONSE.contains(&self)
    }

    /// Its name in records.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Metric::Throughput => "throughput",
            Metric::ResponseP50 => "response_p50",
            Metric::ResponseP90 => "response_p90",
            Metric::ResponseP99 => "response_p99",
            Metric::ResponseP999 => "response_p99_9",
            Metric::ServerCpu => "server_cpu",
            Metric::Memory => "memory",
            Metric::ServerUserCpu => "server_user_cpu",
            Metric::ServerSystemCpu => "server_system_cpu",
            Metric::PageFaults => "page_faults",
            Metric::ContextSwitches => "context_switches",
            Metric::WireBytes => "wire_bytes",
            Metric::HandshakeP50 => "handshake_p50",
            Metric::BroadcastFirstP50 => "broadcast_first_p50",
            Metric::BroadcastMedianP50 => "broadcast_median_p50",
            Metric::MemoryPerConnection => "memory_per_connection",
            Metric::ConnectRate => "connect_rate",
            Metric::Capacity => "capacity",
            Metric::ReadyTime => "ready_time",
            Metric::ColdStart => "cold_start",
            Metric::Recovery => "recovery",
            Metric::StepP50 => "step_p50",
            Metric::StepP99 => "step_p99",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_stored_under_its_name() {
        // Method: to JSON and back, for each.
        for metric in Metric::ALL {
            let text = serde_json::to_string(&metric).unwrap();
            assert_eq!(text, format!("\"{}\"", metric.id()));
            assert_eq!(serde_json::from_str::<Metric>(&text).unwrap(), metric);
        }
    }

    #[test]
    fn a_quantile_needs_a_hundred_requests_beyond_it() {
        // Method: by hand, for p50 to p99.9.
        let needed = Metric::RESPONSE.map(Metric::requests_min);
        assert_eq!(needed, [200, 1_000, 10_000, 100_000]);
        assert_eq!(Metric::Throughput.requests_min(), 1);
    }
}
