//! The search before the pilot for rates that depend on the capacity of the subjects. Its results
//! are only a plan: the blocks measure them again.

#[cfg(test)]
mod simulation;

use std::time::Duration;

use abx_engine::LoadPlan;
use abx_engine::schedule::Arrivals;
use abx_evidence::{Goal, Objective, ObjectiveInput};

use crate::measure::running_subjects::{Abort, MeasuredSlice, RunningSubjects, throughput};
use crate::process::pending::Pending;
use abx_study::Load;
use abx_study::rates::{RateSpec, Spacing};

/// How long a subject is loaded before its throughput is measured.
const WARM_UP_NS: u64 = 500_000_000;
/// The length of each of the two slices that measure the throughput.
const SLICE_NS: u64 = 500_000_000;
/// How long a rate is offered before its try counts, so that a subject has finished the requests of
/// the previous rate.
const PROBE_WARM_UP_NS: u64 = 200_000_000;
/// The shortest and the longest try of a rate.
const PROBE_NS: [u64; 2] = [1_000_000_000, 5_000_000_000];
/// A try has this many requests beyond the objective's quantile, which places the quantile well
/// enough for a grid around it.
const BEYOND_QUANTILE: f64 = 30.0;
/// Rates that are tried for each subject: the last step is below 1 % of its highest throughput.
const PROBES: u32 = 7;
/// The first probes, each of which is tried again if it misses.
const PROBES_TWICE: u32 = 4;
/// The throughput of an open loop cannot exceed that of a closed one, except for noise.
const ABOVE_CLOSED: f64 = 1.1;
/// The rates of the grid around a capacity, as shares of it. The grid reaches to both sides, since
/// a probe is short, in steps so small that a straight line from one to the next is close enough.
/// Source: docs/explain/statistics/curves.md, "Capacity".
const AROUND: [f64; 7] = [0.85, 0.90, 0.95, 1.00, 1.05, 1.10, 1.15];
/// Two rates whose ratio is below this count as one.
pub const APART: f64 = 1.025;

/// The highest rate at which a subject met an objective in short tries: an estimate.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundCapacity {
    pub subject: String,
    pub objective: Objective,
    pub load: String,
    pub per_s: f64,
}

/// Searches rates for one set of running subjects, and keeps the results.
#[derive(Debug, Default)]
pub struct RateSearch {
    /// The subjects that the search omits, by their places. Set before each load.
    pub left_out: Vec<usize>,
    /// The throughput of the slowest subject, by loads that differ only in their share of it, and
    /// the subjects left out.
    slowest: Vec<((Load, Vec<usize>), f64)>,
    pub capacities: Vec<FoundCapacity>,
}

impl RateSearch {
    /// The loads that a load with an unresolved rate stands for.
    pub fn loads(
        &mut self,
        running: &mut RunningSubjects,
        load: &Load,
        plans: &[LoadPlan],
    ) -> Result<Vec<Load>, Abort> {
        match &load.rate {
            RateSpec::AsPaced | RateSpec::Found { .. } => Ok(vec![load.clone()]),
            RateSpec::Share { share, .. } => {
                let slowest = self.slowest(running, load, plans)?;
                found_before(load, share * slowest)
                    .map(|load| vec![load])
                    .ok_or_else(|| no_rate(load))
            }
            RateSpec::Objective { objective, spacing } => {
                self.around_capacities(running, load, plans, (objective, *spacing))
            }
        }
    }

    /// A load for each rate of the grid around the subjects' capacities: the highest rates at which
    /// they meet an objective.
    fn around_capacities(
        &mut self,
        running: &mut RunningSubjects,
        load: &Load,
        plans: &[LoadPlan],
        (objective, spacing): (&Objective, Spacing),
    ) -> Result<Vec<Load>, Abort> {
        let mut capacities = Vec::with_capacity(plans.len());
        for (subject, plan) in self.offered(plans) {
            let ceiling = ABOVE_CLOSED * closed_loop_throughput(running, subject, plan)?;
            let search = CapacitySearch {
                objective,
                spacing,
                subject,
                plan,
            };
            let result = search.run(running, ceiling);
            (running.on_pending)(Pending::Over);
            capacities.push(result?);
        }
        let names = self.offered(plans).into_iter();
        let names = names.map(|(subject, _)| &running.names[subject]);
        let estimates = names
            .zip(&capacities)
            .map(|(subject, per_s)| FoundCapacity {
                subject: subject.clone(),
                objective: objective.clone(),
                load: load.name.clone(),
                per_s: *per_s,
            });
        self.capacities.extend(estimates);
        let loads: Vec<Load> = grid(&capacities)
            .into_iter()
            .filter_map(|rate| found_before(load, rate))
            .collect();
        if loads.is_empty() {
            Err(no_rate(load))
        } else {
            Ok(loads)
        }
    }

    /// The throughput of the slowest subject in a closed loop, per second: measured once for all
    /// shares of it, so that their ratios are exact.
    fn slowest(
        &mut self,
        running: &mut RunningSubjects,
        load: &Load,
        plans: &[LoadPlan],
    ) -> Result<f64, Abort> {
        let alike = Load {
            name: String::new(),
            rate: RateSpec::AsPaced,
            ..load.clone()
        };
        let alike = (alike, self.left_out.clone());
        if let Some((_, slowest)) = self.slowest.iter().find(|(known, _)| *known == alike) {
            return Ok(*slowest);
        }
        let mut slowest = f64::INFINITY;
        for (subject, plan) in self.offered(plans) {
            slowest = slowest.min(closed_loop_throughput(running, subject, plan)?);
        }
        self.slowest.push((alike, slowest));
        Ok(slowest)
    }

    /// The subjects that the search loads, by their places, with their plans.
    fn offered<'a>(&self, plans: &'a [LoadPlan]) -> Vec<(usize, &'a LoadPlan)> {
        let plans = plans.iter().enumerate();
        plans
            .filter(|(subject, _)| !self.left_out.contains(subject))
            .collect()
    }
}

fn no_rate(load: &Load) -> Abort {
    Abort::NoRate {
        load: load.name.clone(),
    }
}

/// Another load of the grid `name`: like one of its loads, but at this rate.
pub fn of_grid(name: &str, like: &Load, rate: f64) -> Option<Load> {
    let named = Load {
        name: name.to_owned(),
        ..like.clone()
    };
    let spacing = Spacing::of(&like.pacing.arrivals);
    at_rate(&named, spacing, rate, like.rate.clone())
}

/// The load that a search derives from this one at a rate that it found; `None` if the rate of this
/// load does not depend on the subjects.
#[must_use]
pub fn found_before(load: &Load, rate_per_s: f64) -> Option<Load> {
    let (spacing, rate) = match &load.rate {
        RateSpec::AsPaced | RateSpec::Found { .. } => return None,
        RateSpec::Share { share, spacing } => (
            *spacing,
            RateSpec::Found {
                share: Some(*share),
                objective: None,
            },
        ),
        RateSpec::Objective { objective, spacing } => (
            *spacing,
            RateSpec::Found {
                share: None,
                objective: Some(objective.clone()),
            },
        ),
    };
    at_rate(load, spacing, rate_per_s, rate)
}

/// A copy of the load at this rate. The name has the rate if an objective yields several loads.
fn at_rate(load: &Load, spacing: Spacing, rate: f64, rate_spec: RateSpec) -> Option<Load> {
    let arrivals = spacing.at(rate)?;
    let (Arrivals::Constant { per_s } | Arrivals::Poisson { per_s }) = &arrivals else {
        return None;
    };
    let name = match &rate_spec {
        RateSpec::Found { objective, .. } if objective.is_some() => {
            format!("{}-r{}", load.name, per_s.amount())
        }
        _ => load.name.clone(),
    };
    let mut at_rate = Load {
        name,
        rate: rate_spec,
        ..load.clone()
    };
    at_rate.pacing.arrivals = arrivals;
    Some(at_rate)
}

/// The throughput of a subject in a closed loop, per second: in the better of two slices, since
/// other work on the machine can only make it slower.
fn closed_loop_throughput(
    running: &mut RunningSubjects,
    subject: usize,
    plan: &LoadPlan,
) -> Result<f64, Abort> {
    let pool = running.open(plan)?.pool;
    let mut measure = |ns| -> Result<_, Abort> {
        let slice = running.slice(subject, pool, ns)?.record;
        running.check_responses(subject, plan, &slice)?;
        Ok(throughput(&[slice], plan.senders()))
    };
    let warm_up = measure(WARM_UP_NS);
    let rates = warm_up.and_then(|_| Ok([measure(SLICE_NS)?, measure(SLICE_NS)?]));
    running.close(pool);
    let [first, second] = rates?;
    Ok(first.max(second))
}

/// The search for the highest rate at which one subject meets an objective.
struct CapacitySearch<'a> {
    objective: &'a Objective,
    spacing: Spacing,
    subject: usize,
    plan: &'a LoadPlan,
}

impl CapacitySearch<'_> {
    /// Bisects between a rate that was met and one that was not.
    fn run(&self, running: &mut RunningSubjects, ceiling: f64) -> Result<f64, Abort> {
        let mut number = 0;
        halve(ceiling, |rate| {
            number += 1;
            (running.on_pending)(Pending::Try {
                subject: &running.names[self.subject],
                per_s: rate.round() as u64,
                number,
            });
            let is_met = self.is_met(running, rate)?;
            // Requests that are left from too high a rate must not fall into the next try.
            running.rest(Duration::from_millis(50))?;
            Ok(is_met)
        })
    }

    fn is_met(&self, running: &mut RunningSubjects, rate: f64) -> Result<bool, Abort> {
        let Some(arrivals) = self.spacing.at(rate) else {
            return Ok(false);
        };
        let mut plan = self.plan.clone();
        plan.pacing.arrivals = arrivals;
        let pool = running.open(&plan)?.pool;
        let warmed_up = running.slice(self.subject, pool, PROBE_WARM_UP_NS);
        let measured = warmed_up.and_then(|_| {
            let ns = probe_ns(self.objective, rate);
            running.slice(self.subject, pool, ns)
        });
        running.close(pool);
        let MeasuredSlice { record, times, .. } = measured?;
        let input = ObjectiveInput {
            planned: record.outcomes.requests() + record.unsent,
            ok: record.ok,
            times: &times,
        };
        let burden = self.objective.burden(&input);
        Ok(burden.is_some_and(|burden| burden.amount < 1.0))
    }
}

/// Bisects between a rate at which an objective was met and one at which it was missed. An early
/// miss is tried once more: other activity on the machine can only make a subject slower, and one
/// stall would send the search to the wrong half. Later halves are smaller than the reach of the
/// grid to each side.
fn halve<E>(ceiling: f64, mut is_met: impl FnMut(f64) -> Result<bool, E>) -> Result<f64, E> {
    let (mut met, mut missed) = (0.0, ceiling);
    for probe in 0..PROBES {
        let rate = f64::midpoint(met, missed);
        if is_met(rate)? || (probe < PROBES_TWICE && is_met(rate)?) {
            met = rate;
        } else {
            missed = rate;
        }
    }
    Ok(f64::midpoint(met, missed))
}

/// How long a rate is tried, in ns.
fn probe_ns(objective: &Objective, per_s: f64) -> u64 {
    let share = objective
        .goals()
        .iter()
        .filter_map(|goal| match goal {
            Goal::Time { share, .. } => Some(*share),
            Goal::Errors { .. } => None,
        })
        .fold(0.0, f64::max);
    let requests = BEYOND_QUANTILE / (1.0 - share).max(f64::EPSILON);
    let [least, most] = PROBE_NS;
    ((requests / per_s * 1e9) as u64).clamp(least, most)
}

/// Rates around each capacity, in ascending order.
pub fn grid(capacities: &[f64]) -> Vec<f64> {
    let around = |capacity: &f64| AROUND.map(|part| part * capacity);
    let mut rates: Vec<f64> = capacities.iter().flat_map(around).collect();
    rates.retain(|rate| rate.is_finite() && *rate > 0.0);
    rates.sort_by(f64::total_cmp);
    rates.dedup_by(|next, previous| *next < *previous * APART);
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_tried_for_as_long_as_its_quantile_takes() {
        // Method: 30 of 100 requests are beyond p99 in 3,000, of 1,000 beyond p99.9 in
        // 30,000; never below 1 s, never above 5 s; a share of failures takes no longer.
        let ns = |objective: &str, per_s| probe_ns(&objective.parse().unwrap(), per_s);
        let is_near = |ns: u64, expected: u64| ns.abs_diff(expected) < 1_000;
        assert_eq!(ns("p99<50ms", 10_000.0), 1_000_000_000);
        assert!(is_near(ns("p99<50ms", 1_500.0), 2_000_000_000));
        let both = ns("p50<10ms,p99.9<50ms", 10_000.0);
        assert!(is_near(both, 3_000_000_000));
        assert_eq!(ns("p99<50ms", 10.0), 5_000_000_000);
        assert_eq!(ns("errors<1%", 100.0), 1_000_000_000);
    }

    #[test]
    fn one_stall_does_not_send_the_search_to_the_wrong_half() {
        // Method: a capacity of 900 whose first try a stall makes miss; and an objective that is
        // always missed.
        let mut tries = 0;
        let result = halve(1_100.0, |rate| {
            tries += 1;
            Ok::<bool, ()>(rate <= 900.0 && tries > 1)
        });
        assert!((result.unwrap() / 900.0 - 1.0).abs() < 0.01);
        let none = halve(1_100.0, |_| Ok::<bool, ()>(false)).unwrap();
        assert!(none < 10.0);
    }

    #[test]
    fn the_grid_reaches_around_all_capacities() {
        // Method: one capacity, two that are a factor of three apart, two that
        // are nearly the same, and none.
        let ends = |rates: &[f64]| (rates[0], *rates.last().unwrap());
        let single = grid(&[1_000.0]);
        assert_eq!((single.len(), ends(&single)), (7, (850.0, 1_150.0)));
        let two = grid(&[3_000.0, 1_000.0]);
        assert_eq!(
            (two.len(), ends(&two)),
            (14, (850.0, 3_449.999_999_999_999_5))
        );
        assert!(two.windows(2).all(|pair| pair[0] * 1.02 < pair[1]));
        let near = grid(&[1_000.0, 1_010.0]);
        assert_eq!(near.len(), 7);
        assert!(near[0] <= 850.0 && *near.last().unwrap() >= 1_150.0);
        assert!(grid(&[0.0, f64::NAN]).is_empty());
        assert!(grid(&[]).is_empty());
    }
}
