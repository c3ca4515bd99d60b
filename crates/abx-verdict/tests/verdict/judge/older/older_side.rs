//! What of an older record is kept beside the new one, and what the two are read over.

use abx_evidence::{FindingId, Level, Measured, Outcome, Wait};
use abx_fixtures::{
    OK, assert_close, each_slice, find, limits, pair, response, sides, study, two_loads,
    with_ceiling,
};
use abx_verdict::{Conclusions, Unpaired, Verdict, judge, past_baseline};

use crate::judge::older::against::{TENTH_MORE, alone, beside, compared, past, refused, with_past};

/// Its limit of processor time kept `old` from running for so many per mille of the time.
fn throttle(record: &mut Measured, per_mille: u64) {
    for side in sides(record, "old") {
        let strain = side.strain.as_mut().expect("each side has it");
        strain.throttled = Some(3);
        strain.throttled_us = Some(strain.over_us * per_mille / 1_000);
    }
}

fn under_other_name(mut now: Measured) -> Measured {
    let name = || "other".to_owned();
    now.loads[0].name = name();
    for part in now.blocks.iter_mut().flat_map(|block| &mut block.loads) {
        part.load = name();
    }
    now
}

#[test]
fn what_bounded_the_older_side_bounds_the_comparison() {
    // Method: `old` was kept from running for 5 % of the time then, which bounds, and for
    // 0.5 %, which is a note; the load has another name now.
    let record = |per_mille: u64| {
        let mut then = study(&[("old", &[OK; 6])]);
        throttle(&mut then, per_mille);
        beside(under_other_name(alone(&TENTH_MORE)), &then)
    };
    let bounded = record(50);
    let unpaired = compared(&bounded);
    assert!(
        unpaired.at_least && unpaired.verdict == Verdict::Faster,
        "{unpaired:?}"
    );
    let findings = limits(&bounded, &unpaired.findings);
    let finding = find(&findings, FindingId::Throttled).unwrap();
    assert!(
        finding.message.starts_with("then: a CPU time"),
        "{finding:?}"
    );
    assert_eq!(finding.level, Level::Bound);
    // It is of a subject and a load that this study does not have.
    assert_eq!(
        (finding.subject.as_deref(), finding.load.as_deref()),
        (None, Some("other"))
    );
    let noted = record(5);
    let unpaired = compared(&noted);
    assert!(!unpaired.at_least);
    assert_eq!(
        find(&limits(&noted, &unpaired.findings), FindingId::Throttled),
        None
    );
}

#[test]
fn what_befell_another_subject_then_is_no_matter() {
    // Method: of two subjects then, one failed, or was kept from running, and it is the
    // other one that is compared.
    let mut failed = pair();
    each_slice(&mut failed, "new", |slice| {
        let ok = slice.ok;
        response(slice, &[(Outcome::Ok, ok), (Outcome::Reset, ok / 10)]);
    });
    let mut limited = study(&[("new", &[OK; 6]), ("old", &[OK; 6])]);
    throttle(&mut limited, 50);
    for (then, name) in [(failed, "old"), (limited, "new")] {
        let kept = past_baseline(&alone(&[]), past(&then, Some(name))).unwrap();
        assert_eq!(kept.loads[0].findings, []);
    }
}

#[test]
fn a_subject_that_is_missing_is_told_with_those_there_are() {
    // Method: a name that the record lacks, of one subject, of two, and of none.
    let message = |subjects: &[&str]| {
        let mut then = pair();
        then.subjects
            .retain(|subject| subjects.contains(&&*subject.name));
        refused(&alone(&[]), &then, Some("x"))
    };
    assert_eq!(
        message(&["old"]),
        "old.json has the subject old alone: name one, as in `--against old.json:old`"
    );
    assert_eq!(
        message(&["old", "new"]),
        "old.json has the subjects old, new: name one, as in `--against old.json:old`"
    );
    assert_eq!(
        message(&[]),
        "old.json has no subject: name one, as in `--against old.json:NAME`"
    );
}

#[test]
fn processors_and_how_threads_wait_must_be_the_same() {
    // Method: each changed alone.
    let message = |change: fn(&mut Measured)| {
        let mut now = alone(&[]);
        change(&mut now);
        refused(&now, &pair(), Some("old"))
    };
    for (reported_message, part) in [
        (
            message(|now| now.settings.subject_cpus = vec![2]),
            "`subject_cpus` was [0] and is [2]",
        ),
        (
            message(|now| now.settings.generator_cpus = vec![1, 3]),
            "`generator_cpus` was [1] and is [1, 3]",
        ),
        (
            message(|now| now.settings.waiting.wait = Wait::Awake),
            "`wait` was asleep and is awake",
        ),
    ] {
        assert!(
            reported_message.contains(part),
            "{part}: {reported_message}"
        );
    }
}

#[test]
fn of_two_loads_alike_it_is_the_one_of_the_same_name() {
    // Method: two loads that offer the same then, under the second of which `old` answered
    // half; and now a third name, which is none of theirs.
    let mut then = two_loads();
    for part in then.blocks.iter_mut().map(|block| &mut block.loads[1]) {
        let slices = part.rounds.iter_mut().flat_map(|round| &mut round.slices);
        slices.for_each(|slice| response(slice, &[(Outcome::Ok, OK / 2)]));
    }
    let rate = |name: &str| {
        let mut now = alone(&[]);
        now.loads[0].name = name.to_owned();
        let kept = past_baseline(&now, past(&then, Some("old"))).unwrap();
        kept.loads[0].throughputs_per_s[0]
    };
    assert_close(rate("large") / rate("small"), 0.5);
    assert_close(rate("third") / rate("small"), 1.0);
}

/// The comparison of `fresh` among several.
fn of_fresh(record: &Conclusions) -> &Unpaired {
    let mut unpaireds = record.past_comparisons.iter();
    unpaireds
        .find(|unpaired| unpaired.subject == "fresh")
        .expect("it runs now")
}

#[test]
fn what_may_be_read_over_is_who_ran_in_both_studies() {
    // Method: three subjects then, of which one has a namesake now, as has the one that is
    // compared or not; and the ceiling.
    let then = with_ceiling(
        study(&[("old", &[OK; 6]), ("other", &[OK; 6]), ("third", &[OK; 6])]),
        1.0,
    );
    for names in [["fresh", "other"], ["old", "other"]] {
        let now = study(&names.map(|name| (name, &[][..])));
        let kept = past_baseline(&now, past(&then, Some("old"))).unwrap();
        let beside = kept.loads[0].beside.iter();
        let beside: Vec<Option<&str>> = beside
            .map(|past_reference| {
                past_reference
                    .subject
                    .as_ref()
                    .map(|subject| &*subject.name)
            })
            .collect();
        assert_eq!(beside, [Some("other"), None]);
    }
}

#[test]
fn a_reference_that_lacks_a_block_is_none() {
    // Method: a record in which one block of the reference is gone on the older side, as
    // from a file that somebody changed.
    let then = with_ceiling(pair(), 1.0);
    let mut now = with_past(with_ceiling(alone(&TENTH_MORE), 1.0), &then);
    assert!(compared(&judge(&now)).reference.is_some());
    let kept = now.past_baseline.as_mut().unwrap();
    kept.loads[0].beside[0].throughputs_per_s.pop();
    assert_eq!(compared(&judge(&now)).reference, None);
}

#[test]
fn what_a_reference_leaves_open_is_how_far_it_moved_less_its_own_scatter() {
    // Method: a subject that ran in both studies, in seven blocks then and six now, with the
    // formula of docs/explain/statistics/older-records.md; then the two sides further apart and as
    // scattered, where nothing is left.
    let error = |then: &[u64], now: &[u64]| {
        let old = study(&[("old", &[OK; 7]), ("other", then)]);
        let new = study(&[("fresh", &[OK; 6]), ("other", now)]);
        let record = judge(&with_past(new, &old));
        let session_reference = of_fresh(&record).reference.clone().unwrap();
        assert_eq!(session_reference.subject.as_deref(), Some("other"));
        session_reference.error
    };
    let moments = |responses: &[u64]| {
        let logs: Vec<f64> = responses
            .iter()
            .map(|response| (*response as f64).ln())
            .collect();
        let blocks = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / blocks;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        (mean, squares / (blocks - 1.0) / blocks)
    };
    let then = [8_000, 9_000, 8_500, 8_200, 8_800, 8_400, 8_600];
    let now = [7_000, 7_900, 7_400, 7_200, 7_700, 7_600];
    let ((was, apart_then), (is, apart_now)) = (moments(&then), moments(&now));
    let moved = (is - was).powi(2) - apart_then - apart_now;
    assert!(apart_then > 0.01 * moved && apart_now > 0.01 * moved);
    assert_close(error(&then, &now), 0.1 * moved.sqrt());
    assert_close(error(&then, &then[..6]), 0.0);
}

#[test]
fn the_chance_of_each_is_welch_s() {
    // Method: two sides of six blocks on a machine that stayed as it was; the p-value of
    // their logarithms by scipy's ttest_ind without equal variances, alone and with an equal
    // one beside it, so that it counts twice.
    let then = study(&[("old", &[9_000, 9_100, 8_900, 9_050, 9_000, 8_950])]);
    let now = [9_450, 9_900, 9_200, 9_600, 9_750, 9_050];
    let record = beside(alone(&now), &then);
    let unpaired = compared(&record);
    assert_close(unpaired.degrees.unwrap(), 5.522_925_571_521_953);
    assert!(
        (unpaired.p_adjusted.unwrap() - 0.012_120_854_6).abs() < 1e-8,
        "{unpaired:?}"
    );
    let record = beside(study(&[("fresh", &now), ("again", &now)]), &then);
    let [this_unpaired, _] = &record.past_comparisons[..] else {
        panic!("{record:?}")
    };
    assert!(
        (this_unpaired.p_adjusted.unwrap() - 0.024_241_709_2).abs() < 1e-8,
        "{this_unpaired:?}"
    );
}

#[test]
fn what_was_not_measured_side_by_side_is_no_bound_of_the_ratio() {
    // Method: with something measured beside both, which is a note, and without, which
    // bounds what may be claimed: nobody knows in which direction.
    let with = beside(alone(&TENTH_MORE), &pair());
    let without = judge(&with_past(alone(&TENTH_MORE), &pair()));
    for (record, level) in [(with, Level::Note), (without, Level::Bound)] {
        let finding = find(&record.validity.findings, FindingId::Unpaired).unwrap();
        assert_eq!(finding.level, level);
        assert!(!compared(&record).at_least);
    }
}
