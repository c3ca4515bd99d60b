//! Where time is spent, over blocks.

use abx_evidence::record::{BlockRecord, Histograms, Round, SliceRecord};
use abx_evidence::{
    ArrivalKind, ArrivalSettings, Measured, Phase, PhaseSplit, Phases, SliceTally, Timestamps,
};
use abx_verdict::{Role, judge};

use abx_fixtures::{pair, response};

/// This many requests that took 10 µs to the first byte and `body_us` for a body.
fn phases(requests: u64, body_us: u64) -> Phases {
    let mut phases = Phases::default();
    let split = PhaseSplit::of(&Timestamps {
        intended_ns: 5_000,
        connect_ns: None,
        turn_ns: 5_000,
        first_byte_ns: 15_000,
        done_ns: 15_000 + body_us * 1_000,
    });
    (0..requests).for_each(|_| phases.record(&split));
    phases
}

fn give(record: &mut Measured, block: usize, subject: &str, phases: Phases) {
    let histograms = Histograms {
        phases,
        ..Histograms::default()
    };
    let part = &mut record.blocks[block].loads[0];
    part.histograms.insert(subject.to_owned(), histograms);
}

#[test]
fn a_summary_covers_the_samples_of_all_complete_blocks() {
    // Method: three requests in a block and one in another; a third block that is incomplete;
    // and a subject without a sample.
    let mut record = pair();
    give(&mut record, 0, "old", phases(3, 20));
    give(&mut record, 1, "old", phases(1, 60));
    give(&mut record, 2, "old", phases(9, 9_000));
    record.blocks[2].complete = false;
    let record = judge(&record);
    let of = |subject: &str| {
        let summary = record
            .summaries
            .iter()
            .find(|summary| summary.subject == subject);
        summary.unwrap().phases.clone()
    };
    let old = of("old").unwrap();
    assert_eq!(old.requests, 4);
    let means = Phase::ALL.map(|phase| old.phase(phase).mean_us);
    assert_eq!(means, [0.0, 0.0, 10.0, 30.0]);
    assert_eq!(old.body.p50_us, Some(20));
    assert_eq!(of("new"), None);
}

#[test]
fn records_hold_phases_only_if_there_are_any() {
    // Method: a round trip through JSON, with and without a sample; slices keep the sums.
    let mut slice = SliceTally::default();
    let block = |slice: &SliceTally| {
        let mut block = pair().blocks.swap_remove(0);
        block.loads[0].rounds = vec![Round {
            disturbed: Vec::new(),
            slices: vec![SliceRecord::of("old", slice)],
        }];
        block
    };
    let json = |slice: &SliceTally| serde_json::to_value(block(slice)).unwrap();
    let slices = |slice: &SliceTally| json(slice)["loads"][0]["slices"].clone();
    assert!(slices(&slice).get("phases").is_none());
    assert!(
        !serde_json::to_string(&Histograms::default())
            .unwrap()
            .contains("phases")
    );
    slice.tally.times.phases = phases(2, 30);
    assert_eq!(slices(&slice)["phases"]["body_ns"][0], 60_000);
    let read: BlockRecord = serde_json::from_value(json(&slice)).unwrap();
    assert_eq!(read, block(&slice));
    let times = slice.tally.times;
    let text = serde_json::to_string(&times).unwrap();
    assert_eq!(serde_json::from_str::<Histograms>(&text).unwrap(), times);
    let mut twice = times.clone();
    twice.merge(&times);
    assert_eq!(twice.phases.sums().requests, 4);
}

#[test]
fn times_that_subjects_report_are_averaged_over_blocks_and_compared() {
    // Method: a name that both sides report in two blocks, of which each has the same weight;
    // and a name that one side reports in one block, which has no interval and no difference.
    let mut record = pair();
    let mut say = |block: usize, subject: &str, pairs: &[(&str, u64)]| {
        let mut histograms = Histograms::default();
        let times = &mut histograms.server_times;
        pairs
            .iter()
            .for_each(|(name, span_ns)| times.record(name, *span_ns));
        let part = &mut record.blocks[block].loads[0];
        part.histograms.insert(subject.to_owned(), histograms);
    };
    say(0, "old", &[("db", 1_000), ("db", 3_000), ("db", 2_000)]);
    say(1, "old", &[("db", 4_000), ("page", 500)]);
    say(0, "new", &[("db", 1_000)]);
    say(1, "new", &[("db", 3_000)]);
    let conclusions = judge(&record);
    let times: Vec<_> = conclusions
        .server_times
        .iter()
        .map(|server_time| {
            (
                &*server_time.subject,
                &*server_time.name,
                server_time.count,
                server_time.us.mean,
            )
        })
        .collect();
    let expected = [
        ("old", "db", 4, 3.0),
        ("old", "page", 1, 0.5),
        ("new", "db", 2, 2.0),
    ];
    assert_eq!(times, expected);
    let [db, page, _] = &conclusions.server_times[..] else {
        unreachable!("there are three");
    };
    assert!(db.us.low < Some(2.0) && db.us.high > Some(4.0), "{db:?}");
    assert_eq!(page.us.low, None);
    let [time_difference] = &conclusions.server_time_differences[..] else {
        panic!("{:?}", conclusions.server_time_differences);
    };
    let pair = (
        &*time_difference.subject,
        &*time_difference.baseline,
        &*time_difference.name,
    );
    assert_eq!(pair, ("new", "old", "db"));
    // It is less by 1 in each block.
    let us = time_difference.us;
    assert_eq!((us.mean, us.low, us.high), (-1.0, Some(-1.0), Some(-1.0)));
}

#[test]
fn times_that_subjects_report_are_compared_if_the_study_compares_the_subjects() {
    // Method: both report a time in two blocks. At a rate that both kept up with, only the cost of
    // responses is compared, not what the study was made for. If one gave no response in
    // another block, nothing else is compared.
    let message = |change: fn(&mut Measured)| {
        let mut record = pair();
        for (block, subject) in [(0, "old"), (0, "new"), (1, "old"), (1, "new")] {
            let mut histograms = Histograms::default();
            histograms.server_times.record("db", 1_000);
            let part = &mut record.blocks[block].loads[0];
            part.histograms.insert(subject.to_owned(), histograms);
        }
        change(&mut record);
        let conclusions = judge(&record);
        let comparisons = conclusions
            .comparisons
            .iter()
            .filter(|comparison| !comparison.load.is_empty());
        let roles: Vec<Role> = comparisons.map(|comparison| comparison.role).collect();
        (roles, conclusions.server_time_differences.len())
    };
    let (roles, differences) = message(|record| {
        record.loads[0].settings.arrivals = ArrivalSettings {
            kind: ArrivalKind::Constant,
            rate_per_s: Some(90_000.0),
            ..ArrivalSettings::default()
        };
    });
    assert!(
        !roles.is_empty() && !roles.contains(&Role::Primary),
        "{roles:?}"
    );
    assert_eq!(differences, 0);
    let (roles, differences) = message(|record| {
        for round in &mut record.blocks[4].loads[0].rounds {
            response(&mut round.slices[1], &[]);
        }
    });
    assert_eq!((&roles[..], differences), (&[Role::Primary][..], 1));
}
