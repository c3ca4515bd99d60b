//! One subject under one load, described: no comparison rests on these figures.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::view::{StudyView, SubjectView};
use abx_evidence::{
    Broadcasts, Held, HeldFigures, Histogram, Offered, Outcomes, PhaseTimes, Statuses, StepTimes,
    Times, median, median_count, share,
};
use abx_model::LoadShape;

/// One subject under one load, over all blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The subject.
    pub subject: String,
    /// The load.
    pub load: String,
    /// Verified responses per second; `None` if there was no load.
    pub throughput_per_s: Option<f64>,
    /// Response times of all blocks together.
    pub response_time_us: Times,
    /// Service times of all blocks together.
    pub service_time_us: Times,
    /// The phases of a random sample of the complete responses of all blocks;
    /// `None` if none was drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<PhaseTimes>,
    /// The TLS handshakes of connections opened within slices, all blocks together; `None`
    /// if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake_us: Option<Times>,
    /// The share of these handshakes that resumed an earlier session; `None` if there
    /// was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshakes_resumed: Option<f64>,
    /// The subject's CPU time per complete response; `None` if not readable.
    pub server_cpu_us_per_request: Option<f64>,
    /// Context switches of the subject per complete response; `None` if not readable.
    pub server_switches_per_request: Option<f64>,
    /// The share of its CPUs that the subject used.
    pub server_busy: Option<f64>,
    /// The use of services meanwhile, in the order of the study.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceUse>,
    /// The share of one CPU that the generator's busiest thread used.
    pub generator_busy: Option<f64>,
    /// The most memory seen in a block, the median over blocks.
    pub rss_bytes: Option<u64>,
    /// The memory after the load, shared pages counted once, the median over
    /// blocks; `None` if not readable.
    pub pss_bytes: Option<u64>,
    /// The time from its start to the first correct response, the median over blocks, in seconds.
    pub ready_s: Option<f64>,
    /// The total time for which it was loaded, in seconds. A stall that occurs less
    /// often than three times within this time may not have been seen.
    pub loaded_s: f64,
    /// Attempts.
    pub sent: u64,
    /// The requests that were due, and those that were sent; `None` in a closed loop.
    pub offered: Option<Offered>,
    /// How late sends were.
    pub lateness_us: Times,
    /// How long the generator did not look at its clock while it had work.
    pub loop_lag_us: Times,
    /// Verified responses.
    pub ok: u64,
    /// All outcomes.
    pub outcomes: Outcomes,
    /// How often each unexpected status was received.
    #[serde(default, skip_serializing_if = "Statuses::is_empty")]
    pub wrong_statuses: Statuses,
    /// Bytes received.
    pub bytes: u64,
    /// Bytes received per complete response; `None` without one.
    pub bytes_per_request: Option<f64>,
    /// The results of broadcasts, if the load sends them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broadcasts: Option<Broadcasts>,
    /// The results of holding idle connections, if the load does that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldFigures>,
    /// The steps of the scenario, if the load has users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepSummary>,
}

/// One step of a scenario, all blocks together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepSummary {
    /// Its name.
    pub name: String,
    /// How often it was due, in the counted sessions.
    #[serde(default)]
    pub begun: u64,
    /// Requests that were sent again, because the server had closed an idle connection.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resent: u64,
    /// How often it succeeded.
    pub ok: u64,
    /// How often it failed, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, u64>,
    /// One of its failures, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<String>,
    /// The time from when it was due to the last byte of its response.
    pub response_time_us: Times,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The use of a service while one subject was under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceUse {
    /// Its name.
    pub service: String,
    /// Its CPU time per complete response of the subject; `None` if not readable.
    pub cpu_us_per_request: Option<f64>,
    /// The share of the servers' CPUs that it used.
    pub busy: Option<f64>,
    /// The most memory seen in a block, under any subject and load, the median over blocks.
    pub rss_bytes: Option<u64>,
}

/// Describes every subject under every load.
pub(crate) fn summaries(study: &StudyView) -> Vec<Summary> {
    let views = study.loads.iter().flat_map(|load| &load.subjects);
    views.map(summary).collect()
}

fn summary(view: &SubjectView) -> Summary {
    let SubjectView {
        study,
        load,
        subject,
        sums,
        ..
    } = view;
    let exact = |pick| bounded(view.times(pick), None);
    let lives: Vec<_> = study
        .complete_blocks()
        .filter_map(|block| block.subjects.get(*subject))
        .collect();
    let cpus = study.settings.subject_cpus.len().max(1) as u64;
    let cpu = sums.server_cpu_ns.filter(|_| sums.slices > 0);
    let completed = sums.outcomes.completed();
    let all_completed = sums.all_completed();
    let handshakes = view.times(|histograms| &histograms.handshake);
    let held: Vec<Held> = view.readings().filter_map(|side| side.held).collect();
    Summary {
        subject: (*subject).to_owned(),
        load: load.name.clone(),
        throughput_per_s: view.throughput(),
        response_time_us: bounded(
            view.times(|histograms| &histograms.response),
            view.times(|histograms| &histograms.response_at_least),
        ),
        service_time_us: bounded(
            view.times(|histograms| &histograms.service),
            view.times(|histograms| &histograms.service_at_least),
        ),
        phases: PhaseTimes::of(&view.phases()),
        handshakes_resumed: sums
            .resumed
            .zip(handshakes.as_ref())
            .and_then(|(resumed, handshakes)| share(resumed, handshakes.count())),
        handshake_us: handshakes.as_ref().map(Times::of),
        server_cpu_us_per_request: cpu
            .and_then(|cpu| share(cpu, all_completed))
            .map(|ns| ns / 1e3),
        server_switches_per_request: sums
            .server_switches
            .and_then(|switches| share(switches, all_completed)),
        server_busy: cpu.and_then(|cpu| share(cpu, sums.wall_ns.saturating_mul(cpus))),
        services: services(view),
        generator_busy: share(sums.busiest_worker_ns, sums.wall_ns),
        rss_bytes: median_count(lives.iter().filter_map(|life| life.rss_bytes_max)),
        pss_bytes: median_count(view.readings().filter_map(|side| side.pss_bytes)),
        ready_s: median(lives.iter().filter_map(|life| life.ready_s)),
        loaded_s: sums.wall_ns as f64 / 1e9,
        sent: sums.outcomes.sent(),
        offered: view.offered(),
        lateness_us: exact(|histograms| &histograms.lateness),
        loop_lag_us: exact(|histograms| &histograms.loop_lag),
        ok: sums.outcomes.ok(),
        outcomes: sums.outcomes.clone(),
        wrong_statuses: view.wrong_statuses(),
        bytes: sums.bytes,
        bytes_per_request: share(sums.bytes, completed),
        broadcasts: broadcasts(view),
        held: HeldFigures::of(&held),
        steps: steps(view),
    }
}

/// The use of services while a subject was loaded; empty if it was not.
fn services(view: &SubjectView) -> Vec<ServiceUse> {
    let (study, sums) = (view.study, &view.sums);
    let cpus = study.settings.subject_cpus.len().max(1) as u64;
    let services = study.services.iter().zip(&sums.services_cpu_ns);
    let uses = services.map(|(service, cpu)| {
        let blocks = study.complete_blocks();
        let lives = blocks.filter_map(|block| block.services.get(&service.name));
        ServiceUse {
            service: service.name.clone(),
            cpu_us_per_request: cpu
                .and_then(|cpu| share(cpu, sums.all_completed()))
                .map(|ns| ns / 1e3),
            busy: cpu.and_then(|cpu| share(cpu, sums.wall_ns.saturating_mul(cpus))),
            rss_bytes: median_count(lives.filter_map(|life| life.rss_bytes_max)),
        }
    });
    uses.collect()
}

/// The steps of a scenario; empty under any other load.
fn steps(view: &SubjectView) -> Vec<StepSummary> {
    let Some(scenario) = &view.load.settings.scenario else {
        return Vec::new();
    };
    let mut sums = vec![StepTimes::default(); scenario.steps.len()];
    for block in &view.blocks {
        let step_times = block
            .histograms()
            .map_or(&[][..], |histograms| &histograms.steps);
        StepTimes::merge_all(&mut sums, step_times);
    }
    let steps = scenario.steps.iter().zip(sums);
    let summaries = steps.map(|(name, step)| StepSummary {
        name: name.clone(),
        begun: step.begun,
        resent: step.resent,
        ok: step.ok,
        failed: step.failed,
        first_failure: step.first_failure,
        response_time_us: Times::bounded(&step.response, &step.response_at_least),
    });
    summaries.collect()
}

/// The results of broadcasts; `None` under any other load.
fn broadcasts(view: &SubjectView) -> Option<Broadcasts> {
    if view.load.settings.exchange.shape != LoadShape::Broadcast {
        return None;
    }
    let first = view
        .times(|histograms| &histograms.first_listener)
        .unwrap_or_default();
    let median = view
        .times(|histograms| &histograms.median_listener)
        .unwrap_or_default();
    let missed = [view.sums.lost, view.sums.out_of_order];
    Some(Broadcasts::over(&first, &median, missed))
}

/// Summarizes `times`, of which `at_least` are lower bounds.
fn bounded(times: Option<Histogram>, at_least: Option<Histogram>) -> Times {
    match (times, at_least) {
        (None, _) => Times::default(),
        (Some(times), None) => Times::of(&times),
        (Some(times), Some(bounds)) => Times::bounded(&times, &bounds),
    }
}
