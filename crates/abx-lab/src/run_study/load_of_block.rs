//! The loads of a block: each is offered to all of its subjects, in random order.

use abx_evidence::record::{BlockLoad, BlockRecord, CEILING, LoadRecord, PilotRecord};
use abx_evidence::{Measured, SubjectView};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::measure::block::{LoadRun, RoundEvent};
use crate::measure::host::processors::canaries;
use crate::measure::planned_load::PlannedLoad;
use crate::measure::running_subjects::Abort;
use crate::run_study::start_block::StartedBlock;

/// One load as a block measures it.
pub struct LoadOfBlock<'a> {
    /// Its name.
    pub name: &'a str,
    /// What the pilot set.
    pub pilot: &'a PilotRecord,
    /// Subjects that have failed under it, by their places among those of the block.
    pub failed: Vec<usize>,
}

impl<'a> LoadOfBlock<'a> {
    /// `names` are those of the subjects that take part in the block.
    pub fn of(
        load: &'a LoadRecord,
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
        })
    }
}

/// Loads a block's subjects with every load, in random order, and stops them.
pub fn measure(
    started: StartedBlock,
    planned: &[LoadOfBlock],
    cold_ns: u64,
    random: &mut ChaCha8Rng,
    on_moment: &mut dyn FnMut(RoundEvent, u32),
) -> (BlockRecord, Result<(), Abort>) {
    let StartedBlock {
        mut running,
        order,
        loads,
        failed: not_started,
    } = started;
    let mut sequence: Vec<usize> = (0..planned.len()).collect();
    sequence.shuffle(random);
    sequence.sort_by_key(|load| in_turn(&loads[*load]));
    let mut measured: Vec<BlockLoad> = Vec::with_capacity(sequence.len());
    let mut ended = Ok(());
    let speeds = running.meter.processors.speeds();
    let programs = running.meter.other_programs();
    // In the pilot one load met fresh subjects; here it may be any other.
    let longest_ns = planned.iter().map(|load| load.pilot.warm_up_ns).max();
    let fresh_ns = cold_ns.max(longest_ns.unwrap_or_default());
    let mut is_fresh = true;
    for load in sequence {
        let LoadOfBlock {
            name,
            pilot,
            failed,
        } = &planned[load];
        let at_least_ns = if is_fresh { fresh_ns } else { 0 };
        // Held connections ask for nothing.
        is_fresh &= in_turn(&loads[load]) != u32::MAX;
        let run = LoadRun::new(name, &mut running, &loads[load], pilot, random);
        let mut run = run.without(failed.clone()).cold(at_least_ns);
        ended = run.measure(|moment| on_moment(moment, pilot.rounds));
        measured.push(run.result);
        if ended.is_err() {
            break;
        }
    }
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
    (block, ended)
}

/// Loads that hold connections come first, those with fewest before the others:
/// what a server keeps of earlier connections would be missing from their memory.
fn in_turn(load: &PlannedLoad) -> u32 {
    let plan = load.plans.first();
    let held = plan.filter(|plan| plan.shape.hold_ns().is_some());
    held.map_or(u32::MAX, |plan| plan.connections)
}
