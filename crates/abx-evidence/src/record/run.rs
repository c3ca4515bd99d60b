//! The record of one run: one server, one load, no comparison.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::findings::acknowledgements::Echoes;
use crate::findings::finding::Finding;
use crate::findings::held::not_held;
use crate::findings::listeners::missed;
use crate::findings::pace::{Pace, PaceLimits};
use crate::findings::{GENERATOR_BUSY, SUBJECT_BUSY, failures};
use crate::judge::summary::share;
use crate::measure::arrivals::{Arrivals, Offered};
use crate::measure::broadcasts::Broadcasts;
use crate::measure::exchange::Exchange;
use crate::measure::held::Held;
use crate::measure::outcome::Outcomes;
use crate::measure::phase_times::PhaseTimes;
use crate::measure::tally::SliceTally;
use crate::measure::times::Times;
use crate::record::finding_id::FindingId;
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
    #[serde(default)]
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
    /// Connections that never sent a request; 0 also in records from before they
    /// were counted.
    #[serde(default)]
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
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Worker threads.
    pub threads: usize,
    /// What moved the bytes, `epoll` or `uring`; `None` in records from before
    /// there was a choice.
    #[serde(default)]
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
    #[serde(default)]
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

/// Reads a run for what limits its figures.
#[must_use]
pub fn judge_run(record: &RunRecord, slice: &SliceTally) -> Vec<Finding> {
    let outcomes = &record.requests.outcomes;
    let mut found: Vec<Finding> = failures::exhausted(outcomes).collect();
    found.extend(failures::failed_requests(
        &record.settings.url,
        record.settings.exchange.shape,
        outcomes,
        record.requests.hashed,
    ));
    found.extend(failures::stopped_answering(
        &record.settings.url,
        u64::from(slice.stopped_answering),
        1,
    ));
    let server_is_busy = record.server.as_ref().is_some_and(|side| {
        let all = side.busy / record.machine.cpus.max(1) as f64;
        all.max(side.busiest_thread.unwrap_or_default()) >= SUBJECT_BUSY
    });
    let threads = record.settings.threads.max(1) as u64;
    let wait = slice
        .generator_wait_ns
        .and_then(|wait| share(wait, slice.wall_ns * threads));
    let generator_busy = record.generator.busy + wait.unwrap_or_default();
    found.extend(pace(record, slice, server_is_busy, wait));
    found.extend(not_held(&record.settings.url, record.held.into_iter()));
    found.extend(delayed(record));
    found.extend(missed(&record.settings.url, record.broadcasts.as_ref()));
    // Who thinks or asks for a rate does not ask for all that there is.
    let is_saturating = record.settings.arrivals.is_saturating();
    if is_saturating && generator_busy >= GENERATOR_BUSY && !server_is_busy {
        found.push(Finding::new(
            FindingId::GeneratorBound,
            format!(
                "the generator used or waited for {:.0} % of its processor: the server may be able \
                 to answer more",
                100.0 * generator_busy
            ),
        )
        .with_remedy("add a thread (`-t`) on a processor of its own"));
    }
    if record.answer.sha256.is_none() {
        found.push(
            Finding::new(
                FindingId::BodyVaries,
                "bodies differ from answer to answer: only the status was checked",
            )
            .with_remedy("ask for a path whose answer is always the same"),
        );
    }
    if record.server.is_none() {
        found.push(Finding::new(
            FindingId::NotChecked,
            "the server's processor time and memory were not checked: no process of this machine \
             that we may look at listens there",
        )
        .with_remedy("run on the server's machine, as the same user"));
    }
    if record.interrupted {
        found.push(
            Finding::new(FindingId::Interrupted, "the run was stopped before its end")
                .with_remedy("let it run to its end"),
        );
    }
    found.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    found
}

fn delayed(record: &RunRecord) -> Option<Finding> {
    let echoes = Echoes {
        who: &record.settings.url,
        exchange: &record.settings.exchange,
        arrivals: &record.settings.arrivals,
        service_p50_us: record.service_time_us.p50,
        server_busy: record.server.as_ref().map(|server| server.busy),
    };
    echoes.delayed()
}

fn pace(
    record: &RunRecord,
    slice: &SliceTally,
    is_subject_bound: bool,
    wait: Option<f64>,
) -> Vec<Finding> {
    let unanswered = record.requests.outcomes.unanswered() + slice.tally.unsent;
    let pace = Pace {
        who: &record.settings.url,
        offered: record.offered,
        unanswered,
        response: &record.response_time_us,
        lateness: &record.generator.lateness_us,
        loop_lag: &record.generator.loop_lag_us,
        limits: PaceLimits {
            is_subject_bound,
            generator: Some(record.generator.busy),
            wait,
            steal: None,
        },
    };
    pace.findings().collect()
}
