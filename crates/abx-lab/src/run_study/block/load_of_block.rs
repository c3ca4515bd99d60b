//! The loads of a block: each is offered to all of its subjects, in random order.

use abx_evidence::record::{BlockRecord, CEILING};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::measure::block::RoundEvent;
use crate::measure::host::processors::canaries;
use crate::measure::planned_load::SubjectPlans;
use crate::measure::running_subjects::Abort;
use crate::run_study::block::block_loading::{BlockPart, BlockRun};
use crate::run_study::block::more_rates::more_rates;
use crate::run_study::block::start_block::StartedBlock;
use abx_study::Load;

/// The result of a block.
pub struct MeasuredBlock {
    pub block: BlockRecord,
    /// The loads that it added to those it began with.
    pub further: Vec<Load>,
    /// Whether it came to its end.
    pub ended: Result<(), Abort>,
}

/// Loads a block's subjects with every load, in random order, and stops them. Then come
/// further rates of a grid, until each subject has met and missed its objective.
pub fn measure(
    started: StartedBlock,
    planned: &[BlockPart],
    cold_ns: u64,
    random: &mut ChaCha8Rng,
    on_moment: &mut dyn FnMut(RoundEvent, &str, u32),
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
    let mut loading = BlockRun {
        running: &mut running,
        random,
        on_moment,
        measured: Vec::with_capacity(sequence.len()),
    };
    let mut each = sequence.into_iter();
    let offered = each.try_for_each(|load| {
        let at_least_ns = if is_fresh { fresh_ns } else { 0 };
        // Held connections send no request.
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

/// Loads that hold connections come first, those with fewest before the others: the memory that a
/// server keeps of earlier connections would be missing from theirs.
fn in_turn(load: &SubjectPlans) -> u32 {
    let plan = load.plans.first();
    let held = plan.filter(|plan| plan.shape.hold_ns().is_some());
    held.map_or(u32::MAX, |plan| plan.connections)
}
