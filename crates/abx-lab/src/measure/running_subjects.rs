//! Subjects that run, side by side, and the slice that loads one of them.
//! Pilot and blocks are made of this.

use std::collections::BTreeMap;
use std::time::Duration;

use abx_engine::{
    EngineError, LoadGenerator, LoadPlan, PoolId, ReportedInterval, SliceEnd, SliceEvent,
    SlicePlan, Stopper,
};
use abx_evidence::record::{
    BlockService, BlockSubject, CallRecord, Histograms, InUse, LedgerRecord, PilotRecord,
    SliceRecord,
};
use abx_evidence::{Course, Outcomes, SliceTally, TimelineTally};
use abx_sys::Nanos;
use abx_sys::strain::Strain;

pub use crate::measure::abort::Abort;
use crate::measure::host::profile_edge::ProfileEdge;
use crate::measure::host::profiler::{Profiler, calls_interval_ns};
use crate::measure::meter::Meter;
use crate::measure::running_services::RunningServices;
use crate::measure::timeout_waits::{TimeoutWaits, mostly_wrong, without_response};
use crate::process::pending::{Pending, unwatched, while_pending};
use crate::process::server_process::{ServerProcess, ServerProcessError};
use abx_study::Load;

/// The first part of a slice that is not counted: a tenth.
const DISCARDED: u64 = 10;
/// How often a subject without responses is examined, and at which interval, before it counts as
/// running.
const END_LOOKS: u32 = 50;
const END_LOOK_EVERY: Duration = Duration::from_millis(10);
/// Looks at memory take this part of the time: a fiftieth.
const MEMORY_EVERY: u64 = 50;

/// Receives what ended in the last intervals of a slice.
pub type OnIntervals<'a> = dyn Fn(&[ReportedInterval]) + 'a;

/// Subjects that run, with everything to load and watch them.
pub struct RunningSubjects<'a> {
    pub generator: &'a mut dyn LoadGenerator,
    pub meter: Meter,
    /// The subjects in the order of the study.
    pub processes: Vec<ServerProcess>,
    pub names: Vec<String>,
    /// The services that they need, if any.
    pub services: Option<&'a mut RunningServices>,
    /// The most memory of each that was seen.
    rss_bytes_max: Vec<Option<u64>>,
    /// The next look in passing is not before.
    memory_due: Nanos,
    /// The memory of each before any load.
    memory_at_rest: Vec<Option<u64>>,
    /// Which of the subjects' files slices find in memory, as the current load requests.
    cache: Cache,
    /// The part of slices at their beginning that is not counted.
    pub lead_in: LeadIn,
    /// No slice continues beyond this moment, except for the responses that it then waits for.
    pub deadline: Option<Nanos>,
    /// Receives the current wait.
    pub on_pending: &'a dyn Fn(Pending),
    /// Receives what ended in the last intervals of a slice whose course is kept; `None` without a
    /// display.
    pub on_intervals: Option<&'a OnIntervals<'a>>,
    /// Samples the subjects after their slices; `None` without `--why`.
    pub profiler: Option<&'a mut Profiler>,
    /// The cost of waiting for requests without a response.
    timeout_waits: TimeoutWaits,
    /// Whether the person stopped the study.
    stopper: Stopper,
    /// The machines that were lost before these subjects were loaded.
    missing: Vec<u32>,
}

/// One slice as measured.
pub struct MeasuredSlice {
    pub record: SliceRecord,
    /// How many of its connections stood at the end, when they are there to be held.
    pub standing: Option<u64>,
    pub times: Histograms,
    /// Its requests by when they were due, if the plan requested that.
    pub timeline: Option<TimelineTally>,
    /// How it went over time, if the plan requested that.
    pub course: Option<Course>,
    /// The machine's trouble counters meanwhile.
    pub strain: Strain,
    /// Pages of the subject's files that were in memory although they had been
    /// dropped; `None` where they were not, or could not be counted.
    pub resident_pages: Option<InUse>,
}

/// Which of the files that abx made for its subject a slice finds in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// Those that the slices before it left in memory.
    Left,
    /// Nothing, as far as the kernel can be brought to it. Such a slice counts
    /// from its begin, since its first requests are those that meet the disk.
    Cold,
}

impl Cache {
    /// The state of the cache that a load requests.
    #[must_use]
    pub fn of(load: &Load) -> Cache {
        if load.cold_cache {
            Cache::Cold
        } else {
            Cache::Left
        }
    }
}

/// The first part of slices, which is not counted: so much of so much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeadIn {
    part_ns: u64,
    of_ns: u64,
}

impl LeadIn {
    /// Where no response time is known yet.
    pub const USUAL: LeadIn = LeadIn {
        part_ns: 1,
        of_ns: DISCARDED,
    };
    /// Where what happens first is looked at.
    pub const NONE: LeadIn = LeadIn {
        part_ns: 0,
        of_ns: 1,
    };

    /// As in these slices.
    #[must_use]
    pub fn of(pilot: &PilotRecord) -> LeadIn {
        LeadIn {
            part_ns: pilot.discard_ns,
            of_ns: pilot.slice_ns.max(1),
        }
    }

    /// Of slices of this length on a server whose responses take `response_ns`: two response
    /// times, so that the queues are as they will be. At least a tenth, and of slices
    /// that hold few responses no more than leaves most of the slice.
    #[must_use]
    pub fn for_responses(response_ns: f64, slice_ns: u64) -> LeadIn {
        let wanted = (2.0 * response_ns) as u64;
        LeadIn {
            part_ns: wanted.clamp(slice_ns / DISCARDED, slice_ns * 2 / 5),
            of_ns: slice_ns.max(1),
        }
    }

    /// How long it is in a slice of this length, in ns.
    #[must_use]
    pub fn ns(self, slice_ns: u64) -> u64 {
        let part = u128::from(slice_ns) * u128::from(self.part_ns) / u128::from(self.of_ns);
        u64::try_from(part).unwrap_or(slice_ns)
    }
}

/// The throughput of slices together, in verified responses per second, over so many connections
/// that send.
#[must_use]
pub fn throughput(slices: &[SliceRecord], connections: u32) -> f64 {
    let ok: u64 = slices.iter().map(|slice| slice.clocked).sum();
    let ns: u64 = slices.iter().map(|slice| slice.connection_ns).sum();
    f64::from(connections) * ok as f64 / (ns.max(1) as f64 / 1e9)
}

impl<'a> RunningSubjects<'a> {
    /// Subjects that are up, in the order of the study.
    pub fn new(
        generator: &'a mut dyn LoadGenerator,
        meter: Meter,
        processes: Vec<ServerProcess>,
        names: Vec<String>,
    ) -> RunningSubjects<'a> {
        RunningSubjects {
            stopper: generator.stopper(),
            missing: generator.missing(),
            cache: Cache::Left,
            lead_in: LeadIn::USUAL,
            deadline: None,
            on_pending: &unwatched,
            on_intervals: None,
            profiler: None,
            timeout_waits: TimeoutWaits::of(processes.len()),
            rss_bytes_max: vec![None; processes.len()],
            memory_due: Nanos(0),
            memory_at_rest: vec![None; processes.len()],
            generator,
            meter,
            processes,
            names,
            services: None,
        }
    }

    /// Looks how much memory each subject has.
    pub fn note_memory(&mut self) {
        let began = Nanos::now();
        for (subject, most) in self.rss_bytes_max.iter_mut().enumerate() {
            *most = (*most).max(self.meter.subjects.rss_bytes(subject));
        }
        self.meter.services.note_memory();
        let took = Nanos::now().since(began);
        self.memory_due = began.plus(Nanos(MEMORY_EVERY * took.0));
    }

    /// The same, unless the last look was so lately that looking would take a noticeable part
    /// of the time: of thousands of processes it takes a tenth of a second.
    pub fn note_memory_in_passing(&mut self) {
        if Nanos::now() >= self.memory_due {
            self.note_memory();
        }
    }

    /// Which of the subjects' files slices of the current load find in memory.
    #[must_use]
    pub fn cache(&self) -> Cache {
        self.cache
    }

    /// Slices are of another load from here on.
    pub fn begin_load(&mut self, cache: Cache) {
        self.cache = cache;
        self.timeout_waits.begin_load();
    }

    /// Holds the connections of one subject's pool, without requests, for a while; returns how many
    /// are open then. None is opened again.
    ///
    /// # Errors
    /// As [`RunningSubjects::slice`].
    pub fn hold(&mut self, subject: usize, pool: PoolId, ns: u64) -> Result<u64, Abort> {
        let plan = SlicePlan {
            end: SliceEnd::AfterNs(ns),
            discard_ns: 0,
            course: None,
        };
        self.check_deadline(ns)?;
        let slice = self.load(subject, pool, &plan)?;
        if self.stopper.is_stopped() {
            return Err(Abort::Interrupted);
        }
        self.check_load()?;
        self.check(subject)?;
        Ok(slice
            .connections
            .map_or(0, |connections| connections.standing))
    }

    /// Memory of a subject that has had no load in this block yet, without pages of files: the
    /// first value that was read.
    pub fn memory_at_rest(&mut self, subject: usize) -> Option<u64> {
        let read = || {
            let memory = self.meter.subjects.proportional_memory(subject)?;
            Some(memory.without_files_bytes())
        };
        let known = self.memory_at_rest[subject].or_else(read);
        self.memory_at_rest[subject] = known;
        known
    }

    /// The first part of a slice of this length that is not counted, in ns.
    #[must_use]
    pub fn discard_ns(&self, slice_ns: u64) -> u64 {
        match self.cache {
            Cache::Left => self.lead_in.ns(slice_ns),
            Cache::Cold => 0,
        }
    }

    /// Loads one subject for a while.
    ///
    /// # Errors
    /// [`Abort::Interrupted`]; [`Abort::Subject`] when the subject has ended;
    /// [`Abort::Budget`] when the slice would end too late; [`Abort::Engine`].
    pub fn slice(&mut self, subject: usize, pool: PoolId, ns: u64) -> Result<MeasuredSlice, Abort> {
        self.check_deadline(ns)?;
        self.meter.subjects.end_idle(subject);
        let reopened = self.refresh(subject, pool)?;
        // Connections may take long to be made.
        self.check_deadline(ns)?;
        let resident_pages = match self.cache {
            Cache::Left => None,
            Cache::Cold => self.processes[subject].drop_files(),
        };
        let plan = SlicePlan {
            end: SliceEnd::AfterNs(ns),
            discard_ns: self.discard_ns(ns),
            course: None,
        };
        let mut measured = self.measure(subject, pool, &plan)?;
        if self.stopper.is_stopped() {
            return Err(Abort::Interrupted);
        }
        self.check_load()?;
        self.check(subject)?;
        measured.record.reopened = reopened;
        self.timeout_waits.note(subject, ns, &measured.record);
        measured.record.stopped_responding |= self.timeout_waits.is_over(subject);
        measured.resident_pages = resident_pages;
        Ok(measured)
    }

    /// Loads one subject for `ns` once more, and samples the code of its processes. Nothing of it
    /// counts in comparisons. `None` without `--why`.
    ///
    /// # Errors
    /// As [`RunningSubjects::slice`].
    pub fn profile(
        &mut self,
        subject: usize,
        pool: PoolId,
        ns: u64,
    ) -> Result<Option<LedgerRecord>, Abort> {
        let Some(profiler) = self.profiler.take() else {
            return Ok(None);
        };
        let record = self.sample(profiler, subject, pool, ns);
        self.profiler = Some(profiler);
        record.map(Some)
    }

    fn sample(
        &mut self,
        profiler: &mut Profiler,
        subject: usize,
        pool: PoolId,
        ns: u64,
    ) -> Result<LedgerRecord, Abort> {
        let Some(members) = self.meter.subjects.members(subject) else {
            return Ok(LedgerRecord::failed("its processes cannot be seen"));
        };
        let address = self.processes[subject].address.tcp();
        let before = ProfileEdge::read(&mut self.meter.subjects, subject, address);
        let (measured, ledger) = profiler.sample(&members, || self.slice(subject, pool, ns));
        let after = ProfileEdge::read(&mut self.meter.subjects, subject, address);
        let slice = measured?.record;
        let effort = after.effort_since(&before);
        Ok(LedgerRecord {
            sampled_ns: slice.window_ns,
            samples_per_s: profiler.samples_per_s(),
            completed: slice.all_completed(),
            server_cpu_ns: slice.server_cpu_ns,
            server_user_ns: effort.map(|effort| effort.user.0),
            server_system_ns: effort.map(|effort| effort.system.0),
            threads: after.threads_since(&before),
            segments: after.segments_since(&before, &slice),
            calls: Some(self.count_calls(profiler, subject, pool, calls_interval_ns(ns))?),
            failure: ledger.as_ref().err().map(ToString::to_string),
            ledger: ledger.unwrap_or_default(),
        })
    }

    /// Loads a subject once more while its system calls and waits are counted.
    fn count_calls(
        &mut self,
        profiler: &mut Profiler,
        subject: usize,
        pool: PoolId,
        ns: u64,
    ) -> Result<CallRecord, Abort> {
        if let Some(limit) = profiler.calls.limit() {
            return Ok(CallRecord {
                failure: Some(limit.to_string()),
                ..CallRecord::default()
            });
        }
        let members = self.meter.subjects.members(subject).unwrap_or_default();
        let calls = &mut profiler.calls;
        let (measured, counted) = calls.count(&members, || self.slice(subject, pool, ns));
        let slice = measured?.record;
        Ok(CallRecord {
            counted_ns: slice.window_ns,
            completed: slice.all_completed(),
            ..counted
        })
    }

    /// Whether the load is the same for all slices of these subjects: it is not from where a
    /// machine that made a part of it was lost.
    ///
    /// # Errors
    /// [`Abort::LoadLost`].
    pub fn check_load(&self) -> Result<(), Abort> {
        if self.generator.missing() == self.missing {
            Ok(())
        } else {
            Err(Abort::LoadLost)
        }
    }

    /// The machines that had no part in the load of these subjects, by slot.
    #[must_use]
    pub fn missing_agents(&self) -> Vec<u32> {
        self.missing.clone()
    }

    /// Whether something of this length ends before the deadline.
    ///
    /// # Errors
    /// [`Abort::Budget`] when it does not.
    pub fn check_deadline(&self, ns: u64) -> Result<(), Abort> {
        let ends = self.generator.now().plus(Nanos(ns));
        if self.deadline.is_some_and(|deadline| ends > deadline) {
            Err(Abort::Budget)
        } else {
            Ok(())
        }
    }

    /// Makes load for one slice, and reports its progress and the connections that its end waits
    /// for.
    fn load(
        &mut self,
        subject: usize,
        pool: PoolId,
        plan: &SlicePlan,
    ) -> Result<SliceTally, EngineError> {
        let (subject, on_intervals) = (self.names[subject].as_str(), self.on_intervals);
        while_pending(self.on_pending, |notify| {
            self.generator.slice(pool, plan, &mut |event| match event {
                SliceEvent::Awaits(awaited) => notify(Pending::Responses {
                    subject,
                    connections: awaited.connections,
                    waited: Duration::from_nanos(awaited.waited_ns),
                    at_most: Duration::from_nanos(awaited.at_most_ns),
                }),
                SliceEvent::Intervals(reported_intervals) => {
                    if let Some(notify) = on_intervals {
                        notify(&reported_intervals);
                    }
                }
            })
        })
    }

    /// Loads one subject, and reads the counters at both edges. A stop ends it early.
    ///
    /// # Errors
    /// [`Abort::Engine`].
    pub fn measure(
        &mut self,
        subject: usize,
        pool: PoolId,
        plan: &SlicePlan,
    ) -> Result<MeasuredSlice, Abort> {
        self.generator.arm(pool, plan)?;
        let before = self.meter.before(subject);
        let slice = self.load(subject, pool, plan)?;
        let after = self.meter.after(subject);
        let mut record = SliceRecord::of(&self.names[subject], &slice);
        let ends_by_number = matches!(plan.end, SliceEnd::AfterRequests(_));
        // Connections of machines that were lost send no more.
        let are_fewer = ends_by_number || !self.generator.missing().is_empty();
        record.clocks = are_fewer.then_some(slice.tally.clocks);
        self.meter.note(&before, &after, &mut record);
        Ok(MeasuredSlice {
            record,
            standing: slice.connections.map(|connections| connections.standing),
            timeline: slice.tally.timeline.clone().map(|kept| *kept),
            course: slice.tally.course.as_ref().map(|kept| kept.finish()),
            times: slice.tally.times,
            strain: after.strain_since(&before),
            resident_pages: None,
        })
    }

    fn refresh(&mut self, subject: usize, pool: PoolId) -> Result<u64, Abort> {
        let began = Nanos::now();
        let name = &self.names[subject];
        let report = while_pending(self.on_pending, |notify| {
            let mut on_wait = |awaited| notify(Pending::connections(name, awaited));
            self.generator.refresh(pool, &mut on_wait)
        })?;
        let waited = Nanos::now().since(began);
        self.timeout_waits
            .note_opening(subject, waited.0, &report.failures);
        Ok(report.opened as u64)
    }

    /// Whether a subject still runs, and its services: without them it may well end.
    ///
    /// # Errors
    /// [`Abort::ServiceDied`], [`Abort::Subject`].
    pub fn check(&mut self, subject: usize) -> Result<(), Abort> {
        if let Some(services) = &mut self.services {
            services.check()?;
        }
        let checked = self.processes[subject].check();
        checked.map_err(|error| Abort::subject(&self.names[subject], error))
    }

    /// Whether a subject responds to the requests of this plan in a slice: without responses there
    /// is nothing to compare.
    ///
    /// # Errors
    /// [`Abort::Subject`] with [`ServerProcessError::WithoutResponse`].
    pub fn check_responses(
        &self,
        subject: usize,
        plan: &LoadPlan,
        slice: &SliceRecord,
    ) -> Result<(), Abort> {
        if slice.stopped_responding {
            Err(self.without_response(subject, without_response(plan, slice)))
        } else {
            Ok(())
        }
    }

    /// Whether a subject gave correct responses to at least half of the requests of these slices:
    /// otherwise it must not set how long slices are.
    ///
    /// # Errors
    /// As [`RunningSubjects::check_responses`].
    pub fn check_outcomes(&self, subject: usize, slices: &[SliceRecord]) -> Result<(), Abort> {
        let mut outcomes = Outcomes::default();
        for slice in slices {
            outcomes.merge(&slice.outcomes);
            outcomes.merge(&slice.discarded);
        }
        if outcomes.ok() < outcomes.failed() {
            Err(self.without_response(subject, mostly_wrong(&outcomes)))
        } else {
            Ok(())
        }
    }

    fn without_response(&self, subject: usize, how: String) -> Abort {
        let name = self.names[subject].clone();
        let error = ServerProcessError::WithoutResponse { name, how };
        Abort::subject(&self.names[subject], error)
    }

    /// As [`RunningSubjects::check`], for a subject that no longer responds: its sockets close some
    /// moments before its end is reported.
    ///
    /// # Errors
    /// As [`RunningSubjects::check`]; [`Abort::Interrupted`].
    pub fn look_for_its_end(&mut self, subject: usize) -> Result<(), Abort> {
        for _ in 0..END_LOOKS {
            self.check(subject)?;
            self.rest(END_LOOK_EVERY)?;
        }
        self.check(subject)
    }

    /// Rests, and is woken by a stop.
    ///
    /// # Errors
    /// [`Abort::Interrupted`].
    pub fn rest(&self, span: Duration) -> Result<(), Abort> {
        let step = Duration::from_millis(50);
        let mut left = span;
        while !left.is_zero() {
            if self.stopper.is_stopped() {
                return Err(Abort::Interrupted);
            }
            std::thread::sleep(left.min(step));
            left = left.saturating_sub(step);
        }
        Ok(())
    }

    /// The state of the services in a block that ended so.
    #[must_use]
    pub fn services_record(&mut self, ended: &Result<(), Abort>) -> BTreeMap<String, BlockService> {
        let host = &mut self.meter.services;
        let services = self.services.as_ref();
        services.map_or_else(BTreeMap::new, |services| services.record(host, ended))
    }

    /// Stops every subject; `died` is the one that had exited by itself.
    #[must_use]
    pub fn stop_all(mut self, died: Option<&str>) -> Vec<(String, BlockSubject)> {
        let processes = std::mem::take(&mut self.processes);
        let ends = processes.into_iter().enumerate().map(|(subject, process)| {
            let name = self.names[subject].clone();
            let cpu = self.meter.subjects.cpu(subject);
            let mut end = process.stop();
            end.died = died == Some(&name);
            end.rss_bytes_max = self.rss_bytes_max[subject];
            end.cpu_s = cpu.map(abx_sys::Nanos::as_secs_f64);
            (name, end)
        });
        ends.collect()
    }
}
