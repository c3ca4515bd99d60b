//! Subjects that run side by side, and the slice that loads one of them. Pilot and blocks consist
//! of such slices.

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
use abx_ledger::Ledger;
use abx_sys::Nanos;
use abx_sys::strain::Strain;

pub use crate::measure::abort::Abort;
use crate::measure::host::profile_edge::ProfileEdge;
use crate::measure::host::profiler::{
    Profiler, SampledLedgers, SampledProcesses, calls_interval_ns,
};
use crate::measure::meter::Meter;
use crate::measure::running_services::RunningServices;
use crate::measure::timeout_waits::{TimeoutWaits, mostly_wrong, without_response};
use crate::process::pending::{Pending, unwatched, while_pending};
use crate::process::server_process::{ServerProcess, ServerProcessError};
use abx_study::Load;

/// The usual part of a slice at its beginning that is not counted: a tenth.
const DISCARDED: u64 = 10;
/// How often, and at which interval, a subject without responses is checked before it counts as
/// running.
const END_LOOKS: u32 = 50;
const END_LOOK_EVERY: Duration = Duration::from_millis(10);
/// Reading memory takes at most this part of the time: a fiftieth.
const MEMORY_EVERY: u64 = 50;

/// Receives the last complete intervals of a slice.
pub type OnIntervals<'a> = dyn Fn(&[ReportedInterval]) + 'a;

/// Subjects that run, with everything to load and watch them.
pub struct RunningSubjects<'a> {
    pub generator: &'a mut dyn LoadGenerator,
    pub meter: Meter,
    /// The subjects in the order of the study.
    pub processes: Vec<ServerProcess>,
    pub names: Vec<String>,
    /// The services that the subjects need, if any.
    pub services: Option<&'a mut RunningServices>,
    /// The most memory seen of each subject.
    rss_bytes_max: Vec<Option<u64>>,
    /// Before this moment, memory is not read in passing.
    memory_due: Nanos,
    /// The memory of each subject before any load.
    memory_at_rest: Vec<Option<u64>>,
    /// Which of the subjects' files slices find in memory, as the current load requests.
    cache: Cache,
    /// The part of slices at their beginning that is not counted.
    pub lead_in: LeadIn,
    /// No slice continues beyond this moment, except for the responses that it then waits for.
    pub deadline: Option<Nanos>,
    /// Receives the current wait.
    pub on_pending: &'a dyn Fn(Pending),
    /// Receives the last complete intervals of a slice whose course is kept; `None` without a
    /// display.
    pub on_intervals: Option<&'a OnIntervals<'a>>,
    /// Samples the subjects after their slices; `None` without `--why`.
    pub profiler: Option<&'a mut Profiler>,
    timeout_waits: TimeoutWaits,
    /// The pools that were opened and not closed; an abort leaves some.
    pub(super) open_pools: Vec<PoolId>,
    /// Whether the user stopped the study.
    stopper: Stopper,
    /// The machines that were lost before these subjects were loaded.
    missing: Vec<u32>,
}

/// One slice as measured.
pub struct MeasuredSlice {
    pub record: SliceRecord,
    /// The connections that were open at the end, if the load holds them.
    pub standing: Option<u64>,
    pub times: Histograms,
    /// The requests by due time, if the plan requested that.
    pub timeline: Option<TimelineTally>,
    /// The course over time, if the plan requested it.
    pub course: Option<Course>,
    /// The machine's trouble counters during the slice.
    pub strain: Strain,
    /// Pages of the subject's files that were in memory although they had been dropped; `None` if
    /// they were not dropped, or could not be counted.
    pub resident_pages: Option<InUse>,
}

/// Which of the files that abx made for a subject a slice finds in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// The files that earlier slices left in memory.
    Left,
    /// No files, as far as the kernel drops them. Such a slice counts from its beginning, since its
    /// first requests are the ones that read the disk.
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

/// The part of slices at their beginning that is not counted: `part_ns` of every `of_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeadIn {
    part_ns: u64,
    of_ns: u64,
}

impl LeadIn {
    /// The lead-in until a response time is known.
    pub const USUAL: LeadIn = LeadIn {
        part_ns: 1,
        of_ns: DISCARDED,
    };
    /// No lead-in: for slices whose beginning is examined.
    pub const NONE: LeadIn = LeadIn {
        part_ns: 0,
        of_ns: 1,
    };

    /// The lead-in of the slices that a pilot planned.
    #[must_use]
    pub fn of(pilot: &PilotRecord) -> LeadIn {
        LeadIn {
            part_ns: pilot.discard_ns,
            of_ns: pilot.slice_ns.max(1),
        }
    }

    /// The lead-in of slices of this length on a server whose responses take `response_ns`: two
    /// response times, so that the queues have their usual length. It is at least a tenth and at
    /// most two fifths of a slice, so that most of a slice with few responses counts.
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

/// The throughput of several slices together over this many sending connections, in verified
/// responses per second.
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
            open_pools: Vec::new(),
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

    /// Reads how much memory each subject and service has.
    pub fn note_memory(&mut self) {
        let began = Nanos::now();
        for (subject, most) in self.rss_bytes_max.iter_mut().enumerate() {
            *most = (*most).max(self.meter.subjects.rss_bytes(subject));
        }
        self.meter.services.note_memory();
        let took = Nanos::now().since(began);
        self.memory_due = began.plus(Nanos(MEMORY_EVERY * took.0));
    }

    /// As [`RunningSubjects::note_memory`], unless the last reading was so recent that another one
    /// would take a noticeable part of the time: reading thousands of processes takes a tenth of a
    /// second.
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

    /// Begins another load, to which later slices belong.
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
        let Some(of_subject) = self.meter.subjects.members(subject) else {
            return Ok(LedgerRecord::failed("its processes cannot be seen"));
        };
        let processes = SampledProcesses {
            of_subject,
            of_services: self.meter.services.members(),
        };
        let are_services_sampled = !processes.of_services.is_empty() && profiler.samples_kernel();
        let address = self.processes[subject].address.tcp();
        let before = ProfileEdge::read(&mut self.meter.subjects, subject, address);
        let (measured, ledgers) = profiler.sample(&processes, || self.slice(subject, pool, ns));
        let after = ProfileEdge::read(&mut self.meter.subjects, subject, address);
        let slice = measured?.record;
        let effort = after.effort_since(&before);
        let (ledgers, failure) = match ledgers {
            Ok(ledgers) if is_elsewhere(&ledgers.of_subject, &slice, profiler.samples_per_s()) => (
                ledgers,
                Some("it ran on CPUs that abx does not sample".to_owned()),
            ),
            Ok(ledgers) => (ledgers, None),
            Err(error) => (SampledLedgers::default(), Some(error.to_string())),
        };
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
            services: (are_services_sampled && failure.is_none()).then_some(ledgers.of_services),
            failure,
            ledger: ledgers.of_subject,
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
        let Some(members) = self.meter.subjects.members(subject) else {
            return Ok(CallRecord {
                failure: Some("its processes cannot be seen".to_owned()),
                ..CallRecord::default()
            });
        };
        let calls = &mut profiler.calls;
        let (measured, counted) = calls.count(&members, || self.slice(subject, pool, ns));
        let slice = measured?.record;
        Ok(CallRecord {
            counted_ns: slice.window_ns,
            completed: slice.all_completed(),
            ..counted
        })
    }

    /// Checks that the load is the same for all slices of these subjects. It changes when a machine
    /// that generates part of it is lost.
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

    /// Checks that something of this length ends before the deadline.
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

    /// Generates the load of one slice, and reports its progress and the connections that its end
    /// waits for.
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
                SliceEvent::Intervals(intervals) => {
                    if let Some(notify) = on_intervals {
                        notify(&intervals);
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
            timeline: slice.tally.timeline.clone().map(|timeline| *timeline),
            course: slice.tally.course.as_ref().map(|course| course.finish()),
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

    /// Checks that a subject and its services still run. Services come first: without them a
    /// subject may well end.
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

    /// Checks that a subject responds to the requests of this plan in a slice: without responses
    /// there is nothing to compare.
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

    /// Checks that a subject gave correct responses to at least half of the requests of these
    /// slices: otherwise it must not set the length of slices.
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

    /// The record of the services in a block that ended like this.
    #[must_use]
    pub fn services_record(&mut self, ended: &Result<(), Abort>) -> BTreeMap<String, BlockService> {
        let host = &mut self.meter.services;
        let services = self.services.as_ref();
        services.map_or_else(BTreeMap::new, |services| services.record(host, ended))
    }

    /// Stops every subject; `died` is the name of the one that had exited by itself.
    #[must_use]
    pub fn stop_all(mut self, died: Option<&str>) -> Vec<(String, BlockSubject)> {
        let processes = std::mem::take(&mut self.processes);
        let ends = processes.into_iter().enumerate().map(|(subject, process)| {
            let name = self.names[subject].clone();
            let cpu = self.meter.subjects.cpu(subject);
            let mut end = process.stop();
            end.died = died == Some(&name);
            end.rss_bytes_max = self.rss_bytes_max[subject];
            end.cpu_s = cpu.map(Nanos::as_secs_f64);
            (name, end)
        });
        ends.collect()
    }
}
/// Whether a subject used CPU time without a single sample, although at least
/// [`SAMPLES_EXPECTED_MIN`] were due.
fn is_elsewhere(ledger: &Ledger, slice: &SliceRecord, samples_per_s: u32) -> bool {
    let cpu_s = slice.server_cpu_ns.unwrap_or_default() as f64 / 1e9;
    ledger.samples == 0
        && ledger.is_complete()
        && !ledger.without_kernel
        && cpu_s * f64::from(samples_per_s) >= SAMPLES_EXPECTED_MIN
}

const SAMPLES_EXPECTED_MIN: f64 = 40.0;
