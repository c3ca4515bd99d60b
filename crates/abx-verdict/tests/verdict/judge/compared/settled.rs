//! Loads that end before the others, and subjects that leave one of the loads.

use abx_evidence::record::{Contrast, FaultAction, FaultRecord, Measured, Settled, SettledReason};
use abx_evidence::{Finding, Held, Level, Outcome};
use abx_fixtures::{judged, leave_after, longer, pilot, response, study, two_loads};
use abx_model::LoadShape;
use abx_stats::stop::{Decision, Reason};
use abx_verdict::{
    Comparison, Conclusions, Metric, StopGroup, blocks_until_precise, may_stop, settled_early,
    stop_groups,
};

/// Two loads over seven blocks: `small` is precise, and `large` scatters.
fn one_of_two() -> Measured {
    let mut record = longer(two_loads());
    record.settings.blocks = None;
    for (place, block) in record.blocks.iter_mut().enumerate() {
        let factor = if place % 2 == 0 { 9 } else { 11 };
        for round in &mut block.loads[1].rounds {
            let slices = round
                .slices
                .iter_mut()
                .filter(|slice| slice.subject == "new");
            for slice in slices {
                let ok = slice.outcomes.ok() * factor / 10;
                response(slice, &[(Outcome::Ok, ok)]);
            }
        }
    }
    record
}

fn settle(record: &mut Measured, load: usize, blocks: u32) {
    record.loads[load].settled.push(Settled {
        subject: None,
        blocks,
        reason: SettledReason::Precision,
    });
}

fn decisions(record: &Measured) -> Vec<(Vec<String>, Decision)> {
    let groups = stop_groups(record).into_iter();
    groups.map(|group| (group.loads, group.decision)).collect()
}

#[test]
fn each_load_is_settled_by_its_own_blocks() {
    // Method: one of two loads is precise. Once it is left out, the other may have twice as
    // many blocks: the conclusions about the first stay, and the study continues.
    let mut record = one_of_two();
    let small = vec!["small".to_owned()];
    let large = vec!["large".to_owned()];
    let expected = [
        (small, Decision::Stop(Reason::Precise)),
        (large, Decision::Continue),
    ];
    assert_eq!(decisions(&record), expected);
    let before = judged(record.clone());
    settle(&mut record, 0, 7);
    assert_eq!(settled_early(&record).count(), 0);
    let more = record.blocks.clone().into_iter().map(|mut block| {
        block.index += 7;
        block.loads.remove(0);
        block
    });
    let more: Vec<_> = more.collect();
    record.blocks.extend(more);
    assert_eq!(decisions(&record), expected);
    assert_eq!(may_stop(&record), Decision::Continue);
    let early: Vec<&str> = settled_early(&record).map(|load| &*load.name).collect();
    assert_eq!(early, ["small"]);
    let after = judged(record.clone());
    let of = |load: &str, conclusions: &Conclusions| {
        let mut primary = conclusions.primary();
        let comparison = primary.find(|comparison| comparison.load == load).unwrap();
        (comparison.blocks, comparison.verdict, comparison.low)
    };
    assert_eq!(of("small", &before), of("small", &after));
    assert_eq!(of("large", &after).0, 14);
    // The study waits only for the open load.
    settle(&mut record, 1, 14);
    assert_eq!(blocks_until_precise(&record), None);
    assert_eq!(may_stop(&record), Decision::Stop(Reason::Precise));
}

/// Subjects over seven blocks: `same` is as fast as `old`, `far` is twice as fast with much
/// noise, and `near` differs by less than its noise.
fn four() -> Measured {
    const OK: u64 = 10_000;
    let mut record = longer(study(&[
        ("old", &[OK; 6]),
        ("same", &[9_990, 10_000, 10_010, 9_995, 10_005, 10_000]),
        ("far", &[19_000, 21_000, 19_500, 20_500, 20_000, 19_800]),
        ("near", &[9_000, 11_000, 9_500, 10_500, 10_100, 9_900]),
    ]));
    // Comparisons over a fixed number of blocks inform each other's spread.
    record.settings.blocks = None;
    record
}

fn settled_subjects(record: &Measured) -> Vec<(String, Reason)> {
    let groups = stop_groups(record);
    groups
        .iter()
        .flat_map(StopGroup::settled_subjects)
        .collect()
}

#[test]
fn a_subject_is_settled_when_each_of_its_pairs_is() {
    // Method: three subjects and a baseline; then a contrast of a settled and an open subject.
    let mut record = four();
    let settled = [
        ("far".to_owned(), Reason::Certain),
        ("same".to_owned(), Reason::Precise),
    ];
    assert_eq!(settled_subjects(&record), settled);
    record.settings.contrasts = vec![contrast("same", "old", &[]), contrast("same", "near", &[])];
    let settled = [("old".to_owned(), Reason::Precise)];
    assert_eq!(settled_subjects(&record), settled);
}

#[test]
fn a_subject_that_has_left_keeps_the_result_of_its_blocks() {
    // Method: seven blocks of all subjects, then seven without slices of a settled one.
    let mut record = four();
    let before = judged(record.clone());
    let more: Vec<_> = record.blocks.clone();
    record.blocks.extend(more.into_iter().map(|mut block| {
        block.index += 7;
        block
    }));
    leave_after(&mut record, "same", 7);
    let after = judged(record.clone());
    let of = |subject: &str, conclusions: &Conclusions| {
        let mut primary = conclusions.primary();
        let comparison = primary
            .find(|comparison| comparison.subject == subject)
            .unwrap();
        (comparison.blocks, comparison.verdict, comparison.low)
    };
    assert_eq!(of("same", &before), of("same", &after));
    assert_eq!(of("near", &after).0, 14);
    let ranking = &after.rankings[0];
    let pair = |pair: &&Comparison| {
        [&*pair.subject, &*pair.baseline].contains(&"same")
            && [&*pair.subject, &*pair.baseline].contains(&"near")
    };
    assert_eq!(ranking.pairs.iter().find(pair).unwrap().blocks, 7);
    let is_ready_time = |pair: &&Comparison| pair.metric == Metric::ReadyTime;
    let ready = after.comparisons.iter().filter(is_ready_time);
    let blocks: Vec<usize> = ready.map(|comparison| comparison.blocks).collect();
    assert!(blocks.is_empty() || blocks.contains(&7), "{blocks:?}");
    let no_void = |finding: &Finding| finding.level != Level::Void;
    assert!(after.validity.findings.iter().all(no_void));
}

fn contrast(subject: &str, baseline: &str, loads: &[&str]) -> Contrast {
    Contrast {
        subject: subject.to_owned(),
        baseline: baseline.to_owned(),
        loads: loads.iter().map(|&load| load.to_owned()).collect(),
        question: None,
    }
}

#[test]
fn a_load_needs_the_subjects_of_its_pairs() {
    // Method: four subjects under two loads and a fault, with contrasts under one load, under
    // another, and under the fault; then without any.
    let mut record = four();
    let mut large = record.loads[0].clone();
    large.name = "large".to_owned();
    record.loads.push(large);
    let needed = |record: &Measured, load: usize| -> Vec<String> {
        let names = record.subjects.iter().map(|subject| subject.name.clone());
        let is_needed = |name: &String| record.is_needed(&record.loads[load], name);
        names.filter(is_needed).collect()
    };
    assert_eq!(needed(&record, 0), ["old", "same", "far", "near"]);
    // No contrast has `near`.
    record.settings.contrasts = vec![
        contrast("same", "old", &["small"]),
        contrast("far", "old", &["large"]),
    ];
    assert_eq!(needed(&record, 0), ["old", "same", "near"]);
    assert_eq!(needed(&record, 1), ["old", "far", "near"]);
    // No contrast has the other load.
    record.settings.contrasts.pop();
    assert_eq!(needed(&record, 1), ["old", "same", "far", "near"]);
    record.settings.contrasts = vec![
        contrast("same", "old", &["small", "large"]),
        contrast("far", "old", &["small"]),
        contrast("near", "old", &["killed"]),
    ];
    assert_eq!(needed(&record, 1), ["old", "same"]);
    record.faults = vec![FaultRecord {
        name: "killed".to_owned(),
        load: "large".to_owned(),
        action: FaultAction::Restart,
        at_ns: 0,
        within_ns: 1_000_000_000,
        delayed_after_ns: 1_000_000,
        left_out: Vec::new(),
    }];
    assert_eq!(needed(&record, 1), ["old", "same", "near"]);
}

#[test]
fn a_subject_that_the_pilot_omits_has_no_figures_and_no_findings() {
    // Method: a contrast leaves out one of four subjects, and so do the pilot and the blocks.
    let mut record = four();
    record.settings.contrasts = vec![
        contrast("same", "old", &["small"]),
        contrast("near", "old", &["small"]),
        contrast("far", "old", &["large"]),
    ];
    pilot(&mut record).subjects.remove("far");
    leave_after(&mut record, "far", 0);
    record.loads[0].settled.clear();
    assert!(record.loads[0].is_omitted("far") && !record.loads[0].is_omitted("near"));
    let conclusions = judged(record);
    assert!(conclusions.validity.findings.is_empty());
    let [first, second] = &conclusions.primary().collect::<Vec<_>>()[..] else {
        panic!("{conclusions:?}");
    };
    assert_eq!([first.together, second.together], [2, 2]);
    let [ranking] = &conclusions.rankings[..] else {
        panic!("{:?}", conclusions.rankings);
    };
    let places = ranking.places.iter().map(|place| place.subject.as_str());
    assert_eq!(places.collect::<Vec<_>>(), ["old", "same", "near"]);
    let mut summaries = conclusions.summaries.iter();
    assert!(summaries.all(|summary| summary.subject != "far"));
}

/// Two loads that hold connections, over seven blocks without slices: memory is constant over
/// the blocks under `small`, and scatters under `large`.
fn holding() -> Measured {
    let mut record = one_of_two();
    for load in &mut record.loads {
        load.settings.exchange.shape = LoadShape::Connections;
    }
    for (place, block) in record.blocks.iter_mut().enumerate() {
        for (load, part) in block.loads.iter_mut().enumerate() {
            part.rounds.clear();
            for (subject, side) in &mut part.sides {
                let is_apart = load == 1 && subject == "new" && place % 2 == 0;
                side.held = Some(Held {
                    asked: 100,
                    standing: 100,
                    lost: 0,
                    open_ns: 1_000_000,
                    memory_before_bytes: Some(0),
                    memory_after_bytes: Some(if is_apart { 1_500_000 } else { 1_000_000 }),
                });
            }
        }
    }
    record
}

#[test]
fn loads_that_hold_connections_are_settled_together() {
    // Method: both loads, then only the precise one.
    let mut record = holding();
    let both = vec!["small".to_owned(), "large".to_owned()];
    assert_eq!(decisions(&record), [(both.clone(), Decision::Continue)]);
    record.loads.truncate(1);
    let precise = Decision::Stop(Reason::Precise);
    assert_eq!(decisions(&record), [(both[..1].to_vec(), precise)]);
}

#[test]
fn a_settled_load_of_idle_connections_keeps_its_verdicts() {
    // Method: seven blocks of both loads, then seven of only the second.
    let mut record = holding();
    let before = judged(record.clone());
    let more: Vec<_> = record.blocks.clone();
    record.blocks.extend(more.into_iter().map(|mut block| {
        block.index += 7;
        block.loads.remove(0);
        block
    }));
    settle(&mut record, 0, 7);
    let after = judged(record);
    let under = |conclusions: &Conclusions, load: &str| {
        let mut primary = conclusions.primary();
        let comparison = primary.find(|comparison| comparison.load == load).unwrap();
        (comparison.metric, comparison.blocks, comparison.verdict)
    };
    assert_eq!(under(&before, "small"), under(&after, "small"));
    assert_eq!(under(&after, "small").1, 7);
    assert_eq!(under(&after, "large").1, 14);
}
