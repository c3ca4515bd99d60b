//! The file in which a run is saved: one server under one load, which is a study of one
//! subject in one block. What was measured stands under a key of its own; all other keys
//! are read from it by [`RunRecord::judged`], when it is made and whenever it is read.

use abx_model::{Exchange, LoadOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::conclusions::Conclusions;
use crate::judge::judge;
use crate::judge::scope::Scope;
use crate::judge::server_times::ServerTime;
use crate::view::summary::Summary;
use abx_evidence::record::{
    BlockSubject, LoadRecord, LoadSettings, Machine, Measured, PilotRecord, ResponseRecord,
    SliceRecord, StudyEnd, SubjectReadings, SubjectRecord, TlsSettings, Waiting,
};
use abx_evidence::{
    ArrivalKind, ArrivalSettings, Broadcasts, Finding, Held, Offered, Outcomes, PhaseTimes,
    Statuses, Times, share,
};

/// The schema that this version writes.
pub const RUN_SCHEMA: &str = "abx.run/1";

/// One server under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "RunFile")]
#[schemars(!try_from)]
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
    #[serde(rename = "answer")]
    pub response: ResponseRecord,
    /// From the first send to the last outcome, in seconds.
    pub elapsed_s: f64,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// What became of the requests.
    pub requests: Requests,
    /// What was due and what was sent of it; `None` in a closed loop.
    pub offered: Option<Offered>,
    /// Verified responses per second; `None` when nothing was sent.
    pub throughput_per_s: Option<f64>,
    /// From the intended send to the last byte.
    pub response_time_us: Times,
    /// From the actual send to the last byte.
    pub service_time_us: Times,
    /// Where the time of a random sample of the whole responses went; `None` when
    /// none was drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<PhaseTimes>,
    /// The TLS handshakes of connections opened after the start; `None` when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake_us: Option<Times>,
    /// The share of these that resumed an earlier session; `None` when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshakes_resumed: Option<f64>,
    /// What the server said of its own time in the same sample, in `Server-Timing`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_times: Vec<ServerTime>,
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
    /// What was not varied.
    pub scope: Scope,
    /// What was measured: all of the above follows from it.
    pub measured: Measured,
}

/// Measurements that are not those of a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("what was measured is not one subject under one load in one slice of one block")]
pub struct NotARun;

/// The part of a run's file that is read.
#[derive(Deserialize)]
struct RunFile {
    measured: Measured,
}

impl TryFrom<RunFile> for RunRecord {
    type Error = NotARun;

    fn try_from(file: RunFile) -> Result<RunRecord, NotARun> {
        RunRecord::judged(file.measured)
    }
}

/// Where the measurements of a run stand.
struct RunParts<'a> {
    subject: &'a SubjectRecord,
    load: &'a LoadRecord,
    response: &'a ResponseRecord,
    pilot: &'a PilotRecord,
    life: &'a BlockSubject,
    readings: &'a SubjectReadings,
    slice: &'a SliceRecord,
    summary: &'a Summary,
}

impl<'a> RunParts<'a> {
    fn of(measured: &'a Measured, conclusions: &'a Conclusions) -> Option<RunParts<'a>> {
        let [subject] = &measured.subjects[..] else {
            return None;
        };
        let ([load], [block]) = (&measured.loads[..], &measured.blocks[..]) else {
            return None;
        };
        let [part] = &block.loads[..] else {
            return None;
        };
        let mut slices = part.rounds.iter().flat_map(|round| &round.slices);
        let slice = slices.next()?;
        let is_run = slices.next().is_none() && slice.subject == subject.name;
        is_run.then_some(RunParts {
            subject,
            load,
            response: load.responses.get(&subject.name)?.first()?,
            pilot: load.pilot.as_ref()?,
            life: block.subjects.get(&subject.name)?,
            readings: part.sides.get(&subject.name)?,
            slice,
            summary: conclusions.summaries.first()?,
        })
    }
}

impl RunRecord {
    /// A run with what is concluded from it.
    ///
    /// # Errors
    /// [`NotARun`].
    pub fn judged(measured: Measured) -> Result<RunRecord, NotARun> {
        let conclusions = judge(&measured);
        let parts = RunParts::of(&measured, &conclusions).ok_or(NotARun)?;
        let RunParts { slice, summary, .. } = parts;
        Ok(RunRecord {
            schema: RUN_SCHEMA.to_owned(),
            abx_version: measured.abx_version.clone(),
            started_unix_ms: measured.started_unix_ms,
            settings: RunSettings::of(&measured, &parts),
            machine: measured.machine.clone(),
            response: parts.response.clone(),
            elapsed_s: slice.wall_ns as f64 / 1e9,
            interrupted: measured.end == StudyEnd::Interrupted,
            requests: Requests {
                sent: slice.sent,
                completed: slice.completed,
                ok: slice.ok,
                hashed: slice.hashed,
                outcomes: slice.outcomes.clone(),
                wrong_statuses: summary.wrong_statuses.clone(),
            },
            offered: summary.offered,
            throughput_per_s: summary.throughput_per_s,
            response_time_us: summary.response_time_us.clone(),
            service_time_us: summary.service_time_us.clone(),
            phases: summary.phases.clone(),
            handshake_us: summary.handshake_us.clone(),
            handshakes_resumed: summary.handshakes_resumed,
            server_times: conclusions.server_times.clone(),
            bytes: slice.bytes,
            body_bytes: slice.body_bytes,
            connects: slice.connects,
            silent: slice.silent,
            broadcasts: summary.broadcasts.clone(),
            held: parts.readings.held,
            generator: GeneratorSide::of(slice, summary),
            server: ServerSide::of(&parts),
            findings: conclusions.validity.findings.clone(),
            scope: conclusions.scope.clone(),
            measured,
        })
    }
}

impl RunRecord {
    /// The time in seconds over which throughput is counted: in a closed loop all of the run; in
    /// an open loop its counted part, and at a constant rate one interval per counted response
    /// at least.
    #[must_use]
    pub fn counted_s(&self) -> f64 {
        let arrivals = &self.settings.arrivals;
        let blocks = self.measured.blocks.iter().flat_map(|block| &block.loads);
        let rounds = blocks.flat_map(|load| &load.rounds);
        let slices = || rounds.clone().flat_map(|round| &round.slices);
        let measured_ns: u64 = slices().map(|slice| slice.measured_ns).sum();
        if !arrivals.is_open() || measured_ns == 0 {
            return self.elapsed_s;
        }
        let clocked: u64 = slices().map(|slice| slice.clocked).sum();
        let constant = arrivals
            .rate_per_s
            .filter(|_| arrivals.kind == ArrivalKind::Constant);
        let intervals_s = constant.map_or(0.0, |per_s| clocked as f64 / per_s);
        (measured_ns as f64 / 1e9).max(intervals_s)
    }

    /// The load's settings.
    #[must_use]
    pub fn load(&self) -> Option<&LoadSettings> {
        let load = self.measured.loads.first()?;
        Some(&load.settings)
    }
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSettings {
    /// The URL.
    pub url: String,
    /// The IP address and port that its host's name led to; `None` for one that abx started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connected_to: Option<String>,
    /// The method.
    pub method: String,
    /// What every load has.
    #[serde(flatten)]
    pub options: LoadOptions,
    /// What they speak, and how many requests each has in flight.
    #[serde(flatten)]
    pub exchange: Exchange,
    /// When requests were due.
    pub arrivals: ArrivalSettings,
    /// Worker threads.
    pub threads: usize,
    /// How the workers waited for responses.
    #[serde(flatten)]
    pub waiting: Waiting,
    /// The time that was ordered, in seconds.
    pub duration_s: Option<f64>,
    /// The number of requests that was ordered.
    pub requests: Option<u64>,
    /// For how long the load was sent before anything counted, in seconds; left out without a
    /// warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_s: Option<f64>,
    /// How connections were encrypted; `None` where they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSettings>,
}

abx_model::has_options!(RunSettings);

impl RunSettings {
    fn of(measured: &Measured, parts: &RunParts) -> RunSettings {
        let RunParts { subject, pilot, .. } = parts;
        let settings = &parts.load.settings;
        let request = settings.requests.first();
        let duration_s = pilot.slice_ns as f64 / 1e9;
        RunSettings {
            url: subject.address.clone().unwrap_or_default(),
            connected_to: subject.connected_to.clone(),
            method: request.map_or_else(String::new, |request| request.method.clone()),
            options: settings.options,
            exchange: settings.exchange.clone(),
            arrivals: settings.arrivals.clone(),
            threads: measured.settings.threads,
            waiting: measured.settings.waiting.clone(),
            duration_s: pilot.slice_requests.is_none().then_some(duration_s),
            requests: pilot.slice_requests,
            warm_up_s: (pilot.warm_up_ns > 0).then_some(pilot.warm_up_ns as f64 / 1e9),
            tls: settings.tls.clone(),
        }
    }
}

/// What became of the requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Requests {
    /// Attempts; the sum of the outcomes.
    pub sent: u64,
    /// Whole responses.
    pub completed: u64,
    /// Verified responses.
    pub ok: u64,
    /// Bodies that were hashed and compared.
    pub hashed: u64,
    /// All outcomes.
    pub outcomes: Outcomes,
    /// How often each status came where another one was expected.
    #[serde(default, skip_serializing_if = "Statuses::is_empty")]
    pub wrong_statuses: Statuses,
}

/// What the load cost on this side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorSide {
    /// Processor time of the worker threads, in seconds, without what they waited awake.
    pub cpu_s: f64,
    /// Processor time in which they waited awake for responses, in seconds.
    pub waiting_awake_s: f64,
    /// Processor time for each whole response, in µs.
    pub cpu_us_per_request: Option<f64>,
    /// The share of one processor that the busiest worker used, without what it waited awake.
    pub busy: f64,
    /// Time for which workers were ready to run and did not, in seconds.
    pub wait_s: Option<f64>,
    /// How late sends were: actual minus intended.
    pub lateness_us: Times,
    /// For how long its loop did not look at its clock while it had work.
    pub loop_lag_us: Times,
}

impl GeneratorSide {
    fn of(slice: &SliceRecord, summary: &Summary) -> GeneratorSide {
        GeneratorSide {
            cpu_s: slice.generator_cpu_ns as f64 / 1e9,
            waiting_awake_s: slice.waiting_awake_ns as f64 / 1e9,
            cpu_us_per_request: per_request_us(slice.generator_cpu_ns, slice),
            busy: of_wall(slice.busiest_worker_ns, slice),
            wait_s: slice.generator_wait_ns.map(|ns| ns as f64 / 1e9),
            lateness_us: summary.lateness_us.clone(),
            loop_lag_us: summary.loop_lag_us.clone(),
        }
    }
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
    /// The same for each whole response, in µs.
    pub cpu_us_per_request: Option<f64>,
    /// Memory at the end of the load, pages that its processes share counted for each.
    pub rss_bytes: Option<u64>,
    /// How many processors' time it used: 0.5 is half of one.
    pub busy: f64,
    /// The share of one processor that its busiest thread used; `None` when not readable.
    pub busiest_thread: Option<f64>,
}

impl ServerSide {
    fn of(parts: &RunParts) -> Option<ServerSide> {
        let RunParts { life, slice, .. } = parts;
        let listener = life.listener.as_ref()?;
        let cpu_ns = slice.server_cpu_ns?;
        let busiest_ns = parts.readings.busiest_thread_ns;
        Some(ServerSide {
            process_id: listener.process_id,
            name: listener.name.clone(),
            cpu_s: cpu_ns as f64 / 1e9,
            cpu_us_per_request: per_request_us(cpu_ns, slice),
            rss_bytes: life.rss_bytes_max,
            busy: of_wall(cpu_ns, slice),
            busiest_thread: busiest_ns.map(|ns| of_wall(ns, slice)),
        })
    }
}

/// Processor time for each whole response, in µs.
fn per_request_us(ns: u64, slice: &SliceRecord) -> Option<f64> {
    share(ns, slice.completed).map(|ns| ns / 1e3)
}

/// A processor's time as a part of the slice's.
fn of_wall(ns: u64, slice: &SliceRecord) -> f64 {
    share(ns, slice.wall_ns).unwrap_or_default()
}
