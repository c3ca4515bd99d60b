//! One subject under one load, described: no comparison rests on these figures.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::arrivals::{Arrivals, Late, Offered, Spans, throughput_per_s};
use crate::measure::broadcasts::Broadcasts;
use crate::measure::exchange::LoadShape;
use crate::measure::held::{Held, HeldFigures};
use crate::measure::histogram::Histogram;
use crate::measure::outcome::Outcomes;
use crate::measure::phase_times::PhaseTimes;
use crate::measure::phases::Phases;
use crate::measure::quantile::median;
use crate::measure::share::share;
use crate::measure::times::Times;
use crate::record::{Histograms, LoadRecord, LoadSettings, Measured, SliceRecord};

/// One subject under one load, over all blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Who.
    pub subject: String,
    /// Under which load.
    pub load: String,
    /// Verified answers per second; `None` when there was no load.
    pub throughput_per_s: Option<f64>,
    /// Response times of all blocks together.
    pub response_time_us: Times,
    /// Service times of all blocks together.
    pub service_time_us: Times,
    /// Where the time of a random sample of the whole answers went, all blocks
    /// together; `None` when none was drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<PhaseTimes>,
    /// The subject's processor time for each whole answer; `None` when not readable.
    pub server_cpu_us_per_request: Option<f64>,
    /// Context switches of the subject for each whole answer; `None` when not readable.
    pub server_switches_per_request: Option<f64>,
    /// The share of its processors that the subject used.
    pub server_busy: Option<f64>,
    /// The share of one processor that the generator's busiest thread used.
    pub generator_busy: Option<f64>,
    /// The most memory seen in a block, the median over blocks.
    pub rss_bytes: Option<u64>,
    /// The memory after the load, shared pages counted once, the median over
    /// blocks; `None` when not readable.
    pub pss_bytes: Option<u64>,
    /// From start to first right answer, the median over blocks, in seconds.
    pub ready_s: Option<f64>,
    /// For how long it was loaded in all, in seconds. A stall that comes less
    /// often than three times within this may not have been seen.
    pub loaded_s: f64,
    /// Attempts.
    pub sent: u64,
    /// What was due and what was sent of it; `None` in a closed loop.
    pub offered: Option<Offered>,
    /// How late sends were.
    pub lateness_us: Times,
    /// For how long the generator did not look at its clock while it had work.
    pub loop_lag_us: Times,
    /// Verified answers.
    pub ok: u64,
    /// All outcomes.
    pub outcomes: Outcomes,
    /// Bytes received.
    pub bytes: u64,
    /// Bytes received for each whole answer; `None` without one.
    pub bytes_per_request: Option<f64>,
    /// When listeners had broadcasts, where the load is that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broadcasts: Option<Broadcasts>,
    /// What came of holding connections that say nothing, where the load is that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldFigures>,
}

/// Sums of one subject's slices under one load.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sums {
    pub(crate) outcomes: Outcomes,
    /// Those of the discarded parts.
    pub(crate) discarded: Outcomes,
    pub(crate) unsent: u64,
    pub(crate) queued: u64,
    pub(crate) lost: u64,
    pub(crate) out_of_order: u64,
    pub(crate) hashed: u64,
    pub(crate) bytes: u64,
    pub(crate) clocked: u64,
    pub(crate) connection_ns: u64,
    pub(crate) measured_ns: u64,
    pub(crate) wall_ns: u64,
    pub(crate) window_ns: u64,
    pub(crate) slices: u64,
    pub(crate) silent: u64,
    pub(crate) response_ns_sum: u64,
    /// Connections opened within slices and between them.
    pub(crate) connects: u64,
    pub(crate) server_cpu_ns: Option<u64>,
    pub(crate) server_switches: Option<u64>,
    pub(crate) others_cpu_ns: Option<u64>,
    pub(crate) generator_cpu_ns: u64,
    pub(crate) busiest_worker_ns: u64,
    pub(crate) generator_wait_ns: Option<u64>,
    pub(crate) steal_ns: Option<u64>,
    pub(crate) generator_steal_ns: Option<u64>,
    pub(crate) busy_ns: Option<u64>,
    pub(crate) stopped_answering: u64,
}

impl Sums {
    pub(crate) fn of<'a>(slices: impl Iterator<Item = &'a SliceRecord>) -> Sums {
        let zero = Some(0);
        let mut sums = Sums {
            server_cpu_ns: zero,
            server_switches: zero,
            others_cpu_ns: zero,
            generator_wait_ns: zero,
            steal_ns: zero,
            generator_steal_ns: zero,
            busy_ns: zero,
            ..Sums::default()
        };
        for slice in slices {
            sums.outcomes.merge(&slice.outcomes);
            sums.discarded.merge(&slice.discarded);
            sums.unsent += slice.unsent;
            sums.queued += slice.queued;
            sums.lost += slice.lost;
            sums.out_of_order += slice.out_of_order;
            sums.hashed += slice.hashed;
            sums.bytes += slice.bytes;
            sums.clocked += slice.timed_ok();
            sums.connection_ns += slice.connection_ns;
            sums.measured_ns += slice.measured_ns;
            sums.wall_ns += slice.wall_ns;
            sums.window_ns += slice.window_ns;
            sums.slices += 1;
            sums.silent += slice.silent;
            sums.response_ns_sum += slice.response_ns_sum;
            sums.generator_cpu_ns += slice.generator_cpu_ns;
            sums.busiest_worker_ns += slice.busiest_worker_ns;
            sums.stopped_answering += u64::from(slice.stopped_answering);
            sums.connects += slice.connects + slice.reopened;
            add(&mut sums.server_cpu_ns, slice.server_cpu_ns);
            add(&mut sums.server_switches, slice.server_switches);
            add(&mut sums.others_cpu_ns, slice.others_cpu_ns);
            add(&mut sums.generator_wait_ns, slice.generator_wait_ns);
            add(&mut sums.steal_ns, slice.steal_ns);
            add(&mut sums.generator_steal_ns, slice.generator_steal_ns);
            add(&mut sums.busy_ns, slice.busy_ns);
        }
        sums
    }

    /// The slices of all subjects under one load.
    pub(crate) fn of_load(record: &Measured, load: &LoadRecord) -> Sums {
        Sums::of(
            record
                .block_loads(&load.name)
                .flat_map(|part| &part.rounds)
                .flat_map(|round| &round.slices),
        )
    }

    /// Whole answers over whole slices: what is read at a slice's edges holds
    /// its discarded part too.
    pub(crate) fn all_completed(&self) -> u64 {
        self.outcomes.completed() + self.discarded.completed()
    }

    /// Verified answers per second; see [`throughput_per_s`].
    pub(crate) fn throughput(&self, settings: &LoadSettings) -> Option<f64> {
        let connections = settings.exchange.senders(settings.connections).into();
        let spans = Spans {
            connection_ns: self.connection_ns,
            measured_ns: self.measured_ns,
        };
        throughput_per_s(&settings.arrivals, connections, self.clocked, spans)
    }

    /// What was due and what was sent of it; `None` in a closed loop.
    pub(crate) fn offered(&self, arrivals: &Arrivals) -> Option<Offered> {
        let late = Late {
            unsent: self.unsent,
            queued: self.queued,
        };
        Offered::counted(arrivals, &self.outcomes, late)
    }
}

/// A sum of readings is known only when every reading is.
fn add(sum: &mut Option<u64>, reading: Option<u64>) {
    *sum = sum.zip(reading).map(|(sum, reading)| sum + reading);
}

/// Describes every subject under every load.
pub(crate) fn summaries(record: &Measured) -> Vec<Summary> {
    let pairs = record.loads.iter().flat_map(|load| {
        let subjects = record.subjects.iter();
        subjects.map(move |subject| (&subject.name, load))
    });
    pairs
        .map(|(subject, load)| {
            let sums = Sums::of(record.slices(&load.name, subject));
            let pooled = |pick| pooled(record, &load.name, subject, pick);
            let plain = |pick| bounded((pooled(pick), None));
            let lives: Vec<_> = record
                .complete_blocks()
                .filter_map(|block| block.subjects.get(subject))
                .collect();
            let cpus = record.settings.subject_cpus.len().max(1) as u64;
            let cpu = sums.server_cpu_ns.filter(|_| sums.slices > 0);
            let completed = sums.outcomes.completed();
            let all_completed = sums.all_completed();
            let sides = record.block_loads(&load.name);
            let sides: Vec<_> = sides.filter_map(|part| part.sides.get(subject)).collect();
            let held: Vec<Held> = sides.iter().filter_map(|side| side.held).collect();
            Summary {
                subject: subject.clone(),
                load: load.name.clone(),
                throughput_per_s: sums.throughput(&load.settings),
                response_time_us: bounded((
                    pooled(|all| &all.response),
                    pooled(|all| &all.response_at_least),
                )),
                service_time_us: bounded((
                    pooled(|all| &all.service),
                    pooled(|all| &all.service_at_least),
                )),
                phases: PhaseTimes::of(&phases(record, &load.name, subject)),
                server_cpu_us_per_request: cpu
                    .and_then(|cpu| share(cpu, all_completed))
                    .map(|ns| ns / 1e3),
                server_switches_per_request: sums
                    .server_switches
                    .and_then(|switches| share(switches, all_completed)),
                server_busy: cpu.and_then(|cpu| share(cpu, sums.wall_ns * cpus)),
                generator_busy: share(sums.busiest_worker_ns, sums.wall_ns),
                rss_bytes: median(lives.iter().filter_map(|life| life.rss_bytes_max)),
                pss_bytes: median(sides.iter().filter_map(|side| side.pss_bytes)),
                ready_s: median(
                    lives
                        .iter()
                        .filter_map(|life| life.ready_s)
                        .map(|seconds| (seconds * 1e6) as u64),
                )
                .map(|micros| micros as f64 / 1e6),
                loaded_s: sums.wall_ns as f64 / 1e9,
                sent: sums.outcomes.sent(),
                offered: sums.offered(&load.settings.arrivals),
                lateness_us: plain(|all| &all.lateness),
                loop_lag_us: plain(|all| &all.loop_lag),
                ok: sums.outcomes.ok(),
                outcomes: sums.outcomes.clone(),
                bytes: sums.bytes,
                bytes_per_request: share(sums.bytes, completed),
                broadcasts: broadcasts(record, load, subject, &sums),
                held: HeldFigures::of(&held),
            }
        })
        .collect()
}

/// When listeners had broadcasts; `None` under any other load.
fn broadcasts(
    record: &Measured,
    load: &LoadRecord,
    subject: &str,
    sums: &Sums,
) -> Option<Broadcasts> {
    if load.settings.exchange.shape != LoadShape::Broadcast {
        return None;
    }
    let times = |pick| pooled(record, &load.name, subject, pick).unwrap_or_default();
    let first = times(|all| &all.first_listener);
    let median = times(|all| &all.median_listener);
    Some(Broadcasts::over(
        &first,
        &median,
        [sums.lost, sums.out_of_order],
    ))
}

/// Which of a block's histograms.
pub(crate) type Pick = fn(&Histograms) -> &Histogram;

/// Times of all blocks together; `None` when none were counted.
pub(crate) fn pooled(
    record: &Measured,
    load: &str,
    subject: &str,
    pick: Pick,
) -> Option<Histogram> {
    let each = record
        .block_loads(load)
        .filter_map(|part| part.histograms.get(subject).map(pick))
        .filter(|one| !one.is_empty());
    each.fold(None, |sum, one| {
        let mut sum = sum.unwrap_or_else(Histogram::new);
        sum.merge(one);
        Some(sum)
    })
}

/// Where the time went in all blocks together.
fn phases(record: &Measured, load: &str, subject: &str) -> Phases {
    let mut all = Phases::default();
    let parts = record.block_loads(load);
    let each = parts.filter_map(|part| part.histograms.get(subject));
    each.for_each(|own| all.merge(&own.phases));
    all
}

/// All times, and those of them that are lower bounds.
fn bounded((times, at_least): (Option<Histogram>, Option<Histogram>)) -> Times {
    match (times, at_least) {
        (None, _) => Times::default(),
        (Some(times), None) => Times::of(&times),
        (Some(times), Some(bounds)) => Times::bounded(&times, &bounds),
    }
}

/// Each subject's sums under one load.
pub(crate) fn sums_by_subject(record: &Measured, load: &str) -> BTreeMap<String, Sums> {
    record
        .subjects
        .iter()
        .map(|subject| {
            let sums = Sums::of(record.slices(load, &subject.name));
            (subject.name.clone(), sums)
        })
        .collect()
}

/// How many of a load's rounds were disturbed, and how many there are.
pub(crate) fn disturbed_rounds(record: &Measured, load: &LoadRecord) -> (u64, u64) {
    let rounds = record.block_loads(&load.name).flat_map(|part| &part.rounds);
    rounds.fold((0, 0), |(disturbed, all), round| {
        (disturbed + u64::from(!round.disturbed.is_empty()), all + 1)
    })
}
