//! How a block loads its subjects, with scripted subjects.

use std::collections::BTreeMap;

use abx_evidence::record::{BlockLoad, Interleave, PilotRecord};
use abx_sys::Nanos;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::scripted::{Behaviour, ScriptedGenerator};
use crate::measure::block::{CEILING_EVERY, SubjectRun};
use crate::measure::planned_load::{PlannedCeiling, SubjectPlans};
use crate::measure::running_subjects::{Abort, Cache};

const SLICE_NS: u64 = 100_000_000;
const WARM_UP_NS: u64 = 300_000_000;
const ROUNDS: u32 = 20;

/// A pilot of the usual slices.
pub fn pilot(interleave: Interleave) -> PilotRecord {
    PilotRecord {
        interleave,
        interleave_reason: None,
        slice_ns: SLICE_NS,
        slice_requests: None,
        discard_ns: SLICE_NS / 10,
        slice_reason: None,
        rounds: ROUNDS,
        shortened: false,
        warm_up_ns: WARM_UP_NS,
        subjects: BTreeMap::new(),
    }
}

/// Measures one block. The last of the generator's subjects is the ceiling.
fn block(
    generator: &mut ScriptedGenerator,
    interleave: Interleave,
) -> (BlockLoad, Result<(), Abort>) {
    block_of_seed(generator, interleave, 1)
}

fn block_of_seed(
    generator: &mut ScriptedGenerator,
    interleave: Interleave,
    seed: u64,
) -> (BlockLoad, Result<(), Abort>) {
    block_until(generator, interleave, seed, None)
}

fn block_until(
    generator: &mut ScriptedGenerator,
    interleave: Interleave,
    seed: u64,
    deadline: Option<Nanos>,
) -> (BlockLoad, Result<(), Abort>) {
    let mut plans = generator.plans();
    let last = plans.pop().expect("a subject");
    let planned = SubjectPlans {
        verified: plans.iter().map(|_| Vec::new()).collect(),
        ceiling: Some(PlannedCeiling {
            index: plans.len(),
            plan: last,
        }),
        plans,
        bodies_compared: true,
        cache: Cache::Left,
    };
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut running = generator.running();
    running.deadline = deadline;
    let pilot = pilot(interleave);
    let mut run = SubjectRun::new("one", &mut running, &planned, &pilot, &mut random);
    let ended = run.measure(|_| {});
    (run.result, ended)
}

/// The subjects of each round, in the order of its slices.
fn subjects(block: &BlockLoad) -> Vec<Vec<&str>> {
    let rounds = block.rounds.iter().map(|round| &round.slices);
    let names = rounds.map(|slices| slices.iter().map(|slice| slice.subject.as_str()));
    names.map(Iterator::collect).collect()
}

#[test]
fn each_round_has_one_slice_of_each_in_random_order() {
    // Method: three subjects that differ, and a ceiling; the slices in the record.
    let behaviours = [1_000.0, 2_000.0, 4_000.0, 9_000.0].map(Behaviour::steady);
    let mut generator = ScriptedGenerator::new(&behaviours);
    let (block, ended) = block(&mut generator, Interleave::Slices);
    ended.unwrap();
    let rounds = subjects(&block);
    assert_eq!(rounds.len(), ROUNDS as usize);
    for (number, round) in rounds.iter().enumerate() {
        let mut names = round.clone();
        names.sort_unstable();
        let has_ceiling = number % CEILING_EVERY as usize == 0;
        let expected: &[&str] = if has_ceiling {
            &["a", "b", "c", "d"]
        } else {
            &["a", "b", "c"]
        };
        assert_eq!(names, expected);
    }
    let firsts: Vec<&str> = rounds.iter().map(|round| round[0]).collect();
    assert!(
        ["a", "b", "c"].iter().all(|name| firsts.contains(name)),
        "{firsts:?}"
    );
    for (name, ok) in [("a", 90), ("b", 180), ("c", 360)] {
        let slices = block.rounds.iter().flat_map(|round| &round.slices);
        let mut slices = slices.filter(|slice| slice.subject == name);
        assert!(slices.all(|slice| slice.ok == ok), "{name}");
        assert_eq!(block.histograms[name].response.count(), 20 * ok);
        let warm_up = block.sides[name].warm_up.as_ref().unwrap();
        assert_eq!(warm_up.wall_ns, WARM_UP_NS);
    }
    assert_eq!(generator.open_pools(), 0);
}

#[test]
fn no_subject_is_always_the_first_to_warm_up() {
    // Method: two subjects and a ceiling in blocks of 20 seeds, and the subject that the generator
    // loaded first.
    let behaviours = [1_000.0, 1_000.0, 9_000.0].map(Behaviour::steady);
    let first = |seed| {
        let mut generator = ScriptedGenerator::new(&behaviours);
        let (_, ended) = block_of_seed(&mut generator, Interleave::Slices, seed);
        ended.unwrap();
        generator.slices[0]
    };
    let firsts: Vec<(usize, u64)> = (0..20).map(first).collect();
    for subject in [0, 1] {
        assert!(firsts.contains(&(subject, WARM_UP_NS)), "{firsts:?}");
    }
}

#[test]
fn a_subject_that_fails_is_loaded_no_more_and_the_others_continue() {
    // Method: a subject that responds in its warm-up and four slices, or never, and then falls
    // silent, or leaves one connection without a response for 10 s. By slices and by trials.
    let steady = Behaviour::steady(1_000.0);
    let silent = |after| Behaviour {
        silent_after: after,
        ..steady
    };
    let mute = |after| Behaviour {
        mute: (after, 1),
        ..steady
    };
    for (failing, slices, trials) in [
        (silent(5), 5, 3),
        (mute(5), 5, 3),
        (silent(0), 0, 0),
        (mute(0), 0, 0),
    ] {
        for (interleave, expected) in [(Interleave::Slices, slices), (Interleave::Trials, trials)] {
            let mut generator = ScriptedGenerator::new(&[steady, failing, steady]);
            let (block, ended) = block(&mut generator, interleave);
            ended.unwrap();
            let loaded = subjects(&block).concat();
            let count = |name| loaded.iter().filter(|subject| **subject == name).count();
            assert_eq!((count("a"), count("b")), (20, expected), "{failing:?}");
            assert_eq!(generator.open_pools(), 0);
        }
    }
}

#[test]
fn trials_have_one_pool_at_a_time_and_a_warm_up_each() {
    // Method: two subjects and a ceiling; the slices that the generator made, in order.
    let behaviours = [1_000.0, 2_000.0, 9_000.0].map(Behaviour::steady);
    let mut generator = ScriptedGenerator::new(&behaviours);
    let (block, ended) = block(&mut generator, Interleave::Trials);
    ended.unwrap();
    assert_eq!(block.rounds.len(), ROUNDS as usize);
    for round in generator.slices.chunks(6) {
        let [warm_up, first, other_warm_up, second, _, ceiling] = round else {
            panic!("two subjects and a ceiling: {round:?}");
        };
        assert_eq!((warm_up.0, other_warm_up.0), (first.0, second.0));
        assert_eq!((warm_up.1, first.1), (WARM_UP_NS, SLICE_NS));
        assert_ne!(first.0, second.0);
        assert_eq!(ceiling.0, 2);
    }
    assert_eq!(generator.open_pools(), 0);
}

#[test]
fn a_block_that_is_cut_short_leaves_no_connections_open() {
    // Method: a deadline in the first warm-up, in a later one, between rounds, and in the last
    // round. By slices and by trials.
    let behaviours = [1_000.0, 2_000.0, 9_000.0].map(Behaviour::steady);
    for interleave in [Interleave::Slices, Interleave::Trials] {
        for deadline_ns in [1, WARM_UP_NS + 1, 2_000_000_000, 4_500_000_000] {
            let mut generator = ScriptedGenerator::new(&behaviours);
            let deadline = Some(Nanos(deadline_ns));
            let (_, ended) = block_until(&mut generator, interleave, 1, deadline);
            assert!(ended.is_err(), "{interleave:?} {deadline_ns}");
            assert_eq!(generator.open_pools(), 0, "{interleave:?} {deadline_ns}");
        }
    }
}
