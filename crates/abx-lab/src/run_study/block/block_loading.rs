//! Offers one load of a block at a time to the block's subjects.

use std::time::Duration;

use abx_evidence::record::{BlockLoad, CEILING, LoadRecord, PilotRecord};
use abx_evidence::{Measured, Objective};
use abx_verdict::SubjectView;
use rand_chacha::ChaCha8Rng;

use crate::measure::block::{RoundEvent, SubjectRun};
use crate::measure::exploration::in_flight;
use crate::measure::pilot::{TURNS, needed_ns};
use crate::measure::planned_load::SubjectPlans;
use crate::measure::running_subjects::{Abort, RunningSubjects};
use abx_study::Load;

/// One load as a block measures it.
pub struct BlockPart<'a> {
    pub name: &'a str,
    pub pilot: &'a PilotRecord,
    /// Subjects that the pilot omitted, that have failed, or that have enough blocks under this
    /// load, by their places among those of the block.
    pub left_out: Vec<usize>,
    /// The rate in a grid; `None` for a load outside any grid.
    pub grid: Option<GridPart<'a>>,
    /// Whether the load has enough blocks, so that this one leaves it out.
    pub is_settled: bool,
}

impl<'a> BlockPart<'a> {
    /// The part of a load; `None` before its pilot. `names` are the subjects of the block.
    pub fn of(
        load: &'a LoadRecord,
        grid: Option<GridPart<'a>>,
        record: &Measured,
        names: &[String],
    ) -> Option<BlockPart<'a>> {
        // A subject that fails at one rate of a grid is still measured there: a grid has rates that
        // are too high for some subjects.
        let is_alone = load.settings.objective.is_none();
        let subjects = (0..).zip(names).filter(|(_, name)| *name != CEILING);
        let has_failed = |name: &str| SubjectView::of(record, load, name).has_failed();
        let left_out =
            subjects.filter(|(_, name)| load.is_omitted(name) || (is_alone && has_failed(name)));
        Some(BlockPart {
            name: &load.name,
            pilot: load.pilot.as_ref()?,
            left_out: left_out.map(|(place, _)| place).collect(),
            grid,
            is_settled: load.is_settled(),
        })
    }

    /// Whether blocks begin with it.
    pub fn is_offered(&self) -> bool {
        !self.is_settled && self.grid.is_none_or(|grid| grid.is_offered)
    }
}

/// One rate of a grid.
#[derive(Debug, Clone, Copy)]
pub struct GridPart<'a> {
    /// The common name of the loads of the grid.
    pub name: &'a str,
    pub objective: &'a Objective,
    pub load: &'a Load,
    /// Whether blocks begin with it.
    pub is_offered: bool,
}

/// The subjects of a block while they are loaded.
pub struct BlockRun<'a, 'b> {
    pub running: &'a mut RunningSubjects<'b>,
    /// The randomness of the order of slices.
    pub random: &'a mut ChaCha8Rng,
    /// Receives events, with the name of the load and the number of its rounds.
    pub on_event: &'a mut dyn FnMut(RoundEvent, &str, u32),
    /// The result of each load so far.
    pub measured: Vec<BlockLoad>,
}

impl BlockRun<'_, '_> {
    /// Offers the load of this name to its subjects, after a warm-up of at least `warm_up_min_ns`.
    /// The measurements before an abort are kept, too.
    pub fn offer(
        &mut self,
        name: &str,
        part: &BlockPart,
        planned: &SubjectPlans,
        warm_up_min_ns: u64,
    ) -> Result<(), Abort> {
        let pilot = part.pilot;
        let run = SubjectRun::new(name, self.running, planned, pilot, self.random);
        let mut run = run.without(part.left_out.clone()).cold(warm_up_min_ns);
        let ended = run.measure(|event| (self.on_event)(event, name, pilot.rounds));
        self.measured.push(run.result);
        ended?;
        if part.grid.is_some() {
            // A rate that was too high leaves requests in flight, which delay the next load.
            self.running.rest(drain(planned, pilot))?;
        }
        Ok(())
    }
}

/// How long the slowest subject takes to respond to the requests in flight when a load ends.
fn drain(planned: &SubjectPlans, pilot: &PilotRecord) -> Duration {
    let in_flight = planned.plans.first().map_or(0, in_flight);
    let turn_ns = needed_ns(&pilot.subjects, in_flight) as f64 / TURNS;
    Duration::from_nanos(turn_ns as u64).min(DRAIN_MAX)
}

/// The longest rest between two loads.
const DRAIN_MAX: Duration = Duration::from_secs(2);
