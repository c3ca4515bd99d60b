//! The settings of the pilot, by subjects of a script.

use std::time::Duration;

use abx_evidence::record::PilotRecord;

use super::scripted::{Behaviour, ScriptedGenerator, study};
use crate::measure::pilot::{PilotOptions, pilot};
use crate::measure::running_subjects::Abort;
use abx_study::PilotEffort;

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
    // Method: 50 connections wait 50 ms for each response of the slower one, which is
    // half as fast in its first 2.2 s.
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
    // The first of them showed how long bins have to be: twice the 100 ms that a response takes
    // then.
    assert!(pilot.subjects["a"].settled && pilot.subjects["b"].settled);
    assert_eq!(pilot.subjects["a"].warm_up_ns, 0);
    assert_eq!(pilot.subjects["b"].warm_up_ns, 10 * 200_000_000);
    assert_eq!(pilot.warm_up_ns, 3_000_000_000);
    assert_eq!(generator.open_pools(), 0);
}

/// The pilot's result for the second of two subjects, and for how many slices it was loaded.
fn second(behaviour: Behaviour) -> (PilotRecord, Option<String>, usize) {
    let mut generator = ScriptedGenerator::new(&[Behaviour::steady(5_000.0), behaviour]);
    let pilot = piloted(&mut generator).unwrap();
    assert_eq!(generator.open_pools(), 0);
    let slices = generator
        .slices
        .iter()
        .filter(|(number, _)| *number == 1)
        .count();
    let failed = pilot.subjects["b"].failed.clone();
    (pilot, failed, slices)
}

#[test]
fn a_subject_that_fails_is_left_at_once_and_the_others_go_on() {
    // Method: the second one falls silent after three slices; or leaves 10 of its 50
    // connections without a response for 10 s; or all of its responses are wrong. What it
    // would need does not set the slices of the others.
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
fn what_costs_no_time_is_no_reason_to_leave_a_subject() {
    // Method: one request in each slice that has no response within 50 ms.
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
    let pilot_record = pilot(&mut running, &study, &plans, PilotOptions::default()).unwrap();
    assert_eq!(pilot_record.subjects["b"].failed, None);
}

#[test]
fn no_slice_begins_that_would_end_behind_the_deadline() {
    // Method: a deadline that has come.
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

/// The pilot's result for a load over 10,000 connections to three subjects, each of which takes 0.3
/// s for a response, and how long it took.
fn of_many_connections(terms: PilotOptions, first: Behaviour) -> (PilotRecord, u64) {
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
    let pilot_record = pilot(&mut generator.running(), &study, &plans, terms).unwrap();
    (pilot_record, generator.now.0)
}

#[test]
fn many_connections_cost_a_few_slices_each_and_not_one_for_each_bin() {
    // Method: slices whose edges wait for all connections, for two response times, 0.6 s.
    // Of two slices for each subject 40 bins of 200 ms are made, and 20 of a quick look.
    let steady = Behaviour::steady(10_000.0 / 0.3);
    for (effort, most_ns) in [
        (PilotEffort::Usual, 3 * 12 * SECOND),
        (PilotEffort::Quick, 3 * 7 * SECOND),
    ] {
        let terms = PilotOptions {
            effort,
            ..PilotOptions::default()
        };
        let (pilot, took_ns) = of_many_connections(terms, steady);
        assert!(took_ns < most_ns, "{effort:?}: {took_ns}");
        assert_eq!((pilot.slice_ns + 500_000) / 1_000_000, 1_500);
        for (name, pilot_subject) in &pilot.subjects {
            assert!(
                pilot_subject.settled && !pilot_subject.cut_short && pilot_subject.warm_up_ns == 0,
                "{name}"
            );
            assert_eq!(pilot_subject.switch_ns / 1_000_000, 600, "{name}");
        }
    }
}

#[test]
fn a_warm_up_over_many_connections_is_found() {
    // Method: the first one is half as fast for its first 2 s under load.
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
fn a_pilot_keeps_to_its_time_and_says_whom_it_did_not_see_settle() {
    // Method: 8 s for three subjects that would take 6 s each; 14 s, of which the first one leaves
    // enough for the others; 1 s; and none at all. A subject that has too little left is loaded for
    // a moment, and its throughput is known.
    let steady = Behaviour::steady(10_000.0 / 0.3);
    for (within_ns, cut_short) in [(8 * SECOND, 3), (14 * SECOND, 1), (SECOND, 3), (0, 3)] {
        let terms = PilotOptions {
            effort: PilotEffort::Quick,
            within_ns: Some(within_ns),
            ..PilotOptions::default()
        };
        let (pilot, took_ns) = of_many_connections(terms, steady);
        let each = pilot.subjects.values();
        assert!(
            each.clone()
                .all(|subject| subject.settled != subject.cut_short)
        );
        let count = each.clone().filter(|subject| subject.cut_short).count();
        assert_eq!(count, cut_short, "{within_ns}");
        let least_ns = 3 * 1_200_000_000;
        assert!(took_ns < within_ns.max(least_ns), "{within_ns}: {took_ns}");
        let each = each.map(|subject| subject.throughput_per_s.round());
        assert!(each.eq([33_333.0; 3]), "{within_ns}");
    }
}
