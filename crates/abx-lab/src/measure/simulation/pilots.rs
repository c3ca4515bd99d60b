//! What the pilot sets, with scripted subjects.

use std::time::Duration;

use abx_evidence::record::PilotRecord;

use super::scripted::{Behaviour, ScriptedGenerator, study};
use crate::measure::pilot::{PilotOptions, pilot};
use crate::measure::running_subjects::Abort;
use abx_study::PilotEffort;

/// Runs the pilot of all of the generator's subjects.
fn piloted(generator: &mut ScriptedGenerator) -> Result<PilotRecord, Abort> {
    let plans = generator.plans();
    let study = study(None);
    pilot(
        &mut generator.running(),
        &study,
        &plans,
        PilotOptions::default(),
    )
}

#[test]
fn the_slowest_subject_sets_the_slices_of_all() {
    // Method: 50 connections wait 50 ms for each response of the slower subject, which is half as
    // fast in its first 2.2 s.
    let slow = Behaviour {
        cold_ns: 2_200_000_000,
        ..Behaviour::steady(1_000.0)
    };
    let mut generator = ScriptedGenerator::new(&[Behaviour::steady(5_000.0), slow]);
    let pilot = piloted(&mut generator).unwrap();
    assert_eq!(pilot.slice_ns, 250_000_000);
    assert!(pilot.slice_reason.unwrap().contains("b takes 50 ms"));
    assert_eq!(pilot.rounds, 6);
    // Two response times at the beginning of each slice do not count.
    assert_eq!(pilot.discard_ns, 100_000_000);
    let throughput = ["a", "b"].map(|name| pilot.subjects[name].throughput_per_s.round());
    assert_eq!(throughput, [5_000.0, 1_000.0]);
    // Its first slice showed how long bins have to be: twice the 100 ms that a response takes at
    // first.
    assert!(pilot.subjects["a"].settled && pilot.subjects["b"].settled);
    assert_eq!(pilot.subjects["a"].warm_up_ns, 0);
    assert_eq!(pilot.subjects["b"].warm_up_ns, 10 * 200_000_000);
    assert_eq!(pilot.warm_up_ns, 3_000_000_000);
    assert_eq!(generator.open_pools(), 0);
}

/// The pilot of a steady subject and this one, how the latter failed, and its number of slices.
fn second(behaviour: Behaviour) -> (PilotRecord, Option<String>, usize) {
    let mut generator = ScriptedGenerator::new(&[Behaviour::steady(5_000.0), behaviour]);
    let pilot = piloted(&mut generator).unwrap();
    assert_eq!(generator.open_pools(), 0);
    let slices = generator
        .slices
        .iter()
        .filter(|(subject, _)| *subject == 1)
        .count();
    let failed = pilot.subjects["b"].failed.clone();
    (pilot, failed, slices)
}

#[test]
fn a_subject_that_fails_is_left_at_once_and_the_others_continue() {
    // Method: the second subject falls silent after three slices, or leaves 10 of its 50
    // connections without a response for 10 s, or gives only wrong responses. It does not set the
    // slices of the others.
    let steady = Behaviour::steady(1_000.0);
    let silent = Behaviour {
        silent_after: 3,
        ..steady
    };
    let mute = Behaviour {
        mute: (3, 10),
        ..steady
    };
    let wrong = Behaviour {
        wrong_after: 0,
        ..steady
    };
    for (behaviour, how, loaded) in [
        (
            silent,
            "stopped responding under load without a correct response (other outcomes: timeout 1)",
            4,
        ),
        (
            mute,
            "responded on 40 of 50 connections (10 requests had no response within 10 s)",
            4,
        ),
        (
            wrong,
            "gave no correct responses to 7025 requests under load (other outcomes: \
             wrong_status 7025)",
            2,
        ),
    ] {
        let (pilot, failed, slices) = second(behaviour);
        assert_eq!(failed.as_deref(), Some(how));
        assert_eq!(slices, loaded, "{how}");
        assert_eq!(pilot.slice_ns, 100_000_000, "{how}");
        assert_eq!(pilot.subjects["a"].failed, None);
    }
}

#[test]
fn short_timeouts_are_no_reason_to_leave_a_subject() {
    // Method: in each slice, one request has no response within 50 ms.
    let hasty = Behaviour {
        mute: (0, 1),
        ..Behaviour::steady(1_000.0)
    };
    let mut generator = ScriptedGenerator::new(&[Behaviour::steady(5_000.0), hasty]);
    let mut plans = generator.plans();
    plans
        .iter_mut()
        .for_each(|plan| plan.timeout = Duration::from_nanos(50_000_000));
    let study = study(None);
    let mut running = generator.running();
    let record = pilot(&mut running, &study, &plans, PilotOptions::default()).unwrap();
    assert_eq!(record.subjects["b"].failed, None);
}

#[test]
fn no_slice_begins_that_would_end_after_the_deadline() {
    // Method: a deadline that has passed.
    let mut generator = ScriptedGenerator::new(&[1_000.0, 5_000.0].map(Behaviour::steady));
    let plans = generator.plans();
    let study = study(None);
    let mut running = generator.running();
    running.deadline = Some(abx_sys::Nanos(0));
    let ended = pilot(&mut running, &study, &plans, PilotOptions::default());
    assert!(matches!(ended, Err(Abort::Budget)));
    assert_eq!(generator.slices, []);
    assert_eq!(generator.open_pools(), 0);
}

const SECOND: u64 = 1_000_000_000;

/// The pilot of a load over 10,000 connections to three subjects, two of which take 0.3 s for a
/// response, and how long the pilot took in ns.
fn of_many_connections(options: PilotOptions, first: Behaviour) -> (PilotRecord, u64) {
    let slow = Behaviour {
        has_edges: true,
        ..Behaviour::steady(10_000.0 / 0.3)
    };
    let first = Behaviour {
        has_edges: true,
        ..first
    };
    let mut generator = ScriptedGenerator::new(&[first, slow, slow]);
    let mut plans = generator.plans();
    plans.iter_mut().for_each(|plan| plan.connections = 10_000);
    let study = study(None);
    let record = pilot(&mut generator.running(), &study, &plans, options).unwrap();
    (record, generator.now.0)
}

#[test]
fn many_connections_cost_a_few_slices_per_subject_and_not_one_per_bin() {
    // Method: slices whose edges wait two response times, 0.6 s, for all connections. Two slices
    // per subject give 40 bins of 200 ms, or 20 bins in a quick pilot.
    let steady = Behaviour::steady(10_000.0 / 0.3);
    for (effort, most_ns) in [
        (PilotEffort::Usual, 3 * 12 * SECOND),
        (PilotEffort::Quick, 3 * 7 * SECOND),
    ] {
        let options = PilotOptions {
            effort,
            ..PilotOptions::default()
        };
        let (pilot, took_ns) = of_many_connections(options, steady);
        assert!(took_ns < most_ns, "{effort:?}: {took_ns}");
        assert_eq!((pilot.slice_ns + 500_000) / 1_000_000, 1_500);
        for (name, subject) in &pilot.subjects {
            assert!(subject.settled && !subject.cut_short, "{name}");
            assert_eq!(subject.warm_up_ns, 0, "{name}");
            assert_eq!(subject.switch_ns / 1_000_000, 600, "{name}");
        }
    }
}

#[test]
fn a_warm_up_over_many_connections_is_found() {
    // Method: the first subject is half as fast for its first 2 s under load.
    let cold = Behaviour {
        cold_ns: 2 * SECOND,
        ..Behaviour::steady(10_000.0 / 0.3)
    };
    let (pilot, _) = of_many_connections(PilotOptions::default(), cold);
    let warm_up_ns = pilot.subjects["a"].warm_up_ns;
    assert!(pilot.subjects["a"].settled);
    assert!((SECOND..3 * SECOND).contains(&warm_up_ns), "{warm_up_ns}");
    assert_eq!(pilot.subjects["b"].warm_up_ns, 0);
}

#[test]
fn a_pilot_keeps_to_its_time_and_reports_which_subjects_it_cut_short() {
    // Method: 8 s for three subjects that would take 6 s each; 14 s, of which the first subject
    // leaves enough for the others; 1 s; and 0 s. A subject that has too little time left is loaded
    // for a moment, and its throughput is known.
    let steady = Behaviour::steady(10_000.0 / 0.3);
    for (within_ns, cut_short) in [(8 * SECOND, 3), (14 * SECOND, 1), (SECOND, 3), (0, 3)] {
        let options = PilotOptions {
            effort: PilotEffort::Quick,
            within_ns: Some(within_ns),
            ..PilotOptions::default()
        };
        let (pilot, took_ns) = of_many_connections(options, steady);
        for subject in pilot.subjects.values() {
            assert_ne!(subject.settled, subject.cut_short, "{within_ns}");
            assert_eq!(subject.throughput_per_s.round(), 33_333.0, "{within_ns}");
        }
        let subjects = pilot.subjects.values();
        let count = subjects.filter(|subject| subject.cut_short).count();
        assert_eq!(pilot.subjects.len(), 3);
        assert_eq!(count, cut_short, "{within_ns}");
        let least_ns = 3 * 1_200_000_000;
        assert!(took_ns < within_ns.max(least_ns), "{within_ns}: {took_ns}");
    }
}
