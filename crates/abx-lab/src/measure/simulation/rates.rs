//! Which rates the search finds, with scripted subjects.

use std::cell::RefCell;

use abx_engine::schedule::Arrivals;
use abx_model::LoadOptions;

use super::scripted::{Behaviour, CONNECTIONS, ScriptedGenerator};
use crate::measure::rate_search::RateSearch;
use crate::measure::running_subjects::Abort;
use crate::process::pending::Pending;
use abx_study::Load;
use abx_study::rates::{RateSpec, Spacing};

/// The rates that the search finds for two subjects of these capacities.
fn rates(capacities: [f64; 2], rate: RateSpec) -> Result<Vec<f64>, Abort> {
    let mut generator = ScriptedGenerator::new(&capacities.map(Behaviour::steady));
    let load = Load {
        options: LoadOptions {
            connections: CONNECTIONS,
            ..LoadOptions::default()
        },
        rate,
        ..Load::default()
    };
    let plans = generator.plans();
    let tried = RefCell::new(Vec::new());
    let on_pending = |pending: Pending| {
        if let Pending::Try { subject, .. } = pending {
            tried.borrow_mut().push(subject.to_owned());
        }
    };
    let mut running = generator.running();
    running.on_pending = &on_pending;
    let mut search = RateSearch::default();
    let result = search.loads(&mut running, &load, &plans);
    drop(running);
    assert_eq!(generator.open_pools(), 0);
    // Every try is reported, and a capacity for each subject.
    let tried = tried.into_inner();
    for (estimate, capacity) in search.capacities.iter().zip(&capacities) {
        let names = tried.iter();
        let tries = names.filter(|name| **name == estimate.subject).count();
        assert!((7..=11).contains(&tries), "{estimate:?}");
        assert!(
            (estimate.per_s / capacity - 1.0).abs() < 0.02,
            "{estimate:?}"
        );
    }
    assert_eq!(
        search.capacities.len(),
        if tried.is_empty() { 0 } else { 2 }
    );
    let rate = |load: &Load| match load.pacing.arrivals {
        Arrivals::Constant { per_s } => f64::from(per_s.amount()),
        _ => panic!("the request was for constant distances"),
    };
    result.map(|loads| loads.iter().map(rate).collect())
}

#[test]
fn a_share_is_one_of_the_slowest_subject() {
    // Method: a quarter, with another subject that is three times as fast.
    let quarter = RateSpec::Share {
        share: 0.25,
        spacing: Spacing::Constant,
    };
    assert_eq!(rates([6_000.0, 2_000.0], quarter).unwrap(), [500.0]);
}

#[test]
fn rates_reach_around_the_capacity_of_each_subject() {
    // Method: a subject needs 1 s for each response above its capacity, and 1 ms below it.
    let objective = RateSpec::Objective {
        objective: "p99<50ms".parse().unwrap(),
        spacing: Spacing::Constant,
    };
    let rates = rates([1_000.0, 3_000.0], objective).unwrap();
    for capacity in [1_000.0, 3_000.0] {
        let around = rates
            .iter()
            .filter(|rate| (*rate / capacity - 1.0).abs() < 0.16);
        assert!(around.count() >= 7, "{capacity} of {rates:?}");
        let has_near = rates
            .iter()
            .any(|rate| (rate / capacity - 1.0).abs() < 0.01);
        assert!(has_near, "{capacity} of {rates:?}");
    }
}

#[test]
fn a_share_of_a_subject_without_responses_is_no_rate() {
    // Method: half of a throughput of zero.
    let half = RateSpec::Share {
        share: 0.5,
        spacing: Spacing::Constant,
    };
    let abort = rates([0.0, 1_000.0], half).unwrap_err();
    assert!(matches!(abort, Abort::NoRate { .. }), "{abort}");
}
