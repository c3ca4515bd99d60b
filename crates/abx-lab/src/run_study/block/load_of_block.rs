//! Measures the loads of a block: each is offered to all of its subjects, in random order.

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
    /// The loads that the block added to those it began with.
    pub further: Vec<Load>,
    /// Why the block ended early, if it did.
    pub ended: Result<(), Abort>,
}

/// Loads a block's subjects with every load, in random order, then with further rates of each grid
/// until each subject has met and missed its objective, and stops them.
pub fn measure(
    started: StartedBlock,
    parts: &[BlockPart],
    cold_ns: u64,
    random: &mut ChaCha8Rng,
    on_event: &mut dyn FnMut(RoundEvent, &str, u32),
) -> MeasuredBlock {
    let StartedBlock {
        mut running,
        order,
        loads,
        failed: not_started,
    } = started;
    let mut sequence: Vec<usize> = (0..parts.len()).collect();
    sequence.retain(|place| parts[*place].is_offered());
    sequence.shuffle(random);
    sequence.sort_by_key(|place| turn(&loads[*place]));
    let speeds = running.meter.processors.speeds();
    let programs = running.meter.other_programs();
    // In the pilot, one load met fresh subjects. In a block, it may be any other.
    let longest_ns = parts.iter().map(|part| part.pilot.warm_up_ns).max();
    let fresh_ns = cold_ns.max(longest_ns.unwrap_or_default());
    let mut is_fresh = true;
    let mut run = BlockRun {
        running: &mut running,
        random,
        on_event,
        measured: Vec::with_capacity(sequence.len()),
    };
    let offered = sequence.into_iter().try_for_each(|place| {
        let (part, load) = (&parts[place], &loads[place]);
        let warm_up_min_ns = if is_fresh { fresh_ns } else { 0 };
        // Subjects stay fresh under held connections, which send no request.
        is_fresh &= turn(load) != u32::MAX;
        run.offer(part.name, part, load, warm_up_min_ns)
    });
    let mut further = Vec::new();
    let ended = offered.and_then(|()| more_rates(&mut run, parts, &loads, &mut further));
    let measured = run.measured;
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

/// The sort key of a load in its block. Loads that hold connections come first, those with the
/// fewest before the others. Otherwise, memory that a server has kept from earlier connections
/// would be missing from their figures.
fn turn(load: &SubjectPlans) -> u32 {
    let plan = load.plans.first();
    let held = plan.filter(|plan| plan.shape.hold_ns().is_some());
    held.map_or(u32::MAX, |plan| plan.connections)
}
