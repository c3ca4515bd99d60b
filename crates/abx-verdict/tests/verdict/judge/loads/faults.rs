//! Faults: their cost, how fast subjects recover, and when the recovery is unknown.

use abx_evidence::record::{FaultAction, FaultRecord, FaultSlice, LeftOut, StruckProcess, Whom};
use abx_evidence::{ArrivalKind, ArrivalSettings, FindingId, Level, Measured, Timeline};
use abx_fixtures::{MS, OK, assert_close, find, judged, study};
use abx_verdict::{
    Comparison, Conclusions, FaultSummary, Metric, Role, StudyRecord, Verdict, fault_course,
};

const BUCKET_NS: u64 = 10 * MS;
const WITHIN_NS: u64 = 6_000 * MS;
const STRUCK_NS: u64 = 1_000 * MS;
/// The time between two requests of 500/s.
const INTERVAL_NS: u64 = 2 * MS;

/// Seven blocks of two subjects under 500/s, in each of which a subject is down for this long
/// after a crash.
fn crashes(down_ms: [[u64; 7]; 2]) -> Measured {
    let names = ["old", "new"];
    let mut record = study(&[("old", &[OK; 7]), ("new", &[OK; 7])]);
    record.settings.blocks = Some(7);
    record.loads[0].settings.arrivals = ArrivalSettings {
        kind: ArrivalKind::Constant,
        rate_per_s: Some(500.0),
        connections_rest: false,
        text: String::new(),
    };
    record.faults = vec![FaultRecord {
        name: "crash".to_owned(),
        load: "small".to_owned(),
        action: FaultAction::Signal {
            signal: "SEGV".to_owned(),
            whom: Whom::Worker,
        },
        at_ns: STRUCK_NS,
        within_ns: WITHIN_NS,
        delayed_after_ns: 100 * MS,
        left_out: Vec::new(),
    }];
    for (place, block) in record.blocks.iter_mut().enumerate() {
        let crashes = names.iter().zip(down_ms);
        block.faults = crashes
            .map(|(name, down_ms)| crash(name, down_ms[place]))
            .collect();
    }
    record
}

/// A crash after which all requests due within `down_ms` fail.
fn crash(subject: &str, down_ms: u64) -> FaultSlice {
    let buckets = (WITHIN_NS / BUCKET_NS) as usize;
    let first = (STRUCK_NS / BUCKET_NS) as usize;
    let down = (down_ms * MS / BUCKET_NS) as usize;
    let due_per_bucket = (BUCKET_NS / INTERVAL_NS) as u32;
    let mut failed = vec![0; buckets];
    failed[first..first + down].fill(due_per_bucket);
    FaultSlice {
        fault: "crash".to_owned(),
        subject: subject.to_owned(),
        struck_ns: Some(STRUCK_NS),
        struck: vec![StruckProcess {
            process_id: 7,
            name: "worker".to_owned(),
        }],
        processes_before: 2,
        processes_after: 2,
        timeline: Timeline {
            bucket_ns: BUCKET_NS,
            due: vec![due_per_bucket; buckets],
            failed,
            delayed: vec![0; buckets],
            last_disturbed_ns: (down > 0).then_some(STRUCK_NS + down_ms * MS - INTERVAL_NS),
        },
        end: "when told".to_owned(),
    }
}

fn summary<'a>(conclusions: &'a Conclusions, subject: &str) -> &'a FaultSummary {
    let mut fault_summaries = conclusions.faults.iter();
    let fault_summary = fault_summaries.find(|fault_summary| fault_summary.subject == subject);
    fault_summary.expect("one for each subject")
}

fn has_recovery(conclusions: &Conclusions) -> bool {
    conclusions
        .comparisons
        .iter()
        .any(|comparison| comparison.metric == Metric::Recovery)
}

#[test]
fn recoveries_are_ratios_and_losses_differences() {
    // Method: the old subject is down for 100 ms to 160 ms, and the new one three times as long
    // up to one interval. All requests due meanwhile are lost.
    let old = [100, 110, 120, 130, 140, 150, 160];
    let conclusions = judged(crashes([old, old.map(|down| 3 * down)]));
    let mut recoveries = conclusions
        .comparisons
        .iter()
        .filter(|comparison| comparison.metric == Metric::Recovery);
    let comparison = recoveries.next().unwrap();
    assert!(recoveries.next().is_none());
    let logs = old.map(|down| ((3 * down - 2) as f64 / (down - 2) as f64).ln());
    let expected = (logs.iter().sum::<f64>() / 7.0).exp();
    assert_close(comparison.ratio.unwrap(), expected);
    assert_eq!(
        (comparison.verdict, comparison.at_least),
        (Verdict::Slower, false)
    );
    assert!(comparison.findings.is_empty(), "{comparison:?}");
    assert_eq!(
        (comparison.role, comparison.load.as_str(), comparison.blocks),
        (Role::Primary, "crash", 7)
    );
    let [lost] = &conclusions.lost_to_faults[..] else {
        panic!("one pair");
    };
    // 50 to 80 requests compared with three times as many.
    assert_close(lost.requests.mean, 130.0);
    assert_eq!((lost.verdict, lost.blocks), (Verdict::More, 7));
    // By hand: the differences are 100, 110, ..., 160 with a spread of 21.602.
    let half = lost.requests.high.unwrap() - 130.0;
    assert!(
        (half / (21.602_469 / 7.0_f64.sqrt()) - 2.829).abs() < 0.01,
        "{half}"
    );
    let old = summary(&conclusions, "old");
    assert_eq!(
        (old.times, old.recovered, old.back, old.unfelt),
        (7, 7, 7, 0)
    );
    assert_close(old.lost.unwrap().mean, 65.0);
    // The requests due from 100 ms before the crash on: 5.1 s of 500/s.
    assert_close(old.due.unwrap(), 2_550.0);
    // The load itself has no claim: both kept up, and too few requests have times. Recoveries
    // and losses may each be wrong.
    assert_eq!(conclusions.families.count, 2);
}

#[test]
fn the_subject_that_certainly_loses_less_is_named() {
    // Method: the old subject is down three times as long, and sometimes as long; the former
    // also in four blocks, which are too few.
    let down = [100, 110, 120, 130, 140, 150, 160];
    let lost = |down: [[u64; 7]; 2]| judged(crashes(down)).lost_to_faults[0].clone();
    let less = lost([down.map(|down| 3 * down), down]);
    assert_close(less.requests.mean, -130.0);
    assert_eq!(less.verdict, Verdict::Less);
    let open = lost([down, [160, 100, 150, 110, 140, 120, 130]]);
    assert!(open.requests.low < Some(0.0) && open.requests.high > Some(0.0));
    assert_eq!(open.verdict, Verdict::Inconclusive);
    assert!(!open.too_few_blocks && !less.too_few_blocks);
    let mut short = crashes([down.map(|down| 3 * down), down]);
    short.blocks.truncate(4);
    let short = judged(short).lost_to_faults[0].clone();
    let open = Verdict::Inconclusive;
    assert_eq!((short.verdict, short.too_few_blocks), (open, true));
}

#[test]
fn an_unseen_recovery_has_no_ratio() {
    // Method: the new subject is down to the end of one slice, so only its losses are compared.
    let conclusions = judged(crashes([[100; 7], [300, 300, 300, 5_000, 300, 300, 300]]));
    assert!(!has_recovery(&conclusions));
    let new = summary(&conclusions, "new");
    assert_eq!((new.recovered, new.recovery_s), (6, None));
    let finding = find(&conclusions.validity.findings, FindingId::NotRecovered).unwrap();
    assert_eq!(
        finding.message,
        "in 1 of 7 blocks new had not recovered 5 s after crash, so its recovery is not compared"
    );
    assert_eq!(finding.level, Level::Note);
    // A subject that is back only in the last tenth does not count as recovered.
    let late = judged(crashes([[100; 7], [4_600; 7]]));
    assert_eq!(summary(&late, "new").recovered, 0);
    let early = judged(crashes([[100; 7], [4_400; 7]]));
    assert_eq!(summary(&early, "new").recovered, 7);
}

fn recovery(conclusions: &Conclusions) -> &Comparison {
    let mut comparisons = conclusions.comparisons.iter();
    let comparison = comparisons.find(|comparison| comparison.metric == Metric::Recovery);
    comparison.expect("a comparison of recoveries")
}

#[test]
fn a_subject_that_loses_nothing_recovers_within_an_interval() {
    // Method: one subject is never down, so its recovery takes at most an interval and the ratio
    // is a bound; neither is down, so nothing can be compared; and the slower subject was down
    // in six blocks of seven.
    let conclusions = judged(crashes([[0; 7], [300; 7]]));
    assert_close(summary(&conclusions, "old").recovery_s.unwrap(), 0.002);
    assert_eq!(summary(&conclusions, "old").unfelt, 7);
    assert!(find(&conclusions.validity.findings, FindingId::FaultUnfelt).is_some());
    let ratio = recovery(&conclusions);
    assert_close(ratio.ratio.unwrap(), 149.0);
    assert_eq!((ratio.verdict, ratio.at_least), (Verdict::Slower, true));
    let same = judged(crashes([[0; 7]; 2]));
    assert!(!has_recovery(&same));
    assert_eq!(same.lost_to_faults[0].verdict, Verdict::Inconclusive);
    let once = judged(crashes([[50; 7], [300, 300, 300, 0, 300, 300, 300]]));
    let void = recovery(&once);
    assert_eq!(void.verdict, Verdict::Invalid);
    let why = void
        .limits(&once.validity)
        .find(|finding| finding.level == Level::Void);
    let why = &why.expect("a reason").message;
    assert!(
        why.starts_with("new had recovered before the next request in 1 of 7 blocks"),
        "{why}"
    );
}

#[test]
fn limits_of_a_fault_are_named() {
    // Method: each limit alone: left out, not struck, not brought back, and disturbed long
    // before the fault.
    let report = |change: &dyn Fn(&mut Measured)| {
        let mut record = crashes([[100; 7], [300; 7]]);
        change(&mut record);
        let conclusions = judged(record);
        let ids = [
            FindingId::FaultLeftOut,
            FindingId::FaultMissed,
            FindingId::NotBroughtBack,
            FindingId::DisturbedBeforeFault,
        ];
        let ids = ids.map(|id| find(&conclusions.validity.findings, id).is_some());
        (ids, has_recovery(&conclusions))
    };
    let each_new = |record: &mut Measured, change: &dyn Fn(&mut FaultSlice)| {
        let slices = record.blocks.iter_mut().flat_map(|block| &mut block.faults);
        slices
            .filter(|fault_slice| fault_slice.subject == "new")
            .for_each(change);
    };
    assert_eq!(report(&|_| {}), ([false; 4], true));
    let left_out = |record: &mut Measured| {
        record.faults[0].left_out.push(LeftOut {
            subject: "new".to_owned(),
            why: "has no worker processes".to_owned(),
            failed: false,
        });
        record.blocks.iter_mut().for_each(|block| {
            block
                .faults
                .retain(|fault_slice| fault_slice.subject == "old")
        });
    };
    assert_eq!(report(&left_out), ([true, false, false, false], false));
    // A fault that did not take place has no mean.
    let mut record = crashes([[100; 7], [300; 7]]);
    left_out(&mut record);
    let conclusions = judged(record);
    let none = summary(&conclusions, "new");
    assert_eq!((none.times, none.recovered), (0, 0));
    assert_eq!(
        (none.lost, none.delayed, none.recovery_s),
        (None, None, None)
    );
    let missed =
        |record: &mut Measured| each_new(record, &|fault_slice| fault_slice.struck_ns = None);
    assert_eq!(report(&missed), ([false, true, false, false], false));
    let gone =
        |record: &mut Measured| each_new(record, &|fault_slice| fault_slice.processes_after = 1);
    assert_eq!(report(&gone), ([false, false, true, false], true));
    let headless = |record: &mut Measured| {
        record.faults[0].action = FaultAction::Signal {
            signal: "KILL".to_owned(),
            whom: Whom::Supervisor,
        };
        gone(record);
    };
    // A supervisor that stays away is another finding.
    assert_eq!(report(&headless), ([false; 4], true));
    let before = |record: &mut Measured| {
        each_new(record, &|fault_slice| fault_slice.timeline.delayed[50] = 1)
    };
    assert_eq!(report(&before), ([false, false, false, true], true));
    // Requests due just before the fault belong to it.
    let just = |record: &mut Measured| {
        each_new(record, &|fault_slice| fault_slice.timeline.delayed[95] = 1)
    };
    assert_eq!(report(&just), ([false; 4], true));
}

#[test]
fn a_course_is_the_median_over_blocks_from_the_fault_on() {
    // Method: down for 300 ms in four of seven blocks and for 1 s in the others.
    let record = crashes([[100; 7], [300, 1_000, 300, 1_000, 300, 1_000, 300]]);
    let course = fault_course(&record, &record.faults[0], "new", 100 * MS);
    let at = |ms: i64| {
        course
            .iter()
            .find(|fault_moment| fault_moment.since_ns == ms * MS as i64)
            .unwrap()
    };
    assert_eq!(course.first().unwrap().since_ns, -1_000 * MS as i64);
    assert_eq!(course.len(), 60);
    for (ms, in_time, failed) in [
        (-100, 1.0, 0.0),
        (0, 0.0, 1.0),
        (200, 0.0, 1.0),
        (300, 1.0, 0.0),
    ] {
        assert_eq!((at(ms).in_time, at(ms).failed), (in_time, failed), "{ms}");
    }
}

#[test]
fn a_record_with_faults_survives_json() {
    // Method: a round trip through JSON; without faults, the key is absent.
    let record = StudyRecord::judged(crashes([[100; 7], [300; 7]]));
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(
        serde_json::from_str::<StudyRecord>(&text).unwrap().measured,
        record.measured
    );
    let plain = StudyRecord::judged(study(&[("old", &[OK; 2]), ("new", &[OK; 2])]));
    assert!(!serde_json::to_string(&plain).unwrap().contains("fault"));
}
