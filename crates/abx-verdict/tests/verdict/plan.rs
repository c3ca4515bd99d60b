//! What a planned study can detect, estimated from earlier studies.

use abx_evidence::Measured;
use abx_evidence::record::Machine;
use abx_fixtures::{OK, pair, run, study};
use abx_stats::Margin;
use abx_verdict::history::OutlineSubject;
use abx_verdict::plan::{PastStudy, PlannedStudy, SpreadSource, StudyPlan};
use abx_verdict::{Fingerprint, StudyRecord};

/// An earlier study, as read from its file.
fn past(measured: Measured, is_of_doctor: bool) -> Option<PastStudy> {
    let json = serde_json::to_string(&StudyRecord::judged(measured)).expect("records are JSON");
    PastStudy::read(&json, is_of_doctor).expect("it is a record")
}

/// A study of these subjects in two minutes, started as in the fixtures.
fn planned(names: &[&str]) -> PlannedStudy {
    let subject = |name: &&str| OutlineSubject {
        name: (*name).to_owned(),
        version: None,
        command: vec![(*name).to_owned()],
        address: None,
    };
    PlannedStudy {
        subjects: names.iter().map(subject).collect(),
        loads: 1,
        together: names.len() - 1,
        budget_s: 120.0,
        blocks: None,
        margin: Margin::DEFAULT,
        why_share: 0.0,
        has_limits: false,
        machine: Fingerprint::of_machine(&Machine::default(), 0),
    }
}

#[test]
fn the_spread_comes_from_the_same_subjects_else_from_others_else_from_the_doctor() {
    // Method: one study of each source, with spreads of 1, 4 and 9 %. The best source is
    // removed step by step; finally, all studies are from another machine.
    let scattered = |name: &str, apart: u64| {
        let blocks = [OK, OK + apart, OK, OK + apart, OK, OK + apart];
        study(&[("old", &[OK; 6]), (name, &blocks)])
    };
    let same = past(scattered("new", 90), false).unwrap();
    let other = past(scattered("x", 360), false).unwrap();
    let doctor = past(scattered("y", 810), true).unwrap();
    let past_studies = [doctor, other, same];
    let sources = [
        (3, Some(SpreadSource::SameSubjects), 0.0054),
        (2, Some(SpreadSource::OtherSubjects), 0.0215),
        (1, Some(SpreadSource::Doctor), 0.0472),
        (0, None, 0.0),
    ];
    for (count, source, spread) in sources {
        let plan = StudyPlan::of(planned(&["old", "new"]), &past_studies[..count]);
        assert_eq!(plan.known.map(|known| known.source), source);
        let known_spread = plan.known.map_or(0.0, |known| known.spread);
        assert!(
            (known_spread - spread).abs() < 2e-4,
            "{source:?}: {known_spread}"
        );
    }
    let elsewhere = PlannedStudy {
        machine: Fingerprint::of_machine(
            &Machine {
                cpus: 99,
                ..Machine::default()
            },
            0,
        ),
        ..planned(&["old", "new"])
    };
    assert_eq!(StudyPlan::of(elsewhere, &past_studies).known, None);
}

#[test]
fn as_many_blocks_are_planned_as_fit_the_budget() {
    // Method: an earlier study of two subjects took 38.2 s for six blocks, 3.18 s per
    // subject. Two and four subjects in two minutes, a fixed number of blocks, and a budget
    // too short for a verdict.
    let past_studies = [past(pair(), false).unwrap()];
    let blocks = |study: PlannedStudy| StudyPlan::of(study, &past_studies).blocks_most;
    assert_eq!(blocks(planned(&["old", "new"])), 18);
    assert_eq!(blocks(planned(&["old", "new", "c", "d"])), 9);
    // The study ends before its budget does, unless its blocks scatter.
    let plan = StudyPlan::of(planned(&["old", "new"]), &past_studies);
    assert_eq!(
        [0.001, 0.02, 0.05].map(|spread| plan.blocks(spread)),
        [7, 12, 18]
    );
    let fixed = PlannedStudy {
        blocks: Some(30),
        ..planned(&["old", "new"])
    };
    assert_eq!(blocks(fixed), 30);
    let short = PlannedStudy {
        budget_s: 20.0,
        ..planned(&["old", "new"])
    };
    let short = StudyPlan::of(short, &past_studies);
    assert_eq!((short.blocks(0.02), short.detectable(0.02)), (3, None));
    // Sampling for `why` leaves time for fewer blocks.
    let why = PlannedStudy {
        why_share: 0.25,
        ..planned(&["old", "new"])
    };
    let most = StudyPlan::of(why, &past_studies).blocks_most as f64;
    assert_eq!(most, f64::floor(120.0 / (1.25 * 38.2 / 6.0)));
    // A fixed number of blocks needs six for a verdict; otherwise seven are needed.
    let has_verdict = |blocks, budget_s| {
        let study = PlannedStudy {
            blocks,
            budget_s,
            ..planned(&["old", "new"])
        };
        StudyPlan::of(study, &past_studies)
            .detectable(0.02)
            .is_some()
    };
    assert_eq!(
        [
            has_verdict(Some(6), 120.0),
            has_verdict(None, 6.5 * 38.2 / 6.0)
        ],
        [true, false]
    );
}

#[test]
fn more_comparisons_together_detect_only_larger_differences() {
    // Method: one and five comparisons over the same number of blocks.
    let detectable = |together| {
        let study = PlannedStudy {
            blocks: Some(9),
            together,
            ..planned(&["old", "new"])
        };
        StudyPlan::of(study, &[]).detectable(0.021).unwrap()
    };
    assert!((detectable(1) - 0.0253).abs() < 5e-4, "{}", detectable(1));
    assert!((detectable(5) - 0.0328).abs() < 5e-4, "{}", detectable(5));
}

#[test]
fn records_without_a_comparison_inform_no_plan() {
    // Method: a run, a study of one block, and JSON that is no record.
    let run = serde_json::to_string(&StudyRecord::judged(run())).unwrap();
    assert_eq!(PastStudy::read(&run, false).unwrap(), None);
    assert_eq!(past(study(&[("old", &[OK]), ("new", &[OK])]), false), None);
    assert!(PastStudy::read("{}", false).is_err());
}
