//! Times of requests, and the statuses of those that had a wrong one: of one subject under
//! one load in one block.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::distribution::histogram::Histogram;
use crate::measure::distribution::phases::Phases;
use crate::measure::distribution::server_times::ServerTimes;
use crate::measure::distribution::steps::StepTimes;
use crate::measure::statuses::Statuses;

/// Times of counted requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Histograms {
    /// The time from the intended send to the last byte. Requests without a response
    /// count with the time for which they had waited.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub response: Histogram,
    /// The time from the actual send to the last byte.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub service: Histogram,
    /// Those in `response` that are lower bounds: the request took at least so long.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub response_at_least: Histogram,
    /// Those in `service` that are lower bounds.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub service_at_least: Histogram,
    /// How late sends were.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub lateness: Histogram,
    /// How long the generator did not look at its clock while it had work.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub loop_lag: Histogram,
    /// TLS handshakes of connections that were opened within slices: the time from the connected
    /// socket to the end of the handshake.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub handshake: Histogram,
    /// Broadcasts: the time from the intended send until the first listener had it.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub first_listener: Histogram,
    /// Broadcasts: the time from the intended send until half of the listeners had it.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub median_listener: Histogram,
    /// The phases of a random sample of the complete responses.
    #[serde(default, skip_serializing_if = "Phases::is_empty")]
    pub phases: Phases,
    /// The times that the subject reported for the same sample, in `Server-Timing`.
    #[serde(default, skip_serializing_if = "ServerTimes::is_empty")]
    pub server_times: ServerTimes,
    /// How often each unexpected status was received.
    #[serde(default, skip_serializing_if = "Statuses::is_empty")]
    pub wrong_statuses: Statuses,
    /// Each step of a scenario, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepTimes>,
}

impl Histograms {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Histograms) {
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.response_at_least.merge(&other.response_at_least);
        self.service_at_least.merge(&other.service_at_least);
        self.lateness.merge(&other.lateness);
        self.loop_lag.merge(&other.loop_lag);
        self.handshake.merge(&other.handshake);
        self.first_listener.merge(&other.first_listener);
        self.median_listener.merge(&other.median_listener);
        self.phases.merge(&other.phases);
        self.server_times.merge(&other.server_times);
        self.wrong_statuses.merge(&other.wrong_statuses);
        StepTimes::merge_all(&mut self.steps, &other.steps);
    }

    /// Allocates the memory for the times that are counted for each request.
    pub fn reserve(&mut self) {
        for times in [
            &mut self.response,
            &mut self.service,
            &mut self.lateness,
            &mut self.loop_lag,
        ] {
            times.reserve();
        }
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        for times in [
            &mut self.response,
            &mut self.service,
            &mut self.response_at_least,
            &mut self.service_at_least,
            &mut self.lateness,
            &mut self.loop_lag,
            &mut self.handshake,
            &mut self.first_listener,
            &mut self.median_listener,
        ] {
            times.clear();
        }
        self.phases.clear();
        self.server_times.clear();
        self.wrong_statuses.clear();
        self.steps.clear();
    }
}
