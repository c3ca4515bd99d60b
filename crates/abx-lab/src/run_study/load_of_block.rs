//! The loads of a block: each is offered to all of its subjects, in random order.

use std::time::Duration;

use abx_evidence::record::{BlockLoad, BlockRecord, CEILING, LoadRecord, PilotRecord};
use abx_evidence::{Measured, SubjectView};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::measure::block::{LoadRun, RoundEvent};
use crate::measure::exploration::in_flight;
use crate::measure::host::processors::canaries;
use crate::measure::pilot::{TURNS, needed_ns};
use crate::measure::planned_load::PlannedLoad;
use crate::measure::running_subjects::{Abort, RunningSubjects};
use crate::run_study::more_rates::{GridLoad, more_rates};
use crate::run_study::start_block::StartedBlock;
use crate::study::Load;

/// One load as a block measures it.
pub struct LoadOfBlock<'a> {
    /// Its name.
    pub name: &'a str,
    /// What the pilot set.
    pub pilot: &'a PilotRecord,
    /// Subjects that have failed under it, by their places among those of the block.
    pub failed: Vec<usize>,
    /// Its place in a grid of rates; `None` for a load of its own.
    pub grid: Option<GridLoad<'a>>,
}

/// What a block gave.
pub struct MeasuredBlock {
    /// For the record.
    pub block: BlockRecord,
    /// The loads that it went on with after those it began with.
    pub further: Vec<Load>,
    /// Whether it came to its end.
    pub ended: Result<(), Abort>,
}

impl<'a> LoadOfBlock<'a> {
    /// `names` are those of the subjects that take part in the block.
    pub fn of(
        load: &'a LoadRecord,
        grid: Option<GridLoad<'a>>,
        record: &Measured,
        names: &[String],
    ) -> Option<LoadOfBlock<'a>> {
        // Rates of a grid are there to be too high for some.
        let is_alone = load.settings.objective.is_none();
        let subjects = (0..).zip(names).filter(|(_, name)| *name != CEILING);
        let failed = subjects
            .filter(|(_, name)| is_alone && SubjectView::of(record, load, name).has_failed());
        Some(LoadOfBlock {
            name: &load.name,
            pilot: load.pilot.as_ref()?,
            failed: failed.map(|(place, _)| place).collect(),
            grid,
        })
    }

    fn is_offered(&self) -> bool {
        self.grid.is_none_or(|grid| grid.is_offered)
    }
}

/// Loads a block's subjects with every load, in random order, and stops them. Then come
/// further rates of a grid, until each subject has met and missed its objective.
pub fn measure(
    started: StartedBlock,
    planned: &[LoadOfBlock],
    cold_ns: u64,
    random: &mut ChaCha8Rng,
    on_moment: &mut dyn FnMut(RoundEvent, u32),
) -> MeasuredBlock {
    let StartedBlock {
        mut running,
        order,
        loads,
        failed: not_started,
    } = started;
    let mut sequence: Vec<usize> = (0..planned.len()).collect();
    sequence.retain(|load| planned[*load].is_offered());
    sequence.shuffle(random);
    sequence.sort_by_key(|load| in_turn(&loads[*load]));
    let speeds = running.meter.processors.speeds();
    let programs = running.meter.other_programs();
    // In the pilot one load met fresh subjects; here it may be any other.
    let longest_ns = planned.iter().map(|load| load.pilot.warm_up_ns).max();
    let fresh_ns = cold_ns.max(longest_ns.unwrap_or_default());
    let mut is_fresh = true;
    let mut loading = BlockLoading {
        running: &mut running,
        random,
        on_moment,
        measured: Vec::with_capacity(sequence.len()),
    };
    let mut each = sequence.into_iter();
    let offered = each.try_for_each(|load| {
        let at_least_ns = if is_fresh { fresh_ns } else { 0 };
        // Held connections ask for nothing.
        is_fresh &= in_turn(&loads[load]) != u32::MAX;
        loading.offer(
            planned[load].name,
            &planned[load],
            &loads[load],
            at_least_ns,
        )
    });
    let mut further = Vec::new();
    let ended = offered.and_then(|()| more_rates(&mut loading, planned, &loads, &mut further));
    let measured = loading.measured;
    let other_programs = running.meter.other_programs().since(&programs);
    let canaries = canaries(&speeds, &running.meter.processors.speeds());
    let died = match &ended {
        Err(Abort::Subject { name, .. }) => Some(name.clone()),
        _ => None,
    };
    let block = BlockRecord {
        index: 0,
        seed: 0,
        complete: ended.is_ok(),
        order,
        services: running.services_record(&ended),
        missing_agents: running.missing_agents(),
        subjects: running
            .stop_all(died.as_deref())
            .into_iter()
            .filter(|(name, _)| name != CEILING)
            .chain(not_started)
            .collect(),
        loads: measured,
        faults: Vec::new(),
        canaries,
        other_programs,
    };
    MeasuredBlock {
        block,
        further,
        ended,
    }
}

/// The subjects of a block while they are loaded.
pub struct BlockLoading<'a, 'b> {
    /// The subjects.
    pub running: &'a mut RunningSubjects<'b>,
    random: &'a mut ChaCha8Rng,
    on_moment: &'a mut dyn FnMut(RoundEvent, u32),
    /// What each load gave so far.
    pub measured: Vec<BlockLoad>,
}

impl BlockLoading<'_, '_> {
    /// Offers a load to its subjects, as planned for one of this name, after a warm-up of at
    /// least so long. What was measured before it was aborted is kept too.
    ///
    /// # Errors
    /// [`Abort`].
    pub fn offer(
        &mut self,
        name: &str,
        of_block: &LoadOfBlock,
        planned: &PlannedLoad,
        at_least_ns: u64,
    ) -> Result<(), Abort> {
        let pilot = of_block.pilot;
        let run = LoadRun::new(name, self.running, planned, pilot, self.random);
        let mut run = run.without(of_block.failed.clone()).cold(at_least_ns);
        let ended = run.measure(|moment| (self.on_moment)(moment, pilot.rounds));
        self.measured.push(run.result);
        ended?;
        if of_block.grid.is_some() {
            // A rate that was too high leaves requests in flight, which delay the next load.
            self.running.rest(drain(planned, pilot))?;
        }
        Ok(())
    }
}

/// How long the slowest subject takes for what it has in flight when a load ends.
fn drain(planned: &PlannedLoad, pilot: &PilotRecord) -> Duration {
    let in_flight = planned.plans.first().map_or(0, in_flight);
    let turn_ns = needed_ns(&pilot.subjects, in_flight) as f64 / TURNS;
    Duration::from_nanos(turn_ns as u64).min(DRAIN_MAX)
}

/// No rest between two loads is longer.
const DRAIN_MAX: Duration = Duration::from_secs(2);

/// Loads that hold connections come first, those with fewest before the others:
/// what a server keeps of earlier connections would be missing from their memory.
fn in_turn(load: &PlannedLoad) -> u32 {
    let plan = load.plans.first();
    let held = plan.filter(|plan| plan.shape.hold_ns().is_some());
    held.map_or(u32::MAX, |plan| plan.connections)
}
