//! One subject under one load in the pilot: how long it warms up, its throughput then, and how much
//! longer than planned a slice takes. Start at [`explore`].
//!
//! The warm-up is read from one slice, whose responses are counted in bins by arrival. One slice
//! per bin would wait for all connections at both of its edges: seconds per bin with 10,000 of
//! them.

use std::time::Duration;

use abx_engine::schedule::Arrivals;
use abx_engine::{LoadPlan, PoolId, ScenarioUsers};
use abx_evidence::TimelinePlan;
use abx_evidence::record::{PilotSubject, SliceRecord};
use abx_stats::series::warm_up::{BINS_MIN, warm_up};
use abx_sys::Nanos;

use crate::measure::running_subjects::{Abort, Cache, LeadIn, RunningSubjects, throughput};
use crate::process::server_process::ServerProcessError;
use abx_study::PilotEffort;

/// The length of a slice unless something requires a longer one.
pub const SLICE_NS: u64 = 100_000_000;
/// Responses are counted in buckets of this length. A bin consists of one or more buckets, so that
/// it holds some responses even of a slow subject.
const BUCKET_NS: u64 = 25_000_000;
/// The usual maximum length of a bin.
const BIN_MAX_NS: u64 = 200_000_000;
/// The search for the warm-up joins this many bins. If responses take so long that not even these
/// would hold one response of each connection, bins are longer, up to `BIN_SLOW_MAX_NS`.
const BINS_SEARCHED_AS_ONE: f64 = 5.0;
const BIN_SLOW_MAX_NS: u64 = 2_000_000_000;

/// How thoroughly a pilot explores a subject.
struct Effort {
    /// Bins of the series from which the warm-up is read.
    bins: usize,
    /// Whether bins are lengthened for a slow subject.
    lengthens: bool,
    rounds: u32,
}

impl Effort {
    const BRIEF: Effort = Effort {
        // Too few to show a warm-up.
        bins: 2,
        lengthens: false,
        rounds: 1,
    };

    fn of(effort: PilotEffort) -> Effort {
        match effort {
            PilotEffort::Usual => Effort {
                bins: 40,
                lengthens: true,
                rounds: 4,
            },
            PilotEffort::Quick => Effort {
                bins: BINS_MIN,
                lengthens: true,
                rounds: 2,
            },
            PilotEffort::Brief => Effort::BRIEF,
        }
    }

    /// The length of a slice that has the shortest bins, and one bucket before them.
    fn shortest_ns(&self) -> u64 {
        (self.bins as u64 + 1) * BUCKET_NS
    }
}

/// Loads one subject from its start on, until `until` at the latest. It skips steps that do not
/// fit, and the result reports that.
///
/// # Errors
/// [`Abort`], except for a subject that leaves requests without a response: the result reports
/// that, and the other subjects continue.
pub fn explore(
    running: &mut RunningSubjects,
    subject: usize,
    plan: &LoadPlan,
    effort: PilotEffort,
    until: Option<Nanos>,
) -> Result<PilotSubject, Abort> {
    let plan = LoadPlan {
        timeline: Some(TimelinePlan {
            bucket_ns: BUCKET_NS,
            delayed_after_ns: None,
        }),
        ..plan.clone()
    };
    let opened = running.open(&plan)?;
    let mut exploration = Exploration {
        running,
        subject,
        plan: &plan,
        pool: opened.pool,
        until,
        switches_ns: Vec::new(),
    };
    let result = exploration.run(effort);
    running.lead_in = LeadIn::USUAL;
    running.close(opened.pool);
    match result {
        Ok(pilot_subject) => Ok(PilotSubject {
            opening_ns: opened.opening.open_ns,
            ..pilot_subject
        }),
        Err(abort) => failed(abort),
    }
}

/// The pilot's result for a subject that left requests without a response, so that the other
/// subjects continue; any other abort stays an error.
fn failed(abort: Abort) -> Result<PilotSubject, Abort> {
    match abort {
        Abort::Subject { name, error } => match *error {
            ServerProcessError::WithoutResponse { how, .. } => Ok(PilotSubject {
                settled: true,
                failed: Some(how),
                ..PilotSubject::default()
            }),
            error => Err(Abort::subject(&name, error)),
        },
        other => Err(other),
    }
}

/// The most requests that a load has in flight.
pub fn in_flight(plan: &LoadPlan) -> u64 {
    u64::from(plan.senders()) * u64::from(plan.window())
}

/// How long a request waits for its response, by Little's law.
pub fn turn_ns(throughput_per_s: f64, in_flight: u64) -> f64 {
    1e9 * in_flight as f64 / throughput_per_s.max(1e-3)
}

/// The mean response time of completed requests; 0 if there are none.
fn mean_response_ns(slices: &[SliceRecord]) -> u64 {
    let sum_ns: u64 = slices.iter().map(|slice| slice.response_ns_sum).sum();
    let completed = slices.iter().map(|slice| slice.outcomes.completed());
    sum_ns.checked_div(completed.sum()).unwrap_or_default()
}

struct Exploration<'a, 'b> {
    running: &'a mut RunningSubjects<'b>,
    subject: usize,
    plan: &'a LoadPlan,
    pool: PoolId,
    until: Option<Nanos>,
    /// How much longer than planned each slice took.
    switches_ns: Vec<u64>,
}

/// A subject's rate over time, from the start of its load.
struct RateSeries {
    /// Responses per second in bins of equal length, or values in proportion to them.
    rates: Vec<f64>,
    bin_ns: u64,
    last: SliceRecord,
    /// Whether time ran out before the series was long enough.
    cut_short: bool,
}

impl Exploration<'_, '_> {
    fn run(&mut self, effort: PilotEffort) -> Result<PilotSubject, Abort> {
        let requested = Effort::of(effort);
        // An uneven load does not show the warm-up.
        let is_brief = self.is_uneven() || self.left_ns() < 2 * requested.shortest_ns();
        let effort = if is_brief { Effort::BRIEF } else { requested };
        let series = match self.running.cache() {
            Cache::Left => self.series(&effort)?,
            Cache::Cold => self.series_of_slices(&effort)?,
        };
        let warm_up = warm_up(&series.rates).ok();
        let connections = self.plan.senders();
        let turn_ns = self.turn_ns(&series.last);
        // Another slice would add nothing to the series, and take far longer than planned.
        let is_slow = self.is_closed() && turn_ns > SLICE_NS as f64;
        let mut slices = Vec::new();
        let mut background_cpu = Vec::new();
        if is_slow {
            slices.push(series.last);
            background_cpu.push(self.background_cpu()?);
        } else {
            for _ in 0..effort.rounds {
                slices.push(self.slice(SLICE_NS, LeadIn::USUAL)?.0);
                background_cpu.push(self.background_cpu()?);
            }
        }
        // The first moments of a log hold too few requests to judge the subject by.
        if !self.is_replay() {
            self.running.check_outcomes(self.subject, &slices)?;
        }
        let background_cpu: Option<Vec<f64>> = background_cpu.into_iter().collect();
        Ok(PilotSubject {
            throughput_per_s: throughput(&slices, connections),
            response_ns: if self.is_closed() {
                0
            } else {
                mean_response_ns(&slices)
            },
            warm_up_ns: warm_up.map_or(0, |warm_up| warm_up.bins as u64 * series.bin_ns),
            settled: warm_up.is_some_and(|warm_up| warm_up.is_settled),
            background_cpu: background_cpu.map(|values| mean(&values)),
            failed: None,
            cut_short: is_brief || series.cut_short,
            opening_ns: 0,
            switch_ns: self.switches_ns.iter().sum::<u64>() / self.switches_ns.len().max(1) as u64,
        })
    }

    /// One slice with the shortest bins. If responses take too long for these, a second slice
    /// follows, and the bins of both are longer.
    fn series(&mut self, effort: &Effort) -> Result<RateSeries, Abort> {
        let (last, buckets) = self.slice(effort.shortest_ns(), LeadIn::NONE)?;
        let bin_ns = if effort.lengthens {
            self.bin_ns(&last)
        } else {
            BUCKET_NS
        };
        let ramp = self.ramp(&last);
        let mut series = RateSeries {
            rates: rates(&buckets, ramp, bin_ns),
            bin_ns,
            last,
            cut_short: false,
        };
        let missing = effort.bins.saturating_sub(series.rates.len()) as u64;
        if missing == 0 {
            return Ok(series);
        }
        let ramp_ns = ramp as u64 * BUCKET_NS;
        let edges_ns = ramp_ns + self.switches_ns[0];
        let room = self.left_ns().saturating_sub(edges_ns) / bin_ns;
        let least = BINS_MIN.saturating_sub(series.rates.len()) as u64;
        series.cut_short = room < least;
        if !series.cut_short {
            let ns = ramp_ns + missing.min(room) * bin_ns;
            let (last, buckets) = self.slice(ns, LeadIn::NONE)?;
            series.rates.extend(rates(&buckets, ramp, bin_ns));
            series.last = last;
        }
        Ok(series)
    }

    /// The series of a load whose slices find no file in memory. Each bin is a slice: later bins of
    /// one slice would find the files that the first had read.
    fn series_of_slices(&mut self, effort: &Effort) -> Result<RateSeries, Abort> {
        let (mut last, _) = self.slice(BUCKET_NS, LeadIn::USUAL)?;
        let bin_ns = self.bin_ns(&last);
        let mut rates = Vec::with_capacity(effort.bins);
        for _ in 0..effort.bins {
            if self.left_ns() < bin_ns {
                break;
            }
            (last, _) = self.slice(bin_ns, LeadIn::USUAL)?;
            rates.push(throughput(std::slice::from_ref(&last), self.plan.senders()));
        }
        Ok(RateSeries {
            cut_short: rates.len() < effort.bins.min(BINS_MIN),
            rates,
            bin_ns,
            last,
        })
    }

    /// Loads a slice; returns its record and the number of correct responses in each bucket.
    fn slice(&mut self, ns: u64, lead_in: LeadIn) -> Result<(SliceRecord, Vec<u32>), Abort> {
        self.running.lead_in = lead_in;
        let slice = self.running.slice(self.subject, self.pool, ns)?;
        let record = slice.record;
        self.running
            .check_responses(self.subject, self.plan, &record)?;
        self.switches_ns.push(record.wall_ns.saturating_sub(ns));
        let buckets = slice
            .timeline
            .map_or(Vec::new(), |timeline| timeline.responded().to_vec());
        Ok((record, buckets))
    }

    /// The length of bins that hold two responses of each connection or, if that is too long, of
    /// which five hold one response.
    fn bin_ns(&self, slice: &SliceRecord) -> u64 {
        let turn_ns = self.turn_ns(slice);
        let most_ns = if self.is_closed() && slice.clocked > 0 {
            ((turn_ns / BINS_SEARCHED_AS_ONE) as u64).clamp(BIN_MAX_NS, BIN_SLOW_MAX_NS)
        } else {
            BIN_MAX_NS
        };
        let bin_ns = ((2.0 * turn_ns) as u64).clamp(BUCKET_NS, most_ns);
        bin_ns.next_multiple_of(BUCKET_NS)
    }

    /// Buckets at the start of a slice in which connections wait for their first responses.
    fn ramp(&self, slice: &SliceRecord) -> usize {
        let turn_ns = if self.is_closed() && slice.clocked > 0 {
            self.turn_ns(slice)
        } else {
            0.0
        };
        (turn_ns as usize).div_ceil(BUCKET_NS as usize).max(1)
    }

    fn turn_ns(&self, slice: &SliceRecord) -> f64 {
        let slice = std::slice::from_ref(slice);
        turn_ns(throughput(slice, self.plan.senders()), in_flight(self.plan))
    }

    fn is_closed(&self) -> bool {
        self.plan.pacing.arrivals == Arrivals::Closed
    }

    /// Whether the number of responses depends on a log, or on the pauses of users.
    fn is_uneven(&self) -> bool {
        let users = self.plan.scenario.as_ref();
        self.is_replay() || users.is_some_and(ScenarioUsers::has_pauses)
    }

    fn is_replay(&self) -> bool {
        matches!(self.plan.pacing.arrivals, Arrivals::Replay(_))
    }

    fn left_ns(&self) -> u64 {
        let now = self.running.generator.now();
        self.until.map_or(u64::MAX, |until| until.since(now).0)
    }

    /// The share of one processor that a subject uses without load, beginning a tenth of a slice
    /// after the end of its slice.
    fn background_cpu(&mut self) -> Result<Option<f64>, Abort> {
        let running = &mut *self.running;
        running.rest(Duration::from_nanos(SLICE_NS / 10))?;
        let before = running.meter.before(self.subject);
        running.rest(Duration::from_nanos(SLICE_NS - SLICE_NS / 10))?;
        let after = running.meter.after(self.subject);
        let mut rest = SliceRecord::default();
        running.meter.note(&before, &after, &mut rest);
        let share = |cpu_ns| cpu_ns as f64 / rest.window_ns.max(1) as f64;
        Ok(rest.server_cpu_ns.map(share))
    }
}

/// Responses per second in each complete bin after the first `ramp` buckets.
fn rates(buckets: &[u32], ramp: usize, bin_ns: u64) -> Vec<f64> {
    let per_bin = usize::try_from(bin_ns / BUCKET_NS).unwrap_or(usize::MAX);
    let rate = |bin: &[u32]| {
        let responses: u32 = bin.iter().sum();
        f64::from(responses) * 1e9 / bin_ns as f64
    };
    let counted = buckets.get(ramp..).unwrap_or_default();
    counted.chunks_exact(per_bin.max(1)).map(rate).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
