//! When a study has enough blocks, and when one of its loads has.

use std::time::Duration;

use abx_evidence::record::{Settled, SettledReason, StudyEnd};
use abx_stats::paired::BLOCKS_MIN;
use abx_stats::stop::{BLOCKS_FOR_VERDICT, Decision, Reason};
use abx_verdict::expectation::{LimitState, limit_state, limit_state_under};
use abx_verdict::{Expectation, StopGroup, StudyRecord, is_hopeless, may_stop, stop_groups};

use abx_study::{OrderedTime, Study};

/// The time that a study has taken.
#[derive(Debug, Clone, Copy)]
pub struct TimeSpent {
    pub elapsed: Duration,
    /// The approximate length of another block.
    pub next_block: Duration,
}

/// What the blocks so far settle, with the name of the load: the whole load, or a subject under it.
/// Later blocks leave it out. Pure.
///
/// The limits of a load settle it if blocks can settle any of them, and else its verdicts do.
/// Nothing is settled if the study has a fixed number of blocks, which holds for every load. No
/// single subject is settled if the study has limits, since a limit may be about any two subjects.
/// Source: docs/explain/statistics/stopping.md, "Each load by its own rule".
pub fn newly_settled(
    study: &Study,
    limits: &[Expectation],
    record: &StudyRecord,
) -> Vec<(String, Settled)> {
    if study.blocks.is_some() {
        return Vec::new();
    }
    let measured = &record.measured;
    let mut settled = Vec::new();
    for group in stop_groups(measured) {
        let leaving: Vec<(Option<String>, SettledReason)> =
            match reason_to_leave(limits, record, &group) {
                Some(reason) => vec![(None, reason)],
                None if limits.is_empty() => subjects_to_leave(&group),
                None => Vec::new(),
            };
        let loads = group.loads.iter().filter_map(|load| measured.load(load));
        for load in loads.filter(|load| !load.is_settled()) {
            let blocks = measured.block_loads(&load.name).count();
            for (subject, reason) in &leaving {
                if let Some(subject) = subject
                    && load.is_settled_for(subject)
                {
                    continue;
                }
                let entry = Settled {
                    subject: subject.clone(),
                    blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
                    reason: *reason,
                };
                settled.push((load.name.clone(), entry));
            }
        }
    }
    settled
}

fn subjects_to_leave(group: &StopGroup) -> Vec<(Option<String>, SettledReason)> {
    let subjects = group.settled_subjects().into_iter();
    subjects
        .map(|(subject, reason)| (Some(subject), reason_of(reason)))
        .collect()
}

fn reason_of(reason: Reason) -> SettledReason {
    match reason {
        Reason::Precise => SettledReason::Precision,
        Reason::Certain => SettledReason::Certain,
    }
}

/// Why the loads of a group need no more blocks; `None` if they do.
fn reason_to_leave(
    limits: &[Expectation],
    record: &StudyRecord,
    group: &StopGroup,
) -> Option<SettledReason> {
    match limit_state_under(record, limits, &group.names) {
        LimitState::Open => None,
        LimitState::Settled => has_enough_blocks(record).then_some(SettledReason::Limits),
        LimitState::OutOfReach => match group.decision {
            Decision::Stop(reason) => Some(reason_of(reason)),
            Decision::Continue => None,
        },
    }
}

/// Whether there are enough blocks for a verdict in a study that ends by its measurements.
fn has_enough_blocks(record: &StudyRecord) -> bool {
    record.measured.complete_blocks().count() >= BLOCKS_FOR_VERDICT
}

/// Why a study ends after its last block; `None` if it continues. Pure.
///
/// Without a fixed number of blocks, it ends if failures leave nothing to compare, or if one more
/// block would not fit into its budget. Until then its limits decide if blocks can settle any of
/// them, and else its verdicts.
pub fn reason_to_stop(
    study: &Study,
    limits: &[Expectation],
    record: &StudyRecord,
    spent: TimeSpent,
) -> Option<StudyEnd> {
    if let Some(requested) = study.blocks {
        let done = record.measured.complete_blocks().count();
        if done >= requested as usize {
            return Some(StudyEnd::Blocks);
        }
        let is_late = done >= BLOCKS_MIN && is_delayed(study, record, spent);
        return is_late.then_some(StudyEnd::Budget);
    }
    if is_hopeless(&record.conclusions) {
        return Some(StudyEnd::Invalid);
    }
    let decision = match limit_state(record, limits) {
        LimitState::Settled if has_enough_blocks(record) => return Some(StudyEnd::Settled),
        LimitState::Settled | LimitState::Open => Decision::Continue,
        LimitState::OutOfReach => may_stop(&record.measured),
    };
    match decision {
        Decision::Stop(Reason::Precise) => return Some(StudyEnd::Precision),
        Decision::Stop(Reason::Certain) => return Some(StudyEnd::Certain),
        Decision::Continue => {}
    }
    (spent.elapsed + spent.next_block > study.budget()).then_some(StudyEnd::Budget)
}

/// Why a study that ends by another rule, `until`, does so after its last block; `None` if it
/// continues.
pub fn reason_to_end(
    study: &Study,
    until: &dyn Fn(&StudyRecord) -> bool,
    record: &StudyRecord,
    spent: TimeSpent,
) -> Option<StudyEnd> {
    if is_hopeless(&record.conclusions) {
        return Some(StudyEnd::Invalid);
    }
    if until(record) {
        return Some(StudyEnd::Decided);
    }
    (spent.elapsed + spent.next_block > study.budget()).then_some(StudyEnd::Budget)
}

/// Whether one more block of a search for a capacity would exceed the requested time by far, since
/// blocks have added rates.
fn is_delayed(study: &Study, record: &StudyRecord, spent: TimeSpent) -> bool {
    let measured = &record.measured;
    let blocks = measured.complete_blocks().count();
    let mut loads = measured.loads.iter();
    let have_added_rates = loads.any(|load| measured.block_loads(&load.name).count() < blocks);
    let most = match study.ordered_time {
        Some(OrderedTime::Whole(whole)) => Some(whole.mul_f64(DELAY_MAX)),
        Some(OrderedTime::EachLoad(_)) | None => None,
    };
    have_added_rates && most.is_some_and(|most| spent.elapsed + spent.next_block > most)
}

/// The most that blocks may take, as a multiple of the requested time.
const DELAY_MAX: f64 = 1.25;

#[cfg(test)]
mod tests {
    use abx_model::LoadOptions;
    use std::collections::BTreeMap;

    use abx_evidence::Outcome;
    use abx_evidence::record::{BlockRecord, Interleave, PilotRecord};
    use abx_fixtures::{longer, response, two_loads};
    use abx_verdict::expectation::KnownNames;
    use abx_verdict::{Conclusions, judge};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::measure::planned_load::SubjectPlans;
    use crate::measure::running_subjects::Cache;
    use crate::measure::simulation::blocks::pilot;
    use crate::measure::simulation::scripted::{
        Behaviour, CONNECTIONS, ScriptedGenerator, nothing_measured, study,
    };
    use crate::run_study::block::block_loading::BlockPart;
    use crate::run_study::block::load_of_block::{MeasuredBlock, measure};
    use crate::run_study::block::start_block::StartedBlock;
    use abx_study::Load;

    /// The length of each block.
    const BLOCK: Duration = Duration::from_secs(10);

    /// How many blocks of two subjects there are until there is a reason to stop, and the reason.
    fn blocks_until_stop(study: &Study, behaviours: [Behaviour; 2]) -> (StudyEnd, usize) {
        blocks_until_settled(study, &[], behaviours)
    }

    /// The same for a study with limits.
    fn blocks_until_settled(
        study: &Study,
        limits: &[Expectation],
        behaviours: [Behaviour; 2],
    ) -> (StudyEnd, usize) {
        let load = Load {
            options: LoadOptions {
                connections: CONNECTIONS,
                ..LoadOptions::default()
            },
            name: "one".to_owned(),
            ..Load::default()
        };
        let mut record = StudyRecord {
            measured: nothing_measured(std::slice::from_ref(&load)),
            conclusions: Conclusions::default(),
        };
        let mut generator = ScriptedGenerator::new(&behaviours);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let pilot = PilotRecord {
            rounds: 2,
            ..pilot(Interleave::Slices)
        };
        let mut elapsed = Duration::ZERO;
        loop {
            let planned = SubjectPlans {
                plans: generator.plans(),
                verified: vec![Vec::new(), Vec::new()],
                bodies_compared: true,
                cache: Cache::Left,
                ceiling: None,
            };
            let started = StartedBlock {
                running: generator.running(),
                order: Vec::new(),
                loads: vec![planned],
                failed: Vec::new(),
            };
            let load = BlockPart {
                name: "one",
                pilot: &pilot,
                left_out: Vec::new(),
                grid: None,
                is_settled: false,
            };
            let MeasuredBlock { block, ended, .. } =
                measure(started, &[load], 0, &mut random, &mut |_, _, _| {});
            ended.unwrap();
            record.measured.blocks.push(block);
            record.conclusions = judge(&record.measured);
            elapsed += BLOCK;
            let spent = TimeSpent {
                elapsed,
                next_block: BLOCK,
            };
            if let Some(end) = reason_to_stop(study, limits, &record, spent) {
                return (end, record.measured.blocks.len());
            }
        }
    }

    fn noisy(capacity_per_s: f64) -> Behaviour {
        Behaviour {
            spread: 0.3,
            ..Behaviour::steady(capacity_per_s)
        }
    }

    #[test]
    fn a_study_ends_when_its_verdict_is_settled_or_its_budget_is_used_up() {
        // Method: subjects without noise are as precise as requested with the fewest blocks. Noisy
        // subjects are certain if they differ much, and else take all blocks that fit.
        let study = Study {
            budget: Some(9 * BLOCK + BLOCK / 2),
            ..study(None)
        };
        let fewest = BLOCKS_FOR_VERDICT;
        let ends = |behaviours| blocks_until_stop(&study, behaviours);
        let steady = [1_000.0, 1_100.0].map(Behaviour::steady);
        assert_eq!(ends(steady), (StudyEnd::Precision, fewest));
        assert_eq!(
            ends([1_000.0, 4_000.0].map(noisy)),
            (StudyEnd::Certain, fewest)
        );
        assert_eq!(ends([1_000.0, 1_000.0].map(noisy)), (StudyEnd::Budget, 9));
        // Nine blocks that fill a budget to the end fit into it.
        let filled = Study {
            budget: Some(9 * BLOCK),
            ..study
        };
        let ended = blocks_until_stop(&filled, [1_000.0, 1_000.0].map(noisy));
        assert_eq!(ended, (StudyEnd::Budget, 9));
    }

    #[test]
    fn a_limit_decides_when_a_study_ends() {
        // Method: `b` serves exactly half as much as `a`, with noise. The difference is certain
        // with the fewest blocks. A limit far from the ratio ends there, too. A limit at the ratio
        // takes the whole budget, even if it is one of several. A limit that no block can settle
        // leaves the end to the verdicts, as does a threshold.
        let study = Study {
            budget: Some(20 * BLOCK),
            ..study(None)
        };
        let behaviours = [2_000.0, 1_000.0].map(noisy);
        let known = KnownNames {
            subjects: ["a", "b"].map(str::to_owned).into(),
            loads: vec!["one".to_owned()],
        };
        let ends = |texts: &[&str]| {
            let limits: Vec<Expectation> = texts
                .iter()
                .map(|text| Expectation::parse(text, &known).unwrap())
                .collect();
            blocks_until_settled(&study, &limits, behaviours)
        };
        let fewest = BLOCKS_FOR_VERDICT;
        assert_eq!(ends(&[]), (StudyEnd::Certain, fewest));
        assert_eq!(ends(&["b >= 0.01 * a"]), (StudyEnd::Settled, fewest));
        assert_eq!(ends(&["b >= 5 * a"]), (StudyEnd::Settled, fewest));
        let open = "b >= 0.5 * a";
        assert_eq!(ends(&[open]), (StudyEnd::Budget, 20));
        assert_eq!(ends(&["b >= 0.01 * a", open]), (StudyEnd::Budget, 20));
        let unknown = "recovery: b <= a";
        assert_eq!(ends(&[unknown]), (StudyEnd::Certain, fewest));
        assert_eq!(ends(&[unknown, open]), (StudyEnd::Budget, 20));
        // A threshold holds or fails after one block, and has no interval.
        assert_eq!(ends(&["p99<10s"]), (StudyEnd::Certain, fewest));
        assert_eq!(ends(&["p99<10s", open]), (StudyEnd::Budget, 20));
        let not_slower = [Expectation::not_slower(0.5).unwrap()];
        let ended = blocks_until_settled(&study, &not_slower, behaviours);
        assert_eq!(ended, (StudyEnd::Budget, 20));
    }

    #[test]
    fn each_load_is_settled_by_its_own_limit_or_by_its_verdicts() {
        // Method: two loads over seven blocks, a precise one and one that scatters; with limits far
        // from the ratio, at the ratio, and about the other load only; and with a fixed number of
        // blocks.
        let known = KnownNames {
            subjects: ["new", "old"].map(str::to_owned).into(),
            loads: ["small", "large"].map(str::to_owned).into(),
        };
        let mut measured = longer(two_loads());
        measured.settings.blocks = None;
        for (place, block) in measured.blocks.iter_mut().enumerate() {
            let factor = if place % 2 == 0 { 9 } else { 11 };
            for round in &mut block.loads[1].rounds {
                let slice = &mut round.slices[1];
                let ok = slice.outcomes.ok() * factor / 10;
                response(slice, &[(Outcome::Ok, ok)]);
            }
        }
        let record = StudyRecord::judged(measured);
        let free = study(None);
        let settled = |study: &Study, texts: &[&str]| -> Vec<(String, SettledReason)> {
            let limits = texts.iter().map(|text| Expectation::parse(text, &known));
            let limits: Vec<Expectation> = limits.map(Result::unwrap).collect();
            let settled = newly_settled(study, &limits, &record).into_iter();
            let reasons = settled.map(|(load, settled)| {
                assert_eq!((settled.blocks, settled.subject), (7, None));
                (load, settled.reason)
            });
            reasons.collect()
        };
        let small = |reason| ("small".to_owned(), reason);
        let large = |reason| ("large".to_owned(), reason);
        assert_eq!(settled(&free, &[]), [small(SettledReason::Precision)]);
        let far = "new >= 0.1 * old";
        let both = [small(SettledReason::Limits), large(SettledReason::Limits)];
        assert_eq!(settled(&free, &[far]), both);
        let ratio = record.conclusions.comparisons[0].ratio.unwrap();
        let open = format!("new >= {ratio:.4} * old @ small");
        assert_eq!(settled(&free, &[&open]), []);
        let other = "new >= 0.1 * old @ large";
        let expected = [
            small(SettledReason::Precision),
            large(SettledReason::Limits),
        ];
        assert_eq!(settled(&free, &[other]), expected);
        let fixed = Study {
            blocks: Some(9),
            ..free
        };
        assert_eq!(settled(&fixed, &[]), []);
    }

    #[test]
    fn another_rule_ends_a_study_in_place_of_its_verdicts() {
        // Method: a rule that has enough blocks, and one that has not, with and without time for
        // another block.
        let study = Study {
            budget: Some(2 * BLOCK),
            ..study(None)
        };
        let record = StudyRecord {
            measured: nothing_measured(&[]),
            conclusions: Conclusions::default(),
        };
        let ends = |is_enough: bool, elapsed: Duration| {
            let spent = TimeSpent {
                elapsed,
                next_block: BLOCK,
            };
            reason_to_end(&study, &|_| is_enough, &record, spent)
        };
        assert_eq!(ends(true, BLOCK), Some(StudyEnd::Decided));
        assert_eq!(ends(false, BLOCK), None);
        assert_eq!(ends(false, 2 * BLOCK), Some(StudyEnd::Budget));
    }

    #[test]
    fn a_study_ends_when_failures_leave_nothing_to_compare() {
        // Method: one of two subjects stops responding on a connection in its third slice, and is
        // left out; or all of its responses are wrong.
        let study = study(None);
        let steady = Behaviour::steady(1_000.0);
        let mute = Behaviour {
            mute: (2, 1),
            ..steady
        };
        let wrong = Behaviour {
            wrong_after: 0,
            ..steady
        };
        for failing in [mute, wrong] {
            let ended = blocks_until_stop(&study, [steady, failing]);
            assert_eq!(ended, (StudyEnd::Invalid, 1), "{failing:?}");
        }
    }

    #[test]
    fn a_fixed_number_of_blocks_is_measured_whatever_the_results_are() {
        // Method: fewer than a verdict needs, and more than precision needs.
        for blocks in [2, 8] {
            let study = Study {
                blocks: Some(blocks),
                ..study(None)
            };
            let ended = blocks_until_stop(&study, [1_000.0, 1_100.0].map(Behaviour::steady));
            assert_eq!(ended, (StudyEnd::Blocks, blocks as usize));
        }
    }

    #[test]
    fn a_fixed_number_of_blocks_for_a_capacity_ends_near_its_time() {
        // Method: six blocks in 60 s that take 10 s, or 20 s, with and without a load that only
        // some of them offered. A second block is always measured.
        let study = Study {
            blocks: Some(6),
            ordered_time: Some(OrderedTime::Whole(Duration::from_secs(60))),
            ..study(None)
        };
        let ends = |have_added_rates: bool, done: usize, elapsed_s: u64, last_s: u64| {
            let loads = if have_added_rates {
                vec![Load::default()]
            } else {
                Vec::new()
            };
            let mut measured = nothing_measured(&loads);
            let block = BlockRecord {
                index: 0,
                seed: 0,
                complete: true,
                order: Vec::new(),
                subjects: BTreeMap::new(),
                services: BTreeMap::new(),
                loads: Vec::new(),
                faults: Vec::new(),
                missing_agents: Vec::new(),
                canaries: Vec::new(),
                other_programs: Vec::new(),
            };
            measured.blocks = vec![block; done];
            let record = StudyRecord {
                measured,
                conclusions: Conclusions::default(),
            };
            let spent = TimeSpent {
                elapsed: Duration::from_secs(elapsed_s),
                next_block: Duration::from_secs(last_s),
            };
            reason_to_stop(&study, &[], &record, spent)
        };
        assert_eq!(ends(true, 5, 60, 10), None);
        assert_eq!(ends(true, 3, 60, 20), Some(StudyEnd::Budget));
        assert_eq!(ends(false, 3, 60, 20), None);
        assert_eq!(ends(true, 1, 70, 70), None);
        assert_eq!(ends(true, 6, 90, 10), Some(StudyEnd::Blocks));
    }
}
