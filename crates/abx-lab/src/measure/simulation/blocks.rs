//! How a block loads its subjects, by subjects of a script.

use std::collections::BTreeMap;

use abx_evidence::record::{BlockLoad, Interleave, PilotRecord};
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

/// One block of subjects of which the last is a server that does nothing.
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
    let pilot = pilot(interleave);
    let mut run = SubjectRun::new("one", &mut running, &planned, &pilot, &mut random);
    let ended = run.measure(|_| {});
    (run.result, ended)
}

fn subjects(block: &BlockLoad) -> Vec<Vec<&str>> {
    let rounds = block.rounds.iter().map(|round| &round.slices);
    let names = rounds.map(|slices| slices.iter().map(|slice| slice.subject.as_str()));
    names.map(Iterator::collect).collect()
}

#[test]
fn each_round_has_one_slice_of_each_in_random_order() {
    // Method: three subjects that differ, and the calls that the generator received about them.
    let behaviours = [1_000.0, 2_000.0, 4_000.0, 9_000.0].map(Behaviour::steady);
    let mut generator = ScriptedGenerator::new(&behaviours);
    let (block, ended) = block(&mut generator, Interleave::Slices);
    ended.unwrap();
    let rounds = subjects(&block);
    assert_eq!(rounds.len(), ROUNDS as usize);
    for (number, round) in rounds.iter().enumerate() {
        let mut texts = round.clone();
        texts.sort_unstable();
        let is_fifth = number % CEILING_EVERY as usize == 0;
        let expected: &[&str] = if is_fifth {
            &["a", "b", "c", "d"]
        } else {
            &["a", "b", "c"]
        };
        assert_eq!(texts, expected);
    }
    let firsts: Vec<&str> = rounds.iter().map(|round| round[0]).collect();
    assert!(
        ["a", "b", "c"].iter().all(|name| firsts.contains(name)),
        "{firsts:?}"
    );
    for (name, ok) in [("a", 90), ("b", 180), ("c", 360)] {
        let slices = block.rounds.iter().flat_map(|round| &round.slices);
        let mine = slices.filter(|slice| slice.subject == name);
        assert!(
            mine.map(|slice| slice.ok).all(|number| number == ok),
            "{name}"
        );
        assert_eq!(block.histograms[name].response.count(), 20 * ok);
        let warm_up = block.sides[name].warm_up.as_ref().unwrap();
        assert_eq!(warm_up.wall_ns, WARM_UP_NS);
    }
    assert_eq!(generator.open_pools(), 0);
}

#[test]
fn nobody_is_always_the_first_to_be_warmed_up() {
    // Method: two subjects beside a ceiling in blocks of 20 seeds, and the subject that the
    // generator had to load first.
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
fn a_subject_that_fails_is_loaded_no_more_and_the_others_go_on() {
    // Method: it has responses in its warm-up and four slices, or in none; or one of its
    // connections has no response for 10 s from then on. By slices and by trials.
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
            let texts = subjects(&block).concat();
            let count = |name| texts.iter().filter(|text| **text == name).count();
            assert_eq!((count("a"), count("b")), (20, expected), "{failing:?}");
            assert_eq!(generator.open_pools(), 0);
        }
    }
}

#[test]
fn trials_have_one_pool_at_a_time_and_a_warm_up_each() {
    // Method: two subjects beside a ceiling; the calls that the generator received, in order.
    let behaviours = [1_000.0, 2_000.0, 9_000.0].map(Behaviour::steady);
    let mut generator = ScriptedGenerator::new(&behaviours);
    let (block, ended) = block(&mut generator, Interleave::Trials);
    ended.unwrap();
    assert_eq!(block.rounds.len(), ROUNDS as usize);
    for round in generator.slices.chunks(6) {
        let [pair, first, other, second, _, ceiling] = round else {
            panic!("two subjects and a ceiling: {round:?}");
        };
        assert_eq!((pair.0, other.0), (first.0, second.0));
        assert_eq!((pair.1, first.1), (WARM_UP_NS, SLICE_NS));
        assert_ne!(first.0, second.0);
        assert_eq!(ceiling.0, 2);
    }
    assert_eq!(generator.open_pools(), 0);
}
