//! The highest rate at which each subject meets an objective, from the rates that each
//! block offered. Blocks may have offered different rates.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::findings::open_loop::capacity::short_for_capacity;
use crate::findings::rule::new_finding;
use crate::judge::values::{Values, exact};
use crate::view::{OfferView, StudyView};
use abx_evidence::record::{BlockLoad, LoadSettings, Measured};
use abx_evidence::{Finding, FindingId, Goal, Level, Objective, ObjectiveInput, median, sum};
use abx_stats::StatsError;
use abx_stats::curve::capacity::{
    self, BlockCapacity, CapacityEstimate, RateBracket, block_brackets, block_capacities,
};
use abx_stats::curve::sweep::Position;
use abx_stats::student::Confidence;

/// One subject's capacity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// The subject.
    pub subject: String,
    /// The objective.
    pub objective: Objective,
    /// The load that was offered at several rates.
    pub load: String,
    /// Requests per second; `None` if it lies outside the rates that were tried.
    pub rate_per_s: Option<f64>,
    /// The interval's lower end, even if only that is known.
    pub low: Option<f64>,
    /// The interval's upper end, even if only that is known.
    pub high: Option<f64>,
    /// A rate that met the objective in every block, in requests per second: the lowest of
    /// the blocks' highest such rates. Absent if a block had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_per_s: Option<f64>,
    /// A rate that missed the objective in every block, in requests per second: the highest
    /// of the blocks' lowest such rates. Absent if a block had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed_per_s: Option<f64>,
    /// How often such intervals contain the truth, as a share.
    pub confidence: f64,
    /// The number of blocks on which it rests.
    pub blocks: usize,
}

/// Loads that differ only in their rate and have the same objective.
pub(crate) struct RateGrid<'a> {
    pub(crate) objective: &'a Objective,
    /// The common part of the loads' names.
    pub(crate) name: String,
    loads: Vec<&'a OfferView<'a>>,
}

/// The grids of a study, in the order of their first loads.
pub(crate) fn grids<'a>(study: &'a StudyView<'a>) -> Vec<RateGrid<'a>> {
    let mut grids: Vec<(LoadSettings, RateGrid)> = Vec::new();
    for view in &study.loads {
        let load = view.load;
        let Some(objective) = &load.settings.objective else {
            continue;
        };
        let mut rest = load.settings.clone();
        rest.arrivals.rate_per_s = None;
        match grids.iter_mut().find(|(settings, _)| *settings == rest) {
            Some((_, grid)) => grid.loads.push(view),
            None => {
                let grid = RateGrid {
                    objective,
                    name: load.name_of_grid().to_owned(),
                    loads: vec![view],
                };
                grids.push((rest, grid));
            }
        }
    }
    let sorted = grids.into_iter().map(|(_, mut grid)| {
        grid.loads
            .sort_by(|offer, other| rate(offer).total_cmp(&rate(other)));
        grid
    });
    sorted.collect()
}

/// Every subject's capacity by every objective.
pub(crate) fn capacities(study: &StudyView) -> Vec<Capacity> {
    let grids = grids(study);
    let capacities = grids.iter().flat_map(|grid| {
        let names = grid.subjects();
        names.filter_map(|subject| grid.capacity(subject))
    });
    capacities.collect()
}

fn rate(view: &OfferView) -> f64 {
    view.load.settings.arrivals.rate_per_s.unwrap_or_default()
}

impl<'a> RateGrid<'a> {
    /// The subjects' names, in their order.
    fn subjects(&self) -> impl Iterator<Item = &'a str> {
        let views = self.loads.iter().take(1).flat_map(|load| &load.subjects);
        views.map(|view| view.subject)
    }

    /// The rates that each block offered, in ascending order, with the share of what the objective
    /// allows that a subject used at each of them.
    fn usage(&self, subject: &str) -> Option<Vec<Vec<RateUsage>>> {
        let mut blocks: BTreeMap<u32, Vec<RateUsage>> = BTreeMap::new();
        for load in &self.loads {
            for block in &load.subject(subject)?.blocks {
                let at = rate(load);
                let usage = usage(self.objective, block.part, subject)?;
                let rates = blocks.entry(block.block.index).or_default();
                rates.push(RateUsage { at, usage });
            }
        }
        Some(blocks.into_values().collect())
    }

    /// The capacity of a subject in each block; `None` if some block has none.
    pub(crate) fn in_blocks(&self, subject: &str) -> Option<Vec<BlockCapacity>> {
        let usage = self.usage(subject)?;
        usage.iter().map(|rates| block_capacity(rates)).collect()
    }

    fn capacity(&self, subject: &str) -> Option<Capacity> {
        let usage = self.usage(subject)?;
        let blocks = self.in_blocks(subject)?;
        let (rate_per_s, low, high) = match capacity::capacity(&blocks, Confidence::COMPUTED) {
            Err(StatsError::TooFewBlocks { .. }) => of_one_block(blocks.first()?),
            Err(_) => return None,
            Ok(estimate) => of_blocks(estimate),
        };
        let brackets: Vec<RateBracket> = usage.iter().map(|rates| bracket(rates)).collect();
        let held: Option<Vec<f64>> = brackets.iter().map(|bracket| bracket.held).collect();
        let missed: Option<Vec<f64>> = brackets.iter().map(|bracket| bracket.missed).collect();
        Some(Capacity {
            subject: subject.to_owned(),
            objective: self.objective.clone(),
            load: self.name.clone(),
            rate_per_s,
            low,
            high,
            held_per_s: held.and_then(|rates| rates.into_iter().reduce(f64::min)),
            missed_per_s: missed.and_then(|rates| rates.into_iter().reduce(f64::max)),
            confidence: Confidence::PRINTED.share(),
            blocks: blocks.len(),
        })
    }

    pub(crate) fn load_names(&self) -> Vec<String> {
        let names = self.loads.iter().map(|view| view.load.name.clone());
        names.collect()
    }

    /// Whether later blocks leave out all of its loads.
    pub(crate) fn is_settled(&self) -> bool {
        let mut loads = self.loads.iter();
        loads.all(|view| view.load.is_settled())
    }

    /// The requested pairs.
    pub(crate) fn pairs(&self, study: &'a Measured) -> Vec<[&'a str; 2]> {
        let load = self.loads.first().map(|view| view.load);
        load.map_or_else(Vec::new, |load| study.pairs_under(load))
    }

    /// The capacity of each subject in each block. [`RateGrid::beyond`] reports capacities beyond
    /// the grid.
    pub(crate) fn values(&self) -> Values<'a> {
        Values::by_subject(self.subjects().map(|subject| {
            let blocks = self.in_blocks(subject).unwrap_or_default();
            let value = |block: &BlockCapacity| Some(exact(block.rate()));
            (subject, blocks.iter().map(value).collect())
        }))
    }

    /// Reports that blocks offered each rate for less time than a queue takes to grow.
    /// Source: docs/explain/statistics/curves.md, "Capacity".
    pub(crate) fn short(&self) -> Option<Finding> {
        let limits = self.objective.goals().iter().filter_map(|goal| match goal {
            Goal::Time { limit_us, .. } => Some(*limit_us / 1e6),
            Goal::Errors { .. } => None,
        });
        let limit_s = limits.reduce(f64::max)?;
        let pilots = self
            .loads
            .iter()
            .filter_map(|view| view.load.pilot.as_ref());
        let offered = pilots.map(|pilot| pilot.slice_ns as f64 / 1e9 * f64::from(pilot.rounds));
        let offered_s = offered.reduce(f64::min)?;
        (offered_s < LIMITS_MIN * limit_s)
            .then(|| short_for_capacity(&self.name, offered_s, limit_s))
    }

    /// Reports that a capacity lies beyond the rates that were tried. The direction of a comparison
    /// stands if only the larger capacity lies above them, or only the smaller one below.
    pub(crate) fn beyond(&self, [smaller, larger]: [&str; 2]) -> Option<Finding> {
        let sides = |subject: &str| {
            let blocks = self.in_blocks(subject).unwrap_or_default();
            let is_above = |block: &BlockCapacity| matches!(block, BlockCapacity::AtLeast(_));
            let is_below = |block: &BlockCapacity| matches!(block, BlockCapacity::AtMost(_));
            (blocks.iter().any(is_above), blocks.iter().any(is_below))
        };
        let (smaller_above, smaller_below) = sides(smaller);
        let (larger_above, larger_below) = sides(larger);
        let level = if smaller_above || larger_below {
            Level::Void
        } else if smaller_below || larger_above {
            Level::Bound
        } else {
            return None;
        };
        let beyond = [
            (smaller_above, smaller, "above"),
            (smaller_below, smaller, "below"),
            (larger_above, larger, "above"),
            (larger_below, larger, "below"),
        ]
        .into_iter()
        .filter_map(|(is_beyond, who, side)| is_beyond.then_some((who, side)));
        let texts: Vec<String> = beyond
            .map(|(who, side)| {
                format!("the capacity of {who} lies {side} that range in some blocks")
            })
            .collect();
        let [first, last] = [self.loads.first()?, self.loads.last()?].map(|load| rate(load));
        let units = self.loads.first()?.load.settings.exchange.shape.units();
        let message = format!(
            "abx searched for the capacity by {} from {first:.0} to {last:.0} {units}/s, and {}{}",
            self.objective,
            texts.join(", and "),
            match level {
                Level::Bound => {
                    "; the ratio is a bound, and its interval covers only the rates that were \
                     tried: beyond them, blocks may differ more"
                }
                _ => "",
            }
        );
        Some(new_finding(FindingId::BeyondTheGrid, message).at(level))
    }
}

/// A capacity and the lower and upper end of its interval, each if it is known.
type Ends = (Option<f64>, Option<f64>, Option<f64>);

fn of_blocks(estimate: CapacityEstimate) -> Ends {
    match estimate {
        CapacityEstimate::Within(interval) => (
            Some(interval.ratio),
            Some(interval.low),
            Some(interval.high),
        ),
        CapacityEstimate::AtLeast(low) => (None, Some(low), None),
        CapacityEstimate::AtMost(high) => (None, None, Some(high)),
        CapacityEstimate::Unbounded => (None, None, None),
    }
}

/// One block gives a rate and no interval.
fn of_one_block(block: &BlockCapacity) -> Ends {
    match block {
        BlockCapacity::Within(rate) => (Some(*rate), None, None),
        BlockCapacity::AtLeast(low) => (None, Some(*low), None),
        BlockCapacity::AtMost(high) => (None, None, Some(*high)),
    }
}

/// The shortest time for which a block must offer a rate, in multiples of the limit. At this time
/// the error of the capacity is below 1 % in simulation.
const LIMITS_MIN: f64 = 800.0;

/// The share of what an objective allows that a subject used under one load of a block.
/// It is infinite when the subject stopped responding in the warm-up, or gave no response to
/// requests that were due. `None` when the subject was not loaded.
fn usage(objective: &Objective, part: &BlockLoad, subject: &str) -> Option<f64> {
    let warm_up = part
        .sides
        .get(subject)
        .and_then(|side| side.warm_up.as_ref());
    let has_stopped = warm_up.is_some_and(|slice| slice.stopped_responding);
    let (mut planned, mut ok) = (0, 0);
    let slices = part.rounds.iter().flat_map(|round| &round.slices);
    for slice in slices.filter(|slice| slice.subject == subject) {
        planned = sum([planned, slice.outcomes.requests(), slice.unsent]);
        ok = sum([ok, slice.ok]);
    }
    let burden = || {
        let times = part.histograms.get(subject)?;
        objective.burden(&ObjectiveInput { planned, ok, times })
    };
    (planned > 0 || has_stopped).then(|| burden().map_or(f64::INFINITY, |burden| burden.amount))
}

/// A rate that a block offered, in requests per second, with the share of what the objective
/// allows that a subject used.
#[derive(Debug, Clone, Copy)]
struct RateUsage {
    at: f64,
    usage: f64,
}

fn block_capacity(rates: &[RateUsage]) -> Option<BlockCapacity> {
    let blocks = block_capacities(&positions(rates), 1.0).ok()?;
    blocks.into_iter().next()
}

fn bracket(rates: &[RateUsage]) -> RateBracket {
    let blocks = block_brackets(&positions(rates), 1.0).unwrap_or_default();
    blocks.into_iter().next().unwrap_or_default()
}

/// The positions of a single block.
fn positions(rates: &[RateUsage]) -> Vec<Position<'_>> {
    let positions = rates.iter().map(|RateUsage { at, usage }| Position {
        at: *at,
        blocks: std::slice::from_ref(usage),
    });
    positions.collect()
}

/// The rates of one block between which a subject passed its objective. `parts` are the rates in
/// requests per second, in any order, with what the block measured at each.
#[must_use]
pub fn rate_bracket(
    objective: &Objective,
    parts: &[(f64, &BlockLoad)],
    subject: &str,
) -> RateBracket {
    let rates = parts.iter().filter_map(|(at, part)| {
        let usage = usage(objective, part, subject)?;
        Some(RateUsage { at: *at, usage })
    });
    let mut rates: Vec<RateUsage> = rates.collect();
    rates.sort_by(|rate, other| rate.at.total_cmp(&other.at));
    bracket(&rates)
}

/// A typical capacity of each subject in one grid, in requests per second: the median over the
/// blocks in which the subject met and missed its objective. A subject without such a block is
/// left out.
#[must_use]
pub fn median_capacities(study: &Measured, name_of_grid: &str) -> Vec<f64> {
    let view = StudyView::of(study);
    let rate_grids = grids(&view);
    let Some(grid) = rate_grids.iter().find(|grid| grid.name == name_of_grid) else {
        return Vec::new();
    };
    let within = |block| match block {
        BlockCapacity::Within(rate) => Some(rate),
        BlockCapacity::AtLeast(_) | BlockCapacity::AtMost(_) => None,
    };
    let medians = grid.subjects().filter_map(|subject| {
        let blocks = grid.in_blocks(subject)?;
        median(blocks.into_iter().filter_map(within))
    });
    medians.collect()
}
