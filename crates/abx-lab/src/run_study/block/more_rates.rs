//! Rates of a grid beyond those with which a block began. If a subject met its objective at every
//! rate, or missed it at every rate, the block continues until it has done both. Later blocks begin
//! with rates around the capacities so far.

use std::collections::{BTreeMap, BTreeSet};

use abx_evidence::Measured;
use abx_evidence::record::{BlockLoad, LoadRecord, LoadSettings};
use abx_stats::curve::capacity::RateBracket;
use abx_verdict::{median_capacities, rate_bracket};

use crate::measure::planned_load::SubjectPlans;
use crate::measure::rate_search::{APART, grid, of_grid};
use crate::measure::rate_steps::RateSteps;
use crate::measure::running_subjects::Abort;
use crate::process::pending::Pending;
use crate::run_study::block::block_loading::{BlockPart, BlockRun, GridPart};
use abx_study::Load;

/// A rate at which fewer requests are due in a block is not worth a try.
const REQUESTS_MIN: f64 = 10.0;

/// Continues each grid of a block until each subject has met and missed its objective, or until the
/// budget is used up. `further` receives the loads that were added.
///
/// # Errors
/// [`Abort`], except [`Abort::Budget`]: a block is complete without further rates.
pub fn more_rates(
    run: &mut BlockRun,
    parts: &[BlockPart],
    planned: &[SubjectPlans],
    further: &mut Vec<Load>,
) -> Result<(), Abort> {
    let mut grids: BTreeMap<&str, Vec<Candidate>> = BTreeMap::new();
    for (part, planned) in parts.iter().zip(planned) {
        if let Some(grid) = part.grid
            && !part.is_settled
        {
            grids.entry(grid.name).or_default().push(Candidate {
                part,
                grid,
                planned,
            });
        }
    }
    for candidates in grids.values() {
        let mut rates = GridOfBlock::begin(run, candidates);
        further.extend(rates.offer_rates(run)?);
    }
    Ok(())
}

/// A load of a grid.
struct Candidate<'a> {
    part: &'a BlockPart<'a>,
    grid: GridPart<'a>,
    planned: &'a SubjectPlans,
}

/// The rates that a block has offered of one grid.
struct GridOfBlock<'a> {
    candidates: &'a [Candidate<'a>],
    /// Rates in requests per second, each with the place of its measurement in the block.
    offered: Vec<(f64, usize)>,
    steps: RateSteps,
}

impl<'a> GridOfBlock<'a> {
    fn begin(run: &BlockRun, candidates: &'a [Candidate<'a>]) -> GridOfBlock<'a> {
        let measured = run.measured.iter().enumerate();
        let offered = measured.filter_map(|(place, measured)| {
            let mut candidates = candidates.iter();
            let candidate = candidates.find(|candidate| candidate.part.name == measured.load)?;
            Some((rate(candidate.grid.load)?, place))
        });
        GridOfBlock {
            candidates,
            offered: offered.collect(),
            steps: RateSteps::default(),
        }
    }

    /// Offers rates until none is needed, and returns their loads.
    fn offer_rates(&mut self, run: &mut BlockRun) -> Result<Vec<Load>, Abort> {
        let mut further = Vec::new();
        let mut number = 0;
        while let Some((subject, target)) = self.next(run) {
            number += 1;
            let pilot = self.candidates[0].part.pilot;
            let seconds = pilot.slice_ns as f64 * f64::from(pilot.rounds) / 1e9;
            let fits = run.running.check_deadline(self.rate_ns()).is_ok();
            if !fits || target * seconds < REQUESTS_MIN {
                break;
            }
            (run.running.on_pending)(Pending::Try {
                subject: &run.running.names[subject],
                per_s: target.round() as u64,
                number,
            });
            let ended = self.offer(run, target, &mut further);
            (run.running.on_pending)(Pending::Over);
            match ended {
                Ok(true) => {}
                Ok(false) => break,
                Err(Abort::Budget) => {
                    // A rate that was cut short shows nothing.
                    let cut = run.measured.pop();
                    further
                        .retain(|load: &Load| cut.as_ref().is_none_or(|cut| cut.load != load.name));
                    break;
                }
                Err(abort) => return Err(abort),
            }
        }
        Ok(further)
    }

    /// The next rate, with the place of the subject that needs it.
    fn next(&mut self, run: &BlockRun) -> Option<(usize, f64)> {
        let first = self.candidates.first()?;
        let measured = |(rate, place): &(f64, usize)| (*rate, &run.measured[*place]);
        let loads: Vec<(f64, &BlockLoad)> = self.offered.iter().map(measured).collect();
        let subjects = &run.running.names[..first.planned.plans.len()];
        let brackets: Vec<RateBracket> = subjects
            .iter()
            .map(|subject| rate_bracket(first.grid.objective, &loads, subject))
            .collect();
        let rates: Vec<f64> = self.offered.iter().map(|(rate, _)| *rate).collect();
        self.steps.next(&rates, &brackets)
    }

    /// About how long one rate takes for all subjects.
    fn rate_ns(&self) -> u64 {
        let Candidate { part, planned, .. } = &self.candidates[0];
        let pilot = part.pilot;
        let subject_ns = pilot.warm_up_ns + pilot.slice_ns * u64::from(pilot.rounds);
        subject_ns * planned.plans.len() as u64
    }

    /// Offers a rate, or a near one that the study has already. `further` receives its load. False
    /// if the rate cannot be offered, or was offered already.
    fn offer(
        &mut self,
        run: &mut BlockRun,
        target: f64,
        further: &mut Vec<Load>,
    ) -> Result<bool, Abort> {
        let first = &self.candidates[0];
        let is_new = |rate: f64| self.offered.iter().all(|(offered, _)| *offered != rate);
        let near = self.candidates.iter().find(|candidate| {
            let rate = rate(candidate.grid.load).filter(|rate| is_new(*rate));
            rate.is_some_and(|rate| is_near(rate, target))
        });
        if let Some(Candidate {
            part,
            grid,
            planned,
        }) = near
        {
            self.note(run, grid.load);
            further.push(grid.load.clone());
            run.offer(part.name, part, planned, 0)?;
            return Ok(true);
        }
        let Some(load) = of_grid(first.grid.name, first.grid.load, target) else {
            return Ok(false);
        };
        if !rate(&load).is_some_and(is_new) {
            return Ok(false);
        }
        let planned = at_arrivals(first.planned, &load);
        self.note(run, &load);
        further.push(load.clone());
        run.offer(&load.name, first.part, &planned, 0)?;
        Ok(true)
    }

    fn note(&mut self, run: &BlockRun, load: &Load) {
        let rate = rate(load).unwrap_or_default();
        self.offered.push((rate, run.measured.len()));
    }
}

/// The plans of a load with the arrivals of another.
fn at_arrivals(planned: &SubjectPlans, load: &Load) -> SubjectPlans {
    let mut plans = planned.plans.clone();
    for plan in &mut plans {
        plan.pacing.arrivals = load.pacing.arrivals.clone();
    }
    SubjectPlans {
        verified: plans.iter().map(|_| Vec::new()).collect(),
        plans,
        bodies_compared: planned.bodies_compared,
        cache: planned.cache,
        ceiling: planned.ceiling.clone(),
    }
}

/// The rate of a load in requests per second; `None` without one.
fn rate(load: &Load) -> Option<f64> {
    load.settings(false).arrivals.rate_per_s
}

fn rate_of(record: &LoadRecord) -> Option<f64> {
    record.settings.arrivals.rate_per_s
}

fn is_near(value: f64, other: f64) -> bool {
    (value.max(other) / value.min(other)) < APART
}

/// The rates of each grid with which blocks begin.
#[derive(Debug, Default)]
pub struct RateGrids {
    /// Loads at rates that no subject is expected to need.
    resting: BTreeSet<String>,
}

impl RateGrids {
    /// The grids of a study that continues. If a block added rates to a grid, later blocks begin
    /// with rates around the capacities so far.
    pub fn of_blocks(record: &mut Measured, loads: &mut Vec<Load>) -> RateGrids {
        let mut grids = RateGrids::default();
        let blocks = record.complete_blocks().count();
        let is_partial = |load: &&LoadRecord| {
            load.settings.objective.is_some() && record.block_loads(&load.name).count() < blocks
        };
        let partial = record.loads.iter().filter(is_partial);
        let names: BTreeSet<String> = partial.map(|load| load.name_of_grid().to_owned()).collect();
        for name in names {
            let rates = grid(&median_capacities(record, &name));
            grids.lay(record, loads, &name, &rates);
        }
        grids
    }

    /// The part of a grid that a load is; `None` for a load outside any grid.
    #[must_use]
    pub fn grid<'a>(&self, record: &'a LoadRecord, load: &'a Load) -> Option<GridPart<'a>> {
        Some(GridPart {
            name: record.name_of_grid(),
            objective: record.settings.objective.as_ref()?,
            load,
            is_offered: !self.resting.contains(&record.name),
        })
    }

    /// Notes the loads that the last block of a record added. The next block begins their grids
    /// with rates around the typical capacities so far.
    pub fn follow(&mut self, record: &mut Measured, loads: &mut Vec<Load>, further: Vec<Load>) {
        let mut grids = BTreeSet::new();
        for load in further {
            // Blocks begin with this load only if `lay` puts it into the grid.
            self.resting.insert(load.name.clone());
            grids.extend(add(record, loads, load));
        }
        for name in grids {
            let rates = grid(&median_capacities(record, &name));
            self.lay(record, loads, &name, &rates);
        }
    }

    /// Makes blocks begin with these rates of a grid, or with known rates that are near them.
    fn lay(&mut self, record: &mut Measured, loads: &mut Vec<Load>, name: &str, rates: &[f64]) {
        let mut offered = BTreeSet::new();
        for target in rates {
            let places = places_of_grid(record, name);
            let is_close = |load: &Load| rate(load).is_some_and(|rate| is_near(rate, *target));
            if let Some(place) = places.iter().find(|place| is_close(&loads[**place])) {
                offered.insert(loads[*place].name.clone());
                continue;
            }
            let like = places.first().map(|place| &loads[*place]);
            if let Some(load) = like.and_then(|like| of_grid(name, like, *target)) {
                offered.insert(load.name.clone());
                add(record, loads, load);
            }
        }
        if offered.is_empty() {
            return;
        }
        for place in places_of_grid(record, name) {
            let name = &loads[place].name;
            if offered.contains(name) {
                self.resting.remove(name)
            } else {
                self.resting.insert(name.clone())
            };
        }
    }
}

/// The places of the loads of a grid in a record.
fn places_of_grid(record: &Measured, name: &str) -> Vec<usize> {
    let is_part =
        |load: &LoadRecord| load.settings.objective.is_some() && load.name_of_grid() == name;
    let loads = (0..).zip(&record.loads);
    let parts = loads.filter(|(_, load)| is_part(load));
    parts.map(|(place, _)| place).collect()
}

/// The settings that the loads of a list of rates have in common; `None` for a load outside any
/// list.
#[must_use]
pub fn list_of(settings: &LoadSettings) -> Option<LoadSettings> {
    if settings.objective.is_none() && settings.share_of_slowest.is_none() {
        return None;
    }
    let mut common = settings.clone();
    common.share_of_slowest = None;
    common.arrivals.rate_per_s = None;
    Some(common)
}

/// Adds a load of a grid to a study, unless it is there already, with the settings of the other
/// loads; returns the name of its grid.
fn add(record: &mut Measured, loads: &mut Vec<Load>, load: Load) -> Option<String> {
    let (name, _) = load.name.rsplit_once("-r")?;
    let name = name.to_owned();
    let places = places_of_grid(record, &name);
    let first = *places.first()?;
    if record.loads.iter().all(|record| record.name != load.name) {
        // A curve is read in the order of its rates.
        let is_below = |place: &&usize| rate_of(&record.loads[**place]) < rate(&load);
        let below = places.iter().rfind(is_below);
        let place = below.map_or(first, |place| place + 1);
        let like = record.loads[first].clone();
        let added = LoadRecord {
            name: load.name.clone(),
            settings: LoadSettings {
                arrivals: load.settings(false).arrivals,
                ..like.settings
            },
            ..like
        };
        record.loads.insert(place, added);
        loads.insert(place, load);
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use abx_evidence::record::{Interleave, PilotRecord};
    use abx_model::LoadOptions;
    use abx_sys::Nanos;
    use abx_verdict::{Capacity, judge};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::measure::running_subjects::Cache;
    use crate::measure::simulation::blocks::pilot;
    use crate::measure::simulation::scripted::{
        Behaviour, CONNECTIONS, ScriptedGenerator, nothing_measured,
    };
    use crate::run_study::block::load_of_block::{MeasuredBlock, measure};
    use crate::run_study::block::start_block::StartedBlock;
    use abx_study::rates::RateSpec;

    const OBJECTIVE: &str = "p99<50ms";

    /// A study in virtual time whose pilot has laid a grid around some rate.
    struct Study {
        record: Measured,
        loads: Vec<Load>,
        grids: RateGrids,
    }

    impl Study {
        fn around(rate: f64) -> Study {
            let like = Load {
                options: LoadOptions {
                    connections: CONNECTIONS,
                    ..LoadOptions::default()
                },
                rate: RateSpec::Found {
                    share: None,
                    objective: Some(OBJECTIVE.parse().unwrap()),
                },
                ..Load::default()
            };
            let rates = grid(&[rate]).into_iter();
            let loads: Vec<Load> = rates.map(|at| of_grid("c50", &like, at).unwrap()).collect();
            let mut record = nothing_measured(&loads);
            for load in &mut record.loads {
                load.pilot = Some(PilotRecord {
                    rounds: 2,
                    ..pilot(Interleave::Slices)
                });
            }
            Study {
                record,
                loads,
                grids: RateGrids::default(),
            }
        }

        /// Measures a block of these subjects, and returns the rates that it offered in order.
        fn block(&mut self, behaviours: [Behaviour; 2], deadline: Option<Nanos>) -> Vec<f64> {
            let index = self.record.blocks.len() as u32;
            let mut random = ChaCha8Rng::seed_from_u64(u64::from(index));
            let mut generator = ScriptedGenerator::new(&behaviours);
            let like = SubjectPlans {
                plans: generator.plans(),
                verified: vec![Vec::new(), Vec::new()],
                bodies_compared: true,
                cache: Cache::Left,
                ceiling: None,
            };
            let planned = self.loads.iter().map(|load| at_arrivals(&like, load));
            let mut running = generator.running();
            running.deadline = deadline;
            let names = running.names.clone();
            let started = StartedBlock {
                running,
                order: Vec::new(),
                loads: planned.collect(),
                failed: Vec::new(),
            };
            let loads = self.record.loads.iter().zip(&self.loads);
            let parts: Vec<BlockPart> = loads
                .filter_map(|(load, offered)| {
                    let grid = self.grids.grid(load, offered);
                    BlockPart::of(load, grid, &self.record, &names)
                })
                .collect();
            let MeasuredBlock {
                mut block,
                further,
                ended,
            } = measure(started, &parts, 0, &mut random, &mut |_, _, _| {});
            ended.unwrap();
            assert_eq!(generator.open_pools(), 0);
            block.index = index;
            let rates = block.loads.iter().map(|load| {
                let (_, rate) = load.load.rsplit_once("-r").unwrap();
                rate.parse().unwrap()
            });
            let rates = rates.collect();
            self.record.blocks.push(block);
            self.grids
                .follow(&mut self.record, &mut self.loads, further);
            rates
        }

        fn capacities(&self) -> Vec<Capacity> {
            judge(&self.record).capacities
        }
    }

    fn steady(capacities: [f64; 2]) -> [Behaviour; 2] {
        capacities.map(Behaviour::steady)
    }

    #[test]
    fn a_misplaced_grid_moves_until_a_rate_holds_and_another_fails() {
        // Method: pilots that found 1/5 to 20 times the capacity of two subjects, which are about
        // equal or a factor of five apart; two blocks in virtual time.
        for (pilot, truth) in [
            (1_000.0, [200.0, 204.0]),
            (4_000.0, [200.0, 1_000.0]),
            (60.0, [300.0, 400.0]),
        ] {
            let mut study = Study::around(pilot);
            let offered: Vec<Vec<f64>> = (0..2).map(|_| study.block(steady(truth), None)).collect();
            for (capacity, truth) in study.capacities().iter().zip(truth) {
                let case = format!("{pilot} {capacity:?}");
                assert!(
                    (capacity.rate_per_s.unwrap() / truth - 1.0).abs() < 0.12,
                    "{case}"
                );
                assert!(capacity.held_per_s.unwrap() <= truth, "{case}");
                assert!(truth <= capacity.missed_per_s.unwrap(), "{case}");
            }
            // The first block added rates, and the next one began where it ended.
            assert!(offered[0].len() > 7, "{pilot} {offered:?}");
            assert!(offered[1].len() <= 14, "{pilot} {offered:?}");
            assert!(
                study.record.loads.is_sorted_by_key(rate_of),
                "{:?}",
                study.grids
            );
            let names = study.loads.iter().map(|load| &load.name);
            assert!(names.eq(study.record.loads.iter().map(|load| &load.name)));
        }
    }

    #[test]
    fn blocks_of_a_busy_machine_have_capacities_of_their_own() {
        // Method: in every other block both subjects serve half. The capacity of each block counts,
        // and lies between its rates.
        let mut study = Study::around(400.0);
        for block in 0..4 {
            let full = if block % 2 == 0 { 400.0 } else { 200.0 };
            study.block(steady([full, full * 1.5]), None);
        }
        let typical = 400.0 * 0.5_f64.sqrt();
        for (capacity, factor) in study.capacities().iter().zip([1.0, 1.5]) {
            let rate = capacity.rate_per_s.expect("bracketed in every block");
            assert!((rate / typical / factor - 1.0).abs() < 0.1, "{capacity:?}");
            assert!(
                capacity.held_per_s.unwrap() <= 200.0 * factor,
                "{capacity:?}"
            );
            assert!(
                capacity.missed_per_s.unwrap() >= 400.0 * factor,
                "{capacity:?}"
            );
        }
    }

    #[test]
    fn a_grid_that_fits_stays_as_it_is() {
        // Method: a grid around the capacity of both subjects.
        let mut study = Study::around(400.0);
        let first = study.block(steady([400.0, 412.0]), None);
        let second = study.block(steady([400.0, 412.0]), None);
        assert_eq!((first.len(), second.len()), (7, 7));
        assert_eq!(study.loads.len(), 7);
    }

    #[test]
    fn an_objective_that_is_never_met_ends_with_the_lowest_rate() {
        // Method: subjects that serve one request in ten seconds.
        let mut study = Study::around(1_000.0);
        for _ in 0..2 {
            study.block(steady([0.1, 0.1]), None);
        }
        let capacity = &study.capacities()[0];
        assert_eq!((capacity.rate_per_s, capacity.held_per_s), (None, None));
        // Fewer than ten requests are due in a block below 50/s: two slices of 0.1 s.
        assert!(
            (50.0..200.0).contains(&capacity.high.unwrap()),
            "{capacity:?}"
        );
    }

    #[test]
    fn a_block_without_time_for_further_rates_is_complete_without_them() {
        // Method: the seven rates of two subjects take 7 s of virtual time. The deadline is right
        // after them, or before the third further rate.
        for (deadline_s, most) in [(7.1, 7), (9.2, 9)] {
            let mut study = Study::around(1_000.0);
            let deadline = Nanos((deadline_s * 1e9) as u64);
            let offered = study.block(steady([200.0; 2]), Some(deadline));
            assert_eq!(offered.len(), most, "{offered:?}");
            assert_eq!(study.record.blocks[0].loads.len(), most);
            assert!(study.record.blocks[0].complete);
        }
    }
}
