//! A subject beside one of an older record.

use abx_evidence::record::{Machine, StudyEnd};
use abx_evidence::{ArrivalKind, ArrivalSettings, FindingId, Level, Measured, Outcome};
use abx_stats::stop::{Decision, Reason};
use abx_verdict::{
    Conclusions, PastBaselineError, PastSubject, Status, StudyRecord, Unpaired, Verdict, judge,
    may_stop, past_baseline,
};

use abx_fixtures::{
    MS, OK, all_slices, assert_close, each_slice, find, judged, limits, longer, pair, responded,
    response, study, with_ceiling,
};

/// Six blocks of about 1.1 times the usual responses.
pub(crate) const TENTH_MORE: [u64; 6] = [9_900, 9_910, 9_890, 9_900, 9_905, 9_895];

pub(crate) fn past<'a>(study: &'a Measured, name: Option<&'a str>) -> PastSubject<'a> {
    PastSubject {
        record: "old.json",
        study,
        name,
    }
}

/// One subject measured now.
pub(crate) fn alone(responses: &[u64]) -> Measured {
    let mut record = study(&[("fresh", responses)]);
    record.started_unix_ms += 3 * 24 * 3_600_000;
    record
}

/// The same with the subject `old` of another study.
pub(crate) fn with_past(mut now: Measured, then: &Measured) -> Measured {
    let old = past_baseline(&now, past(then, Some("old")));
    now.past_baseline = Some(old.expect("they can be compared"));
    now
}

/// What is concluded of them, with the same ceiling now and then.
pub(crate) fn beside(now: Measured, then: &Measured) -> Conclusions {
    judge(&with_ceilings(now, then))
}

fn with_ceilings(now: Measured, then: &Measured) -> Measured {
    let then = with_ceiling(then.clone(), 1.0);
    with_past(with_ceiling(now, 1.0), &then)
}

pub(crate) fn compared(record: &Conclusions) -> &Unpaired {
    let unpaireds = &record.past_comparisons;
    assert_eq!(unpaireds.len(), 1);
    &unpaireds[0]
}

pub(crate) fn refused(now: &Measured, then: &Measured, name: Option<&str>) -> String {
    let refused = past_baseline(now, past(then, name)).expect_err("it is refused");
    refused.to_string()
}

#[test]
fn a_subject_is_compared_with_one_of_an_older_record() {
    // Method: a tenth more responses than `old` had, three days later. The
    // interval must be as Welch's, and the finding says what it lacks.
    let record = beside(alone(&TENTH_MORE), &pair());
    let this_unpaired = compared(&record);
    let logs = TENTH_MORE.map(|responses| (responses as f64 / OK as f64).ln());
    assert_close(
        this_unpaired.ratio.unwrap().ln(),
        logs.iter().sum::<f64>() / 6.0,
    );
    assert_eq!(this_unpaired.verdict, Verdict::Faster);
    assert_eq!((this_unpaired.blocks, this_unpaired.blocks_then), (6, 6));
    assert_eq!(
        (
            this_unpaired.subject.as_str(),
            this_unpaired.baseline.as_str()
        ),
        ("fresh", "old")
    );
    // All of the spread is of now, so its five degrees are all there are.
    assert_close(this_unpaired.degrees.unwrap(), 5.0);
    assert!(!this_unpaired.at_least && this_unpaired.confidence == 0.95);
    let unpaired = find(&record.validity.findings, FindingId::Unpaired).unwrap();
    assert_eq!(unpaired.level, Level::Note);
    assert!(
        unpaired.message.contains("3 days after old"),
        "{unpaired:?}"
    );
    assert_eq!(record.validity.status, Status::Valid);
    assert!(record.comparisons.is_empty());
    let reference = this_unpaired.reference.as_ref().unwrap();
    assert_eq!((&reference.subject, reference.moved), (&None, 1.0));
    assert_eq!((this_unpaired.together, this_unpaired.fragile), (1, false));
    let ranks = this_unpaired.hodges_lehmann.unwrap();
    assert!(ranks.low > 1.09 && ranks.high < 1.11, "{ranks:?}");
}

/// What two sessions measured: answers of `old` then and of `fresh` now, and how fast the
/// machine was now beside then, as the ceiling felt it.
fn on_a_machine(times: f64, now: [u64; 6]) -> Conclusions {
    let now = now.map(|responses| (responses as f64 * times).round() as u64);
    let then = with_ceiling(pair(), 1.0);
    judge(&with_past(with_ceiling(alone(&now), times), &then))
}

#[test]
fn what_the_machine_did_to_both_is_no_difference() {
    // Method: the machine is 8 % slower now, which the ceiling feels too: the ratio is that
    // of equal servers, and all that a server that does nothing felt is in the error.
    let record = on_a_machine(0.92, [OK; 6]);
    let unpaired = compared(&record);
    assert_close(unpaired.ratio.unwrap(), 1.0);
    let reference = unpaired.reference.as_ref().unwrap();
    assert_close(reference.moved, 0.92);
    assert_close(reference.error, -(0.92_f64.ln()));
    assert_eq!(unpaired.verdict, Verdict::Inconclusive);
    assert_eq!(unpaired.blocks_more, None);
    assert!(
        unpaired.low.unwrap() < 0.92 && unpaired.high.unwrap() > 1.08,
        "{unpaired:?}"
    );
    // What is far beyond that is seen all the same.
    let far = on_a_machine(0.92, [OK / 2; 6]);
    assert_eq!(compared(&far).verdict, Verdict::Slower);
}

#[test]
fn a_subject_that_ran_in_both_tells_more_than_the_ceiling() {
    // Method: `other` beside `old` then and beside `fresh` now, on a machine that is 8 %
    // slower now; then `other` of another version, by another command, and in a block in
    // which it gave nothing, so that the ceiling is what is left; and `other` itself, which
    // is not read over itself.
    let both = |name: &str, times: f64| {
        let of = |responses: u64| [(responses as f64 * times).round() as u64; 6];
        with_ceiling(study(&[(name, &of(OK)), ("other", &of(8_000))]), times)
    };
    let bridge = |change: fn(&mut Measured)| {
        let mut now = both("fresh", 0.92);
        change(&mut now);
        let record = judge(&with_past(now, &both("old", 1.0)));
        let of = |unpaired: &Unpaired| unpaired.reference.clone().unwrap().subject;
        let [fresh, other] = &record.past_comparisons[..] else {
            panic!("two subjects: {record:?}");
        };
        assert_eq!(of(other), None, "it is not read over itself");
        (of(fresh), fresh.clone())
    };
    let (by, fresh) = bridge(|_| ());
    assert_eq!(by.as_deref(), Some("other"));
    assert_close(fresh.ratio.unwrap(), 1.0);
    assert_close(fresh.reference.unwrap().error, 0.1 * -(0.92_f64.ln()));
    assert_eq!(fresh.verdict, Verdict::Equivalent);
    assert_eq!(fresh.together, 2);
    let version: fn(&mut Measured) = |now| now.subjects[1].version = Some("2".to_owned());
    let command: fn(&mut Measured) = |now| now.subjects[1].command.push("--fast".to_owned());
    for change in [version, command] {
        assert_eq!(bridge(change).0, None);
    }
}

#[test]
fn without_anything_measured_beside_both_nothing_is_claimed() {
    // Method: no ceiling now, none then, another version of abx, and an open loop, in which
    // throughput is what was asked for: a tenth more is no claim, and says what to do.
    let then = with_ceiling(pair(), 1.0);
    let mut other_abx = with_ceiling(alone(&TENTH_MORE), 1.0);
    other_abx.abx_version = "9".to_owned();
    let now_alone = with_past(alone(&TENTH_MORE), &then);
    let then_alone = with_past(with_ceiling(alone(&TENTH_MORE), 1.0), &pair());
    for now in [now_alone, then_alone, with_past(other_abx, &then)] {
        assert_eq!(
            may_stop(&longer(now.clone())),
            Decision::Stop(Reason::Precise)
        );
        let record = judge(&now);
        let unpaired = compared(&record);
        assert_eq!(unpaired.verdict, Verdict::Inconclusive);
        assert!(unpaired.ratio.is_some() && unpaired.reference.is_none());
        assert_eq!(
            (unpaired.together, unpaired.p_adjusted, unpaired.blocks_more),
            (0, None, None)
        );
        let finding = find(&record.validity.findings, FindingId::Unpaired).unwrap();
        assert_eq!(finding.level, Level::Bound);
        assert!(
            finding.remedy.contains("keep the ceiling on"),
            "{finding:?}"
        );
        assert_eq!(record.validity.status, Status::Bound);
    }
}

#[test]
fn several_subjects_beside_then_need_stronger_evidence_each() {
    // Method: blocks that are faster alone, beside themselves under four more names.
    let weak = [9_450, 9_900, 9_200, 9_600, 9_750, 9_050];
    let names = ["a", "b", "c", "d", "e"];
    let verdicts = |count: usize| -> Vec<Verdict> {
        let now: Vec<(&str, &[u64])> = names[..count]
            .iter()
            .map(|name| (*name, &weak[..]))
            .collect();
        let record = beside(study(&now), &pair());
        let unpaireds = record.past_comparisons.iter();
        unpaireds.map(|unpaired| unpaired.verdict).collect()
    };
    assert_eq!(verdicts(1), [Verdict::Faster]);
    assert_eq!(verdicts(5), [Verdict::Inconclusive; 5]);
}

#[test]
fn one_wild_block_makes_it_fragile() {
    // Method: eleven blocks of 6 % more and one that lost most of it.
    let mut now = [9_540; 12];
    now[3] = 4_000;
    let record = beside(alone(&now), &pair());
    assert!(compared(&record).fragile, "{record:?}");
    assert!(!compared(&beside(alone(&[9_540; 12]), &pair())).fragile);
}

#[test]
fn the_older_record_is_not_needed_again() {
    // Method: the new record to JSON and back, judged again.
    let record = StudyRecord::judged(with_ceilings(alone(&TENTH_MORE), &pair()));
    let json = serde_json::to_string(&record).unwrap();
    let again: StudyRecord = serde_json::from_str(&json).unwrap();
    assert_eq!(again, record);
    assert_eq!(judge(&again.measured), record.conclusions);
    let without = serde_json::to_string(&StudyRecord::judged(pair())).unwrap();
    assert!(!without.contains("past_"), "{without}");
}

#[test]
fn verdicts_are_those_of_any_comparison() {
    // Method: as fast, slower, wide, and too few blocks.
    let then = pair();
    let verdict = |responses: &[u64]| {
        let record = beside(alone(responses), &then);
        let unpaired = compared(&record).clone();
        (unpaired.verdict, unpaired.blocks_more.is_some())
    };
    assert_eq!(verdict(&[OK; 6]), (Verdict::Equivalent, false));
    assert_eq!(verdict(&[8_000; 6]), (Verdict::Slower, false));
    let wide = [8_000, 10_000, 8_100, 9_900, 8_050, 9_950];
    assert_eq!(verdict(&wide), (Verdict::Inconclusive, true));
    assert_eq!(verdict(&[9_900; 5]), (Verdict::Inconclusive, true));
    let conclusions = beside(alone(&[9_900]), &then);
    assert_eq!(compared(&conclusions).ratio, None);
    assert_eq!(compared(&conclusions).blocks_more, Some(5));
}

#[test]
fn it_stops_as_soon_as_it_is_precise() {
    // Method: six and seven blocks, and seven that are far apart.
    let then = pair();
    let decision = |responses: &[u64]| may_stop(&with_ceilings(alone(responses), &then));
    assert_eq!(decision(&TENTH_MORE), Decision::Continue);
    assert_eq!(decision(&[9_900; 7]), Decision::Stop(Reason::Precise));
    let wide = [8_000, 10_000, 8_100, 9_900, 8_050, 9_950, 9_000];
    assert_eq!(decision(&wide), Decision::Continue);
}

#[test]
fn it_stops_when_those_side_by_side_are_settled_too() {
    // Method: two subjects whose seven blocks lie 1 % to each side of what `old` had, which is
    // narrow enough beside it. When they swing together it is so between them too, and when
    // one is up while the other is down their own interval is twice as wide.
    let then = study(&[("old", &[OK; 7])]);
    let up = [9_090, 8_910, 9_090, 8_910, 9_090, 8_910, 9_000];
    let down = up.map(|number| 2 * OK - number);
    let decision = |new: &[u64]| {
        let now = study(&[("fresh", &up), ("new", new)]);
        may_stop(&with_ceilings(now, &then))
    };
    assert_eq!(decision(&up), Decision::Stop(Reason::Precise));
    assert_eq!(decision(&down), Decision::Continue);
    let alone = may_stop(&with_ceilings(alone(&down), &then));
    assert_eq!(alone, Decision::Stop(Reason::Precise));
}

#[test]
fn another_machine_is_refused_with_what_differs() {
    // Method: another processor, kernel and thread; then a machine that has
    // only a patched kernel.
    let mut then = pair();
    let mut now = alone(&[]);
    let machine = |model: &str, kernel: &str| Machine {
        cpu_model: Some(model.to_owned()),
        kernel: Some(kernel.to_owned()),
        ..Machine::default()
    };
    then.machine = machine("A", "6.18.5");
    now.machine = machine("B", "6.19.0");
    now.settings.threads = 2;
    let message = refused(&now, &then, Some("old"));
    for part in [
        "old.json",
        "`cpu_model` was A and is B",
        "`kernel` was 6.18 and is 6.19",
        "`threads` was 1 and is 2",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    now = alone(&[]);
    now.machine = machine("A", "6.18.9-cloud");
    assert!(past_baseline(&now, past(&then, Some("old"))).is_ok());
}

#[test]
fn another_load_is_refused_with_the_key() {
    // Method: one key changed at a time; and the same load under another name.
    let then = pair();
    let changed = |change: fn(&mut Measured)| {
        let mut now = alone(&[]);
        change(&mut now);
        past_baseline(&now, past(&then, Some("old")))
    };
    let key = |change: fn(&mut Measured)| match changed(change) {
        Err(PastBaselineError::Load { difference, .. }) => difference.key,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        key(|measured| measured.loads[0].settings.connections = 11),
        "connections"
    );
    assert_eq!(
        key(|measured| measured.loads[0].settings.keep_alive = false),
        "keep_alive"
    );
    let path =
        |measured: &mut Measured| measured.loads[0].settings.requests[0].path = "/x".to_owned();
    assert_eq!(key(path), "requests");
    assert_eq!(
        key(|measured| measured.loads[0].settings.exchange.pipeline = 2),
        "pipeline"
    );
    // Whether bodies are compared is not known before the first responses.
    assert!(changed(|measured| measured.loads[0].settings.bodies_compared = false).is_ok());
    let renamed = changed(|measured| measured.loads[0].name = "other".to_owned()).unwrap();
    assert_eq!(renamed.loads[0].load, "other");
    assert_eq!(renamed.loads[0].throughputs_per_s.len(), 6);
}

#[test]
fn a_record_without_evidence_is_refused() {
    // Method: no name for one of two, a wrong one, five blocks, a subject that
    // failed, and a block without a response.
    let now = alone(&[]);
    let then = pair();
    assert!(refused(&now, &then, None).contains("old, new: name one"));
    assert!(refused(&now, &then, Some("x")).contains("--against old.json:old"));
    let few = study(&[("old", &[OK; 5])]);
    let message = refused(&now, &few, None);
    assert!(message.contains("5 complete block(s) of old"), "{message}");
    let mut failed = pair();
    failed.end = StudyEnd::SubjectFailed {
        subject: "old".to_owned(),
        how: "it ended".to_owned(),
    };
    let reported_message = refused(&now, &failed, Some("old"));
    assert!(
        reported_message.contains("old could not go on"),
        "{reported_message}"
    );
    let mut silent = study(&[("old", &[OK; 7])]);
    for slice in &mut silent.blocks[2].loads[0].rounds[0..] {
        slice
            .slices
            .iter_mut()
            .for_each(|slice| response(slice, &[(Outcome::Ok, 0)]));
    }
    let message = refused(&now, &silent, None);
    assert!(
        message.contains("no verified answer in block 2"),
        "{message}"
    );
}

#[test]
fn a_generator_that_was_the_limit_limits_the_claim() {
    // Method: the faster side, the slower side, both; now and then.
    let bound = |record: &mut Measured| {
        for slice in all_slices(record) {
            slice.busiest_worker_ns = 95 * MS;
            slice.server_cpu_ns = Some(50 * MS);
            slice.busy_ns = Some(100 * MS);
        }
        let parts = record.blocks.iter_mut().flat_map(|block| &mut block.loads);
        for side in parts.flat_map(|part| part.sides.values_mut()) {
            side.busiest_thread_ns = None;
        }
    };
    let result = |is_now: bool, is_then: bool, responses: &[u64]| {
        let (mut now, mut then) = (alone(responses), study(&[("old", &[OK; 6])]));
        if is_now {
            bound(&mut now);
        }
        if is_then {
            bound(&mut then);
        }
        let record = beside(now, &then);
        let unpaired = compared(&record).clone();
        (unpaired.verdict, unpaired.at_least)
    };
    assert_eq!(result(true, false, &TENTH_MORE), (Verdict::Faster, true));
    assert_eq!(result(false, true, &[8_000; 6]), (Verdict::Slower, true));
    assert_eq!(result(false, true, &TENTH_MORE).0, Verdict::Invalid);
    assert_eq!(result(true, false, &[8_000; 6]).0, Verdict::Invalid);
    assert_eq!(result(true, true, &TENTH_MORE).0, Verdict::Invalid);
    // Nothing holds an equivalent side on one side.
    assert_eq!(result(true, false, &[OK; 6]), (Verdict::Inconclusive, true));
}

#[test]
fn a_disturbance_of_one_side_alone_voids_the_claim() {
    // Method: a tenth of the processors' time stolen, now and then.
    let steal = |record: &mut Measured| {
        for slice in all_slices(record) {
            slice.steal_ns = Some(20 * MS);
        }
    };
    for is_now in [true, false] {
        let (mut now, mut then) = (alone(&TENTH_MORE), study(&[("old", &[OK; 6])]));
        steal(if is_now { &mut now } else { &mut then });
        // What was measured beside both met the same.
        let met = beside(now.clone(), &then);
        assert_eq!(compared(&met).verdict, Verdict::Faster);
        let record = judge(&with_past(now, &then));
        let unpaired = compared(&record);
        assert_eq!(unpaired.verdict, Verdict::Invalid);
        assert_eq!(
            (unpaired.ratio, unpaired.low, unpaired.high),
            (None, None, None)
        );
        let findings = limits(&record, &unpaired.findings);
        let finding = find(&findings, FindingId::DisturbedAlone).unwrap();
        let when = if is_now { "time now, " } else { "time then, " };
        assert!(finding.message.contains(when), "{finding:?}");
    }
}

#[test]
fn a_side_without_a_response_voids_the_claim() {
    // Method: nothing but failures in one block now.
    let mut now = alone(&[OK; 6]);
    let fails = &mut now.blocks[3].loads[0].rounds;
    for slice in fails.iter_mut().flat_map(|round| &mut round.slices) {
        response(slice, &[(Outcome::Ok, 0)]);
    }
    let record = beside(now, &pair());
    let unpaired = compared(&record);
    assert_eq!(unpaired.verdict, Verdict::Invalid);
    assert!(find(&limits(&record, &unpaired.findings), FindingId::NoResponses).is_some());
}

#[test]
fn rates_that_were_kept_tell_nothing_about_the_most() {
    // Method: an open loop of 100,000/s that `old` answered; the same and a
    // tenth less now.
    let open = |record: &mut Measured| {
        for load in &mut record.loads {
            load.settings.arrivals = ArrivalSettings {
                kind: ArrivalKind::Constant,
                rate_per_s: Some(100_000.0),
                connections_rest: false,
                text: String::new(),
            };
        }
    };
    let mut then = study(&[("old", &[OK; 6])]);
    open(&mut then);
    let mut same = alone(&[OK; 6]);
    open(&mut same);
    let same = with_past(same, &then);
    assert_eq!(may_stop(&same), Decision::Continue);
    let record = judge(&same);
    assert!(record.past_comparisons.is_empty());
    assert!(find(&record.validity.findings, FindingId::BothKeptUp).is_some());
    let mut less = alone(&[8_000; 6]);
    open(&mut less);
    each_slice(&mut less, "fresh", |slice| slice.unsent = 1_000);
    let record = beside(less, &then);
    // Nothing that is asked for a rate tells what the machine could do.
    assert_eq!(compared(&record).verdict, Verdict::Inconclusive);
    assert!(compared(&record).at_least && compared(&record).reference.is_none());
    let finding = find(&record.validity.findings, FindingId::Unpaired).unwrap();
    assert!(
        finding.remedy.contains("under a closed loop"),
        "{finding:?}"
    );
    assert!(
        find(
            &limits(&record, &compared(&record).findings),
            FindingId::HeldByRate
        )
        .is_some()
    );
}

#[test]
fn different_bodies_are_told() {
    // Method: another hash than then.
    let then = pair();
    let mut now = alone(&[OK; 6]);
    responded(&mut now, "fresh").sha256 = Some("11".to_owned());
    let record = beside(now, &then);
    assert!(
        find(
            &limits(&record, &compared(&record).findings),
            FindingId::UnequalResponses
        )
        .is_some()
    );
}

#[test]
fn subjects_side_by_side_are_compared_as_ever() {
    // Method: two subjects now, both beside `old`; their own comparison is that
    // of a study without an older record.
    let now = pair();
    let record = beside(now, &study(&[("old", &[OK; 6])]));
    assert_eq!(record.comparisons, judged(pair()).comparisons);
    let beside = &record.past_comparisons;
    let verdicts: Vec<Verdict> = beside.iter().map(|unpaired| unpaired.verdict).collect();
    assert_eq!(verdicts, [Verdict::Equivalent, Verdict::Faster]);
}
