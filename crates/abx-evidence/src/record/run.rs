//! The record of one run: one server, one load, no comparison.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::arrivals::{Arrivals, Offered};
use crate::measure::broadcasts::Broadcasts;
use crate::measure::exchange::Exchange;
use crate::measure::held::Held;
use crate::measure::outcome::Outcomes;
use crate::measure::phase_times::PhaseTimes;
use crate::measure::times::Times;
use crate::record::finding::Finding;
use crate::record::{AnswerRecord, Machine};

/// The schema that this version writes.
pub const RUN_SCHEMA: &str = "abx.run/1";

/// One server under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// [`RUN_SCHEMA`].
    #[schemars(description = "The schema of a run.", extend("const" = RUN_SCHEMA))]
    pub schema: String,
    /// The version of abx that measured.
    pub abx_version: String,
    /// When it started, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// What was asked for.
    pub settings: RunSettings,
    /// Where it ran.
    pub machine: Machine,
    /// What was answered before the load.
    pub answer: AnswerRecord,
    /// From the first send to the last outcome, in seconds.
    pub elapsed_s: f64,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// What became of the requests.
    pub requests: Requests,
    /// What was due and what was sent of it; `None` in a closed loop.
    pub offered: Option<Offered>,
    /// Verified answers per second; `None` when nothing was sent.
    pub throughput_per_s: Option<f64>,
    /// From the intended send to the last byte.
    pub response_time_us: Times,
    /// From the actual send to the last byte.
    pub service_time_us: Times,
    /// Where the time of a random sample of the whole answers went; `None` when
    /// none was drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<PhaseTimes>,
    /// Bytes received, heads included.
    pub bytes: u64,
    /// Bytes received in bodies.
    pub body_bytes: u64,
    /// Connections opened after the start.
    pub connects: u64,
    /// Connections that never sent a request.
    pub silent: u64,
    /// When listeners had broadcasts, where the load is that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broadcasts: Option<Broadcasts>,
    /// What came of holding connections that say nothing, where the load is that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
    /// What the load cost on this side.
    pub generator: GeneratorSide,
    /// What it cost on the other side; `None` when the server is not on this
    /// machine or its process cannot be seen.
    pub server: Option<ServerSide>,
    /// What limits the figures.
    pub findings: Vec<Finding>,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSettings {
    /// The URL.
    pub url: String,
    /// The method.
    pub method: String,
    /// Connections.
    pub connections: u32,
    /// What they speak, and how many requests each has in flight.
    #[serde(flatten)]
    pub exchange: Exchange,
    /// When requests were due.
    pub arrivals: Arrivals,
    /// Worker threads.
    pub threads: usize,
    /// What moved the bytes, `epoll` or `uring`; `None` when nothing was loaded.
    pub backend: Option<String>,
    /// The time that was ordered, in seconds.
    pub duration_s: Option<f64>,
    /// The number of requests that was ordered.
    pub requests: Option<u64>,
    /// Whether a connection serves more than one request.
    pub keep_alive: bool,
    /// How long a request may take, in seconds.
    pub timeout_s: f64,
    /// Of how many answers one had its body hashed.
    pub verify_every: u32,
}

/// What became of the requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Requests {
    /// Attempts; the sum of the outcomes.
    pub sent: u64,
    /// Whole answers.
    pub completed: u64,
    /// Verified answers.
    pub ok: u64,
    /// Bodies that were hashed and compared.
    pub hashed: u64,
    /// All outcomes.
    pub outcomes: Outcomes,
}

/// What the load cost on this side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorSide {
    /// Processor time of the worker threads, in seconds.
    pub cpu_s: f64,
    /// Processor time for each whole answer, in µs.
    pub cpu_us_per_request: Option<f64>,
    /// The share of one processor that the busiest worker used.
    pub busy: f64,
    /// Time for which workers were ready to run and did not, in seconds.
    pub wait_s: Option<f64>,
    /// How late sends were: actual minus intended.
    pub lateness_us: Times,
    /// For how long its loop did not look at its clock while it had work.
    pub loop_lag_us: Times,
}

/// What the load cost on the other side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerSide {
    /// The process that listens.
    pub process_id: u32,
    /// Its name.
    pub name: String,
    /// Processor time of its process tree, in seconds.
    pub cpu_s: f64,
    /// The same for each whole answer, in µs.
    pub cpu_us_per_request: Option<f64>,
    /// Memory at the end of the load, pages that its processes share counted for each.
    pub rss_bytes: Option<u64>,
    /// How many processors' time it used: 0.5 is half of one.
    pub busy: f64,
    /// The share of one processor that its busiest thread used; `None` when not readable.
    pub busiest_thread: Option<f64>,
}
