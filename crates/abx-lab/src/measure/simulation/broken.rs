//! How long a study of a broken subject takes, with scripted subjects in virtual time.

use abx_sys::Nanos;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::scripted::{Behaviour, ScriptedGenerator, study};
use crate::measure::block::SubjectRun;
use crate::measure::pilot::{PilotOptions, pilot};
use crate::measure::planned_load::SubjectPlans;
use crate::measure::running_subjects::{Abort, Cache};

const SECOND: u64 = 1_000_000_000;
/// The timeout of scripted plans.
const TIMEOUT: Nanos = Nanos(10 * SECOND);

const STEADY: Behaviour = Behaviour::steady(1_000.0);

/// Subjects that break from this slice on: one that falls silent, two that leave some connections
/// without a response, and one that sends wrong responses.
fn broken_from(slice: usize) -> [Behaviour; 4] {
    [
        Behaviour {
            silent_after: slice,
            ..STEADY
        },
        Behaviour {
            mute: (slice, 1),
            ..STEADY
        },
        Behaviour {
            mute: (slice, 49),
            ..STEADY
        },
        Behaviour {
            wrong_after: slice,
            ..STEADY
        },
    ]
}

/// Runs the pilot and one block; returns the result, and when they ended.
fn study_of(broken: Behaviour, deadline: Option<Nanos>) -> (Result<(), Abort>, Nanos) {
    let mut generator = ScriptedGenerator::new(&[STEADY, broken]);
    let plans = generator.plans();
    let study = study(None);
    let mut running = generator.running();
    running.deadline = deadline;
    let result = pilot(&mut running, &study, &plans, PilotOptions::default());
    let ended = result.and_then(|pilot| {
        let planned = SubjectPlans {
            verified: plans.iter().map(|_| Vec::new()).collect(),
            plans,
            bodies_compared: true,
            cache: Cache::Left,
            ceiling: None,
        };
        let failed = pilot.subjects["b"].failed.as_ref().map(|_| 1);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let run = SubjectRun::new("one", &mut running, &planned, &pilot, &mut random);
        let mut run = run.without(failed.into_iter().collect());
        let ended = run.measure(|_| {});
        let slices = run.result.rounds.iter().flat_map(|round| &round.slices);
        let count = slices.filter(|slice| slice.subject == "a").count();
        let rounds = pilot.rounds as usize;
        assert!(ended.is_err() || count == rounds, "{count} of {rounds}");
        ended
    });
    (ended, generator.now)
}

/// Runs a study for each number, all at once: studies rest in real time.
fn at_once(numbers: impl Iterator<Item = u64>, study: impl Fn(u64) + Sync) {
    let study = &study;
    std::thread::scope(|scope| {
        for number in numbers {
            scope.spawn(move || study(number));
        }
    });
}

#[test]
fn a_broken_subject_costs_less_than_a_minute_and_the_other_is_measured() {
    // Method: each way to break, from every eighth of the first 80 slices on, which are slices of
    // the pilot and of the block.
    at_once((0..80).step_by(8), |slice| {
        for broken in broken_from(slice as usize) {
            let (ended, now) = study_of(broken, None);
            ended.unwrap();
            assert!(now < Nanos(45 * SECOND), "{broken:?}: {now:?}");
        }
    });
}

#[test]
fn the_budget_bounds_pilot_and_blocks_by_a_timeout_at_most() {
    // Method: a deadline at every other second, in the pilot and in the block, with a subject that
    // breaks in either. A slice that has begun may end after the deadline.
    at_once((0..30).step_by(2), |second| {
        let deadline = Nanos(second * SECOND);
        for broken in [10, 50].map(broken_from).concat() {
            let (ended, now) = study_of(broken, Some(deadline));
            let is_cut = matches!(ended, Err(Abort::Budget));
            assert!(is_cut || ended.is_ok(), "{ended:?}");
            assert!(now <= deadline.plus(TIMEOUT), "{broken:?}: {now:?}");
        }
    });
}
