//! The offered load: the request for it, and each subject's responses before it.

use std::collections::BTreeMap;

use abx_model::{Exchange, LoadOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tls::{TlsSession, TlsSettings};
use crate::measure::arrivals::ArrivalSettings;
use crate::measure::expected_status::ExpectedStatus;
use crate::record::load::pilot::PilotRecord;
use crate::record::objective::Objective;

/// A load as it was offered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadRecord {
    /// Its name in this study.
    pub name: String,
    /// The requested settings.
    pub settings: LoadSettings,
    /// The responses of each subject before the load, in the order of the requests.
    #[serde(rename = "answers")]
    pub responses: BTreeMap<String, Vec<ResponseRecord>>,
    /// The results of the pilot; `None` before the pilot has ended.
    pub pilot: Option<PilotRecord>,
    /// The loads and subjects that needed no more blocks, in the order in which they were settled.
    /// Later blocks omit them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<Settled>,
}

/// The whole load, or a subject under it, that needed no more blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Settled {
    /// The subject that was not loaded any further; absent for the whole load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Complete blocks of this load until then.
    pub blocks: u32,
    /// The reason why they were enough.
    pub reason: SettledReason,
}

/// The reason why a load or subject needs no more blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettledReason {
    /// Every interval is as narrow as the margin requires.
    Precision,
    /// Every interval is that narrow, or excludes 1 at 99.9 %.
    Certain,
    /// Each interval at 99.9 % lies on one side of its limit (`--expect`, `--fail-if-slower`).
    Limits,
}

impl LoadRecord {
    /// The part of its name that all rates of its objective have in common; the whole name without
    /// an objective.
    #[must_use]
    pub fn name_of_grid(&self) -> &str {
        let stem = self.name.rsplit_once("-r").map(|(stem, _)| stem);
        let stem = stem.filter(|_| self.settings.objective.is_some());
        stem.unwrap_or(&self.name)
    }

    /// The entry for the whole load; `None` if only subjects are settled, or none.
    #[must_use]
    pub fn settled_as_a_whole(&self) -> Option<&Settled> {
        let mut settled = self.settled.iter();
        settled.find(|settled| settled.subject.is_none())
    }

    /// Whether later blocks omit the whole load.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.settled_as_a_whole().is_some()
    }

    /// Whether later blocks omit this subject under the load, or the whole load.
    #[must_use]
    pub fn is_settled_for(&self, subject: &str) -> bool {
        let mut names = self.settled.iter().map(|settled| &settled.subject);
        names.any(|name| name.as_ref().is_none_or(|name| name == subject))
    }

    /// Whether the pilot omitted this subject under the load, and so do all blocks.
    #[must_use]
    pub fn is_never_offered(&self, subject: &str) -> bool {
        let pilot = self.pilot.as_ref().map(|pilot| &pilot.subjects);
        let explored = pilot.filter(|subjects| !subjects.is_empty());
        explored.is_some_and(|subjects| !subjects.contains_key(subject))
    }

    /// Whether the next block omits this subject under the load.
    #[must_use]
    pub fn is_omitted(&self, subject: &str) -> bool {
        self.is_never_offered(subject) || self.is_settled_for(subject)
    }

    /// How a subject failed in this load's pilot, in words that follow its name.
    #[must_use]
    pub fn failure_in_pilot(&self, subject: &str) -> Option<&str> {
        let result = self.pilot.as_ref()?.subjects.get(subject)?;
        result.failed.as_deref()
    }
}

/// The requested settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadSettings {
    /// The options that every load has.
    #[serde(flatten)]
    pub options: LoadOptions,
    /// The protocol, and how many requests each connection has in flight.
    #[serde(flatten)]
    pub exchange: Exchange,
    /// The times at which requests were due.
    pub arrivals: ArrivalSettings,
    /// The rate as a share of the slowest subject's throughput in a closed
    /// loop, if it was set as a share.
    pub share_of_slowest: Option<f64>,
    /// The objective, if the load is one of several rates that find the
    /// highest rate at which subjects meet it.
    pub objective: Option<Objective>,
    /// The requests, with their weights.
    pub requests: Vec<RequestSettings>,
    /// The scenario, if the load has users. `requests` are then the steps of each
    /// session, in their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<ScenarioSettings>,
    /// How connections were encrypted; `None` if no subject used TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSettings>,
    /// Whether the files that abx made for a subject were dropped from memory
    /// before each of its slices.
    pub cold_cache: bool,
    /// The correct status, or a class of statuses.
    pub status: ExpectedStatus,
    /// Whether bodies were compared within and between subjects.
    pub bodies_compared: bool,
}

abx_model::has_options!(LoadSettings);

/// The scenario of the users of a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioSettings {
    /// The scenario file.
    pub file: String,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
    /// The names of its steps, in their order.
    pub steps: Vec<String>,
}

/// One request of a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestSettings {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// How often it is sent, relative to the weights of the others.
    pub weight: u32,
    /// Its body; `None` if it has none, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<RequestBody>,
    /// Its correct status; `None` for that of the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ExpectedStatus>,
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestBody {
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal.
    pub sha256: String,
    /// The body itself, if it is text of at most 1,024 bytes and not a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A response that was read completely before the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResponseRecord {
    /// The status.
    pub status: u16,
    /// The body's length.
    pub body_bytes: u64,
    /// The body's SHA-256 in hexadecimal; `None` if bodies vary by themselves.
    pub sha256: Option<String>,
    /// The result of the TLS handshake; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSession>,
}
