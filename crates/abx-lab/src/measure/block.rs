//! One load of one block: warm-up, then rounds of slices in random order.

use std::collections::BTreeMap;
use std::time::Duration;

use abx_engine::{LoadPlan, PoolId, SliceEnd, SlicePlan};
use abx_evidence::CoursePlan;
use abx_evidence::record::{
    BlockLoad, Disturbance, Histograms, HostCounters, InUse, Interleave, PilotRecord, Round,
    SliceRecord, SubjectReadings, WAIT_SHARE_MIN,
};
use abx_sys::Nanos;
use abx_sys::counters::ticks_per_second;
use abx_sys::strain::Strain;
use abx_sys::tree::{ListenDrops, ThreadTimes, listen_drops};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::measure::host::profiler::interval_ns;
use crate::measure::idle_connections::{held, hold};
use crate::measure::opened_pool::OpenedPool;
use crate::measure::planned_load::{PlannedCeiling, SubjectPlans};
use crate::measure::running_subjects::{Abort, LeadIn, MeasuredSlice, RunningSubjects};

/// A round is disturbed if the hypervisor took at least this many ticks and this share of it: one
/// tick may be rounding.
const STEAL_TICKS_MIN: u64 = 2;
const STEAL_SHARE_MIN: f64 = 0.01;

/// The ceiling is a bound and needs no precision: it gets a slice in every fifth round, and a short
/// one per round of trials.
pub const CEILING_EVERY: u32 = 5;
pub const CEILING_TRIAL_NS: u64 = 1_000_000_000;
pub const CEILING_WARM_UP_NS: u64 = 100_000_000;

/// An event while a load is measured, for display.
pub enum RoundEvent<'a> {
    /// A round begins; its number counts from zero.
    RoundBegins(u32),
    /// A round has ended, with these slices.
    RoundEnded(&'a [SliceRecord]),
}

/// One load in one block.
pub struct SubjectRun<'a, 'b> {
    /// The subjects to load, and their load plans.
    pub running: &'a mut RunningSubjects<'b>,
    pub plans: &'a [LoadPlan],
    pub pilot: &'a PilotRecord,
    /// A server that does nothing, loaded now and then in the same way.
    pub ceiling: Option<&'a PlannedCeiling>,
    warm_up_ns: u64,
    /// Draws the order within rounds.
    pub random: &'a mut ChaCha8Rng,
    /// The measurements so far.
    pub result: BlockLoad,
    /// Subjects that this load leaves out: they stopped responding, or have enough blocks.
    silent: Vec<usize>,
    /// Connections that a subject's listeners had dropped before its pool was opened.
    dropped_before: BTreeMap<usize, ListenDrops>,
}

impl<'a, 'b> SubjectRun<'a, 'b> {
    /// Nothing measured yet.
    pub fn new(
        name: &str,
        running: &'a mut RunningSubjects<'b>,
        planned: &'a SubjectPlans,
        pilot: &'a PilotRecord,
        random: &'a mut ChaCha8Rng,
    ) -> SubjectRun<'a, 'b> {
        let result = BlockLoad {
            load: name.to_owned(),
            rounds: Vec::new(),
            histograms: BTreeMap::new(),
            courses: BTreeMap::new(),
            ledgers: BTreeMap::new(),
            sides: BTreeMap::new(),
        };
        running.begin_load(planned.cache);
        running.lead_in = LeadIn::of(pilot);
        SubjectRun {
            running,
            plans: &planned.plans,
            ceiling: planned.ceiling.as_ref(),
            warm_up_ns: pilot.warm_up_ns,
            pilot,
            random,
            result,
            silent: Vec::new(),
            dropped_before: BTreeMap::new(),
        }
    }

    /// Leaves out subjects that failed under this load before, or have enough blocks.
    pub fn without(mut self, left_out: Vec<usize>) -> SubjectRun<'a, 'b> {
        self.silent = left_out;
        self
    }

    /// Lengthens the warm-up to at least this.
    pub fn cold(mut self, at_least_ns: u64) -> SubjectRun<'a, 'b> {
        self.warm_up_ns = self.warm_up_ns.max(at_least_ns);
        self
    }

    /// Measures this load. Measurements from before an abort stay in `result`.
    pub fn measure(&mut self, mut watch: impl FnMut(RoundEvent)) -> Result<(), Abort> {
        if self.plans.iter().all(|plan| plan.shape.hold_ns().is_some()) {
            let ended = self.hold(&mut watch);
            self.running.close_all();
            return ended;
        }
        let ended = match self.pilot.interleave {
            Interleave::Slices => self.slices(&mut watch),
            Interleave::Trials => self.trials(&mut watch),
        };
        self.running.close_all();
        self.note_others();
        self.running.note_memory();
        ended
    }

    /// Opens, holds and closes each subject's connections in turn.
    fn hold(&mut self, watch: &mut dyn FnMut(RoundEvent)) -> Result<(), Abort> {
        watch(RoundEvent::RoundBegins(0));
        for subject in self.order() {
            self.running.memory_at_rest(subject);
            let opened = self.open(subject)?;
            let plan = &self.plans[subject];
            let held = hold(self.running, subject, plan, &opened, self.pilot.slice_ns)?;
            self.side(subject).held = Some(held);
            self.note_holdings(subject);
            self.running.note_memory();
            self.running.close(opened.pool);
        }
        Ok(())
    }

    fn slices(&mut self, watch: &mut dyn FnMut(RoundEvent)) -> Result<(), Abort> {
        let mut pools = BTreeMap::new();
        for subject in self.order() {
            if !self.silent.contains(&subject) {
                pools.insert(subject, self.open(subject)?.pool);
            }
        }
        // Shuffled again: a subject that waits longer for its warm-up starts it less cold.
        for subject in self.order() {
            if let Some(pool) = pools.get(&subject) {
                self.warm_up(subject, *pool)?;
            }
        }
        let ceiling = self.open_ceiling()?;
        let threads: Vec<_> = (0..self.plans.len())
            .map(|subject| self.running.meter.subjects.threads(subject))
            .collect();
        self.running.meter.subjects.begin_idle();
        for round in 0..self.pilot.rounds {
            watch(RoundEvent::RoundBegins(round));
            let mut slices = Vec::with_capacity(pools.len());
            for subject in self.order() {
                if !self.silent.contains(&subject) {
                    slices.push(self.slice(subject, pools[&subject])?);
                }
            }
            if let Some((index, pool)) = ceiling.filter(|_| round % CEILING_EVERY == 0) {
                slices.push(self.running.slice(index, pool, self.pilot.slice_ns)?.record);
            }
            watch(RoundEvent::RoundEnded(&slices));
            self.note_round(slices);
        }
        for (subject, before) in threads.into_iter().enumerate() {
            self.side(subject).busiest_thread_ns = self.busiest_since(subject, before);
            self.note_holdings(subject);
        }
        for subject in self.order() {
            if let Some(pool) = pools.get(&subject) {
                self.profile(subject, *pool)?;
            }
        }
        Ok(())
    }

    fn trials(&mut self, watch: &mut dyn FnMut(RoundEvent)) -> Result<(), Abort> {
        self.running.meter.subjects.begin_idle();
        for round in 0..self.pilot.rounds {
            watch(RoundEvent::RoundBegins(round));
            let mut slices = Vec::with_capacity(self.plans.len());
            for subject in self.order() {
                if self.silent.contains(&subject) {
                    continue;
                }
                let pool = self.open(subject)?.pool;
                self.warm_up(subject, pool)?;
                let before = self.running.meter.subjects.threads(subject);
                if !self.silent.contains(&subject) {
                    slices.push(self.slice(subject, pool)?);
                }
                let busiest = self.busiest_since(subject, before);
                let sum = &mut self.side(subject).busiest_thread_ns;
                *sum = busiest.map(|busiest| sum.unwrap_or_default() + busiest);
                self.note_holdings(subject);
                if round + 1 == self.pilot.rounds {
                    self.profile(subject, pool)?;
                }
                self.running.close(pool);
            }
            if let Some((index, pool)) = self.open_ceiling()? {
                let ns = self.pilot.slice_ns.min(CEILING_TRIAL_NS);
                slices.push(self.running.slice(index, pool, ns)?.record);
                self.running.close(pool);
            }
            watch(RoundEvent::RoundEnded(&slices));
            self.note_round(slices);
        }
        Ok(())
    }

    /// Loads the only subject once, after its warm-up if it has one, until `end` or a stop. The
    /// measurement until a stop counts. The course starts with intervals of this length.
    ///
    /// # Errors
    /// [`Abort::Engine`]; as [`RunningSubjects::slice`] during a warm-up.
    pub fn once(&mut self, end: SliceEnd, interval: Duration) -> Result<(), Abort> {
        const ONLY: usize = 0;
        let plan = &self.plans[ONLY];
        let is_held = plan.shape.hold_ns().is_some();
        if is_held {
            self.running.memory_at_rest(ONLY);
        }
        let opened = self.open(ONLY)?;
        if self.warm_up_ns > 0 {
            self.warm_up(ONLY, opened.pool)?;
        }
        let before = self.running.meter.subjects.threads(ONLY);
        let course = CoursePlan {
            interval_ns: Nanos::from(interval).0,
            is_told: self.running.on_intervals.is_some(),
        };
        let slice_plan = SlicePlan {
            end,
            discard_ns: 0,
            course: (!is_held).then_some(course),
        };
        let measured = self.running.measure(ONLY, opened.pool, &slice_plan)?;
        self.side(ONLY).busiest_thread_ns = self.busiest_since(ONLY, before);
        if is_held {
            let standing = measured.standing.unwrap_or_default();
            let held = held(self.running, ONLY, plan, &opened, standing);
            self.side(ONLY).held = Some(held);
        }
        let slice = self.note_slice(ONLY, measured);
        if !is_held {
            // The measurement counts, even if sampling fails.
            let _ = self.profile(ONLY, opened.pool);
        }
        self.note_holdings(ONLY);
        self.note_round(vec![slice]);
        self.running.close(opened.pool);
        Ok(())
    }

    /// CPU time of a subject's busiest thread since `before`.
    fn busiest_since(&mut self, subject: usize, before: Option<ThreadTimes>) -> Option<u64> {
        let after = self.running.meter.subjects.threads(subject)?;
        Some(after.busiest_since(&before?).0)
    }

    /// Opens and warms up the ceiling's pool, if there is a ceiling.
    fn open_ceiling(&mut self) -> Result<Option<(usize, PoolId)>, Abort> {
        let Some(PlannedCeiling { index, plan }) = self.ceiling else {
            return Ok(None);
        };
        self.running.meter.subjects.end_idle(*index);
        let pool = self.running.open(plan)?.pool;
        self.running.slice(*index, pool, CEILING_WARM_UP_NS)?;
        Ok(Some((*index, pool)))
    }

    fn open(&mut self, subject: usize) -> Result<OpenedPool, Abort> {
        let before = self.running.meter.subjects.strain();
        let drops = listen_drops(self.plans[subject].address);
        self.dropped_before
            .extend(drops.ok().map(|drops| (subject, drops)));
        self.running.meter.subjects.end_idle(subject);
        let opened = self.running.open(&self.plans[subject])?;
        let strain = self.running.meter.subjects.strain().since(before);
        self.note_strain(subject, &strain);
        let side = self.side(subject);
        side.not_connected += opened.missing();
        let before = side.opening.take().unwrap_or_default();
        side.opening = Some(before.plus(&opened.opening));
        Ok(opened)
    }

    fn warm_up(&mut self, subject: usize, pool: PoolId) -> Result<(), Abort> {
        let record = self.running.slice(subject, pool, self.warm_up_ns)?.record;
        self.silence(subject, &record)?;
        self.side(subject).warm_up = Some(record);
        Ok(())
    }

    /// Stops loading a subject that does not respond.
    fn silence(&mut self, subject: usize, slice: &SliceRecord) -> Result<(), Abort> {
        if slice.stopped_responding {
            self.running.look_for_its_end(subject)?;
            self.silent.push(subject);
        }
        Ok(())
    }

    fn slice(&mut self, subject: usize, pool: PoolId) -> Result<SliceRecord, Abort> {
        let measured = self.running.slice(subject, pool, self.pilot.slice_ns)?;
        let record = self.note_slice(subject, measured);
        self.silence(subject, &record)?;
        Ok(record)
    }

    /// Samples a subject's code under the load, with `--why`.
    fn profile(&mut self, subject: usize, pool: PoolId) -> Result<(), Abort> {
        if self.running.profiler.is_none() || self.silent.contains(&subject) {
            return Ok(());
        }
        let ns = interval_ns(self.pilot.rounds, self.pilot.slice_ns);
        if let Some(ledger) = self.running.profile(subject, pool, ns)? {
            let name = self.running.names[subject].clone();
            self.result.ledgers.insert(name, ledger);
        }
        Ok(())
    }

    /// Adds the counts of a slice that are not in its record.
    fn note_slice(&mut self, subject: usize, measured: MeasuredSlice) -> SliceRecord {
        let MeasuredSlice {
            record,
            times,
            strain,
            resident_pages,
            course,
            ..
        } = measured;
        let name = self.running.names[subject].clone();
        let courses = course.map(|course| (name.clone(), course));
        self.result.courses.extend(courses);
        let histograms: &mut Histograms = self.result.histograms.entry(name).or_default();
        histograms.merge(&times);
        self.note_strain(subject, &strain);
        self.note_time_wait(subject);
        let side = self.side(subject);
        side.resident_pages = nearer(side.resident_pages, resident_pages);
        record
    }

    /// Adds the machine's counters while this subject was connected or loaded.
    fn note_strain(&mut self, subject: usize, strain: &Strain) {
        let side = self.side(subject);
        if let Some(more) = strain.network.listen_overflows {
            *side.listen_overflows.get_or_insert(0) += more;
        }
        let counted = HostCounters::of(strain.at.0 / 1_000, |name| strain.named(name));
        side.strain = Some(side.strain.map_or(counted, |sum| sum.plus(counted)));
    }

    fn note_time_wait(&mut self, subject: usize) {
        let addresses = self.plans[subject].sources.len();
        let in_use = self.running.meter.generator.time_wait(addresses);
        let side = self.side(subject);
        side.time_wait = nearer(side.time_wait, in_use);
    }

    /// Adds the resources that both sides hold at the end of a subject's load, while its
    /// connections are still open.
    fn note_holdings(&mut self, subject: usize) {
        let memory = self.running.meter.subjects.proportional_memory(subject);
        let descriptors = self.running.meter.subjects.descriptors(subject);
        let in_use = self.running.meter.generator.descriptors();
        let dropped = self.dropped_since_opened(subject);
        let side = self.side(subject);
        if let Some(more) = dropped {
            *side.own_listen_drops.get_or_insert(0) += more;
        }
        side.pss_bytes = memory.map(|memory| memory.all_bytes);
        side.pss_anon_bytes = memory.map(|memory| memory.anonymous_bytes);
        side.descriptors = nearer(side.descriptors, descriptors);
        side.generator_descriptors = nearer(side.generator_descriptors, in_use);
    }

    /// The connections that a subject's listeners have dropped since its connections were opened,
    /// if that can be read.
    fn dropped_since_opened(&mut self, subject: usize) -> Option<u64> {
        let before = self.dropped_before.remove(&subject)?;
        let drops = listen_drops(self.plans[subject].address).ok()?;
        Some(drops.since(&before))
    }

    fn note_round(&mut self, slices: Vec<SliceRecord>) {
        self.running.note_memory_in_passing();
        if !slices.is_empty() {
            self.result.rounds.push(Round {
                disturbed: disturbances(&slices, self.running.generator.threads()),
                slices,
            });
        }
    }

    /// Estimates the CPU time of the other subjects in each slice, from the average share of a
    /// processor that each used while it had no load.
    fn note_others(&mut self) {
        let shares = self.running.meter.subjects.idle_shares();
        let names = self.running.names.iter().map(String::as_str);
        let shares: Vec<(&str, Option<f64>)> = names.zip(shares).collect();
        let BlockLoad { rounds, sides, .. } = &mut self.result;
        let slices = rounds.iter_mut().flat_map(|round| &mut round.slices);
        let warm_ups = sides.values_mut().filter_map(|side| side.warm_up.as_mut());
        for slice in slices.chain(warm_ups) {
            slice.others_cpu_ns = others_cpu_ns(slice, &shares);
        }
    }

    fn order(&mut self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.plans.len()).collect();
        order.shuffle(self.random);
        order
    }

    fn side(&mut self, subject: usize) -> &mut SubjectReadings {
        let name = self.running.names[subject].clone();
        self.result.sides.entry(name).or_default()
    }
}

/// The reading that is nearer to its limit, if there is any.
fn nearer(before: Option<InUse>, now: Option<InUse>) -> Option<InUse> {
    before.into_iter().chain(now).reduce(InUse::nearer)
}

/// The CPU time of all subjects except the loaded one in a slice, from the share of one processor
/// that each uses without load; `None` if one of these shares is unknown.
fn others_cpu_ns(slice: &SliceRecord, shares: &[(&str, Option<f64>)]) -> Option<u64> {
    let others = shares.iter().filter(|(name, _)| *name != slice.subject);
    let share: Option<f64> = others.map(|(_, share)| *share).sum();
    Some((share? * slice.window_ns as f64) as u64)
}

/// Disturbances of a round from outside. They are only marked: a subject itself may cause such an
/// effect, and leaving it out would favour that subject.
fn disturbances(slices: &[SliceRecord], threads: usize) -> Vec<Disturbance> {
    let window_ns: u64 = slices.iter().map(|slice| slice.window_ns).sum();
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let steal_ns: u64 = slices.iter().filter_map(|slice| slice.steal_ns).sum();
    let tick_ns = 1_000_000_000 / ticks_per_second().max(1);
    let wait_ns: u64 = slices
        .iter()
        .filter_map(|slice| slice.generator_wait_ns)
        .sum();
    let mut disturbances = Vec::new();
    if steal_ns >= STEAL_TICKS_MIN * tick_ns && share(steal_ns, window_ns) >= STEAL_SHARE_MIN {
        disturbances.push(Disturbance::Steal);
    }
    if share(wait_ns, window_ns * threads as u64) >= WAIT_SHARE_MIN {
        disturbances.push(Disturbance::Wait);
    }
    if slices.iter().any(|slice| slice.paused_ns > 0) {
        disturbances.push(Disturbance::Paused);
    }
    disturbances
}

#[cfg(test)]
mod tests {
    use abx_evidence::SliceTally;

    use super::*;

    fn slice(window_ns: u64, steal_ns: u64, wait_ns: u64) -> SliceRecord {
        let mut slice = SliceRecord::of("a", &SliceTally::default());
        slice.window_ns = window_ns;
        slice.steal_ns = Some(steal_ns);
        slice.generator_wait_ns = Some(wait_ns);
        slice
    }

    #[test]
    fn the_loaded_subject_does_not_count_among_the_others() {
        // Method: a slice of `a` with two other subjects, with none, and with one whose share is
        // unknown; and with an unknown share of `a` itself.
        let slice = slice(1_000, 0, 0);
        let others = [("a", Some(0.9)), ("b", Some(0.01)), ("c", Some(0.04))];
        assert_eq!(others_cpu_ns(&slice, &others), Some(50));
        assert_eq!(others_cpu_ns(&slice, &others[..1]), Some(0));
        assert_eq!(others_cpu_ns(&slice, &[others[0], ("b", None)]), None);
        assert_eq!(others_cpu_ns(&slice, &[("a", None), others[1]]), Some(10));
    }

    #[test]
    fn a_round_in_which_abx_was_paused_is_marked() {
        // Method: a pause in the second of two slices, and a second slice that is merely long.
        let mut paused = slice(3_000_000_000, 0, 0);
        paused.paused_ns = 2_800_000_000;
        let slices = [slice(100_000_000, 0, 0), paused];
        assert_eq!(disturbances(&slices, 1), [Disturbance::Paused]);
        let slow = [slice(100_000_000, 0, 0), slice(3_000_000_000, 0, 0)];
        assert_eq!(disturbances(&slow, 1), []);
    }

    #[test]
    fn steal_and_waits_mark_a_round_from_their_thresholds_on() {
        // Method: one tick of steal is rounding; two ticks are not, unless the round is long. Waits
        // count by their share.
        let ms = 1_000_000;
        let marks = |steal, wait, window| disturbances(&[slice(window, steal, wait)], 1);
        assert_eq!(marks(0, 0, 100 * ms), []);
        assert_eq!(marks(10 * ms, 0, 100 * ms), []);
        assert_eq!(marks(20 * ms, 0, 100 * ms), [Disturbance::Steal]);
        assert_eq!(marks(20 * ms, 0, 10_000 * ms), []);
        assert_eq!(marks(0, 6 * ms, 100 * ms), [Disturbance::Wait]);
    }
}
