//! When a study has enough blocks.

use std::time::Duration;

use abx_evidence::record::StudyEnd;
use abx_evidence::stats::stop::{Decision, Reason};
use abx_evidence::{StudyRecord, is_hopeless, may_stop};

use crate::study::Study;

/// The time that a study has taken.
#[derive(Debug, Clone, Copy)]
pub struct TimeSpent {
    /// All of it.
    pub whole: Duration,
    /// Its last block.
    pub last_block: Duration,
}

/// Why a study ends behind its last block; `None` when it goes on. Without an ordered
/// number of blocks it ends when its verdicts are settled, when failures leave nothing to
/// compare, or when one more block would not fit into its budget.
pub fn reason_to_stop(study: &Study, record: &StudyRecord, spent: TimeSpent) -> Option<StudyEnd> {
    if let Some(ordered) = study.blocks {
        let done = record.measured.complete_blocks().count() >= ordered as usize;
        return done.then_some(StudyEnd::Blocks);
    }
    if is_hopeless(&record.conclusions) {
        return Some(StudyEnd::Invalid);
    }
    match may_stop(&record.measured) {
        Decision::Stop(Reason::Precise) => return Some(StudyEnd::Precision),
        Decision::Stop(Reason::Certain) => return Some(StudyEnd::Certain),
        Decision::Continue => {}
    }
    (spent.whole + spent.last_block > study.budget()).then_some(StudyEnd::Budget)
}

#[cfg(test)]
mod tests {
    use abx_evidence::record::{Interleave, PilotRecord};
    use abx_evidence::stats::stop::BLOCKS_FOR_VERDICT;
    use abx_evidence::{Conclusions, judge};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::measure::planned_load::PlannedLoad;
    use crate::measure::running_subjects::Cache;
    use crate::measure::simulation::blocks::pilot;
    use crate::measure::simulation::scripted::{
        Behaviour, CONNECTIONS, ScriptedGenerator, nothing_measured, study,
    };
    use crate::run_study::load_of_block::{LoadOfBlock, MeasuredBlock, measure};
    use crate::run_study::start_block::StartedBlock;
    use crate::study::{Load, SliceLength};

    /// Each block is said to have taken this long.
    const BLOCK: Duration = Duration::from_secs(10);

    /// Measures blocks of two subjects until there is a reason to stop; how many they were.
    fn blocks_until_stop(study: &Study, behaviours: [Behaviour; 2]) -> (StudyEnd, usize) {
        let load = Load {
            name: "one".to_owned(),
            connections: CONNECTIONS,
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
        let mut whole = Duration::ZERO;
        loop {
            let planned = PlannedLoad {
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
            let load = LoadOfBlock {
                name: "one",
                pilot: &pilot,
                failed: Vec::new(),
                grid: None,
            };
            let MeasuredBlock { block, ended, .. } =
                measure(started, &[load], 0, &mut random, &mut |_, _| {});
            ended.unwrap();
            record.measured.blocks.push(block);
            record.conclusions = judge(&record.measured);
            whole += BLOCK;
            let spent = TimeSpent {
                whole,
                last_block: BLOCK,
            };
            if let Some(end) = reason_to_stop(study, &record, spent) {
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
        // Method: subjects without noise are as precise as asked for with the fewest
        // blocks; those with much of it are certain when they differ much, and else take
        // all blocks that fit.
        let study = Study {
            budget: Some(9 * BLOCK + BLOCK / 2),
            ..study(SliceLength::Usual)
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
    fn a_study_ends_when_failures_leave_nothing_to_compare() {
        // Method: one of two leaves a connection unanswered from its third slice on, and
        // is then left; or all of its answers are wrong.
        let study = study(SliceLength::Usual);
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
    fn ordered_blocks_are_measured_whatever_they_say() {
        // Method: fewer than a verdict needs, and more than precision needs.
        for ordered in [2, 8] {
            let study = Study {
                blocks: Some(ordered),
                ..study(SliceLength::Usual)
            };
            let ended = blocks_until_stop(&study, [1_000.0, 1_100.0].map(Behaviour::steady));
            assert_eq!(ended, (StudyEnd::Blocks, ordered as usize));
        }
    }
}
