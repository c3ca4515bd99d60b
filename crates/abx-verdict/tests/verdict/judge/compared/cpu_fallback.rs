//! Processor time for each response, where the generator was the limit.

use abx_evidence::record::Disturbance;
use abx_evidence::{FindingId, Level, Limits, Measured, Outcome};
use abx_stats::stop::{Decision, Reason};
use abx_verdict::expectation::{KnownNames, expectation_results};
use abx_verdict::{
    Conclusions, Doubt, Expectation, Metric, Role, Standing, Status, StudyRecord, Verdict,
    may_stop, stop_groups,
};

use abx_fixtures::{
    MS, OK, compared, each_slice, find, judged, longer, pair, primary, response, rounds, study,
};

use crate::judge::findings::generator::busy;

/// What `server` takes of its processor in each slice of each block, in µs, a little
/// different in each, while the generator is at its limit.
fn limited(record: &mut Measured, subject: &str, server_us: u64) {
    busy(record, subject, 60, 97);
    for (index, block) in record.blocks.iter_mut().enumerate() {
        let jitter = [0, 60, 20, 80, 40, 10][index % 6];
        let slices = block.loads[0].rounds.iter_mut();
        for slice in slices.flat_map(|round| &mut round.slices) {
            if slice.subject == subject {
                slice.server_cpu_ns = Some((server_us + jitter) * MS / 1_000);
            }
        }
    }
}

/// Both respond to what the generator can send, and `new` takes this much for it.
fn both_limited(new_us: u64) -> Measured {
    let mut record = study(&[("old", &[OK; 6]), ("new", &[OK; 6])]);
    limited(&mut record, "old", 60_000);
    limited(&mut record, "new", new_us);
    record
}

fn by_cpu(record: &Conclusions) -> Vec<&str> {
    let by_cpu = record
        .primary()
        .filter(|comparison| comparison.metric == Metric::ServerCpu);
    by_cpu
        .map(|comparison| comparison.subject.as_str())
        .collect()
}

#[test]
fn two_that_the_generator_limits_are_compared_by_processor_time() {
    // Method: 54 and 60 ms for the same responses, so 0.9 times as much for each; and with
    // the same 60 ms, where no direction may show.
    let record = judged(both_limited(54_000));
    let [comparison] = &primary(&record)[..] else {
        panic!("{:?}", record.comparisons)
    };
    assert_eq!(
        (comparison.metric, comparison.verdict),
        (Metric::ServerCpu, Verdict::Less)
    );
    assert!(
        (comparison.ratio.unwrap() - 0.9).abs() < 0.001,
        "{comparison:?}"
    );
    assert!(
        !comparison.at_least,
        "the direction of a cost is not a bound"
    );
    let speed = record.comparisons.iter();
    assert!(
        !speed
            .clone()
            .any(|comparison| comparison.metric == Metric::Throughput)
    );
    let cpu = speed.filter(|comparison| comparison.metric == Metric::ServerCpu);
    assert_eq!(cpu.count(), 1, "it is not explored besides");
    let same = compared(both_limited(60_000));
    assert_eq!(
        (same.metric, same.verdict),
        (Metric::ServerCpu, Verdict::Equivalent)
    );
}

#[test]
fn a_pair_by_throughput_is_settled_beside_an_open_one_by_processor_time() {
    // Method: the generator limits two, whose CPU times scatter, and one serves a third. Its
    // comparison alone is decided, and it leaves.
    let mut record = longer(study(&[
        ("old", &[OK; 6]),
        ("new", &[OK; 6]),
        ("slow", &[OK / 3; 6]),
    ]));
    record.settings.blocks = None;
    limited(&mut record, "old", 60_000);
    limited(&mut record, "new", 60_000);
    for block in record.blocks.iter_mut().step_by(2) {
        let slices = block.loads[0].rounds.iter_mut();
        for slice in slices.flat_map(|round| &mut round.slices) {
            if slice.subject == "new" {
                slice.server_cpu_ns = slice.server_cpu_ns.map(|ns| 2 * ns);
            }
        }
    }
    let [group] = &stop_groups(&record)[..] else {
        panic!("it is one load")
    };
    assert_eq!(group.decision, Decision::Continue);
    let settled = [("slow".to_owned(), Reason::Certain)];
    assert_eq!(group.settled_subjects(), settled);
}

#[test]
fn processor_time_in_place_of_throughput_is_read_without_disturbed_rounds_too() {
    // Method: the second round of each block is marked, in a study that is judged by it,
    // and in one that has it only besides.
    let undisturbed = |mut record: Measured| {
        for round in rounds(&mut record).skip(1).step_by(2) {
            round.disturbed.push(Disturbance::Wait);
        }
        let comparisons = judged(record).comparisons.into_iter();
        let mut by_cpu = comparisons.filter(|comparison| comparison.metric == Metric::ServerCpu);
        let comparison = by_cpu.next().unwrap();
        assert!(!comparison.fragile, "{comparison:?}");
        comparison.undisturbed
    };
    let read = undisturbed(both_limited(54_000)).unwrap();
    assert_eq!((read.verdict, read.rounds_left_out), (Verdict::Less, 6));
    assert!((read.bounds.ratio - 0.9).abs() < 0.001, "{read:?}");
    assert_eq!(undisturbed(pair()), None);
}

#[test]
fn what_it_implies_of_capacity_is_a_bound() {
    // Method: 100,000 responses/s at 60 % of the processor would be 166,667/s at all of it.
    let record = judged(both_limited(54_000));
    let [compared] = &primary(&record)[..] else {
        panic!("{:?}", record.comparisons)
    };
    let bound = find(&compared.findings, FindingId::GeneratorBound).unwrap();
    assert_eq!(
        (bound.level, bound.limits),
        (Level::Bound, Limits::Throughput)
    );
    for part in ["97 %", "new can serve at least 100000", "(16", "instead"] {
        assert!(bound.message.contains(part), "{part}: {}", bound.message);
    }
    assert_eq!(record.validity.status, Status::Bound);
}

#[test]
fn without_processor_time_of_both_nothing_is_claimed_and_it_says_why() {
    // Method: it was not read in one slice of `old`; and `new` gave wrong responses.
    let mut unread = both_limited(54_000);
    unread.blocks[3].loads[0].rounds[0].slices[0].server_cpu_ns = None;
    let result = compared(unread);
    assert_eq!(
        (result.metric, result.verdict),
        (Metric::Throughput, Verdict::Invalid)
    );
    let void = find(&result.findings, FindingId::GeneratorBound).unwrap();
    assert_eq!(void.level, Level::Void);
    assert!(void.message.contains("did not read"), "{}", void.message);

    let mut wrong = both_limited(54_000);
    each_slice(&mut wrong, "new", |slice| {
        response(slice, &[(Outcome::Ok, OK - 90), (Outcome::WrongStatus, 90)]);
    });
    let result = compared(wrong);
    assert_eq!(
        (result.metric, result.verdict),
        (Metric::Throughput, Verdict::Invalid)
    );
    let void = find(&result.findings, FindingId::GeneratorBound).unwrap();
    assert!(!void.message.contains("not read"), "{}", void.message);
}

#[test]
fn a_direction_that_stands_needs_no_other_metric() {
    // Method: the generator limits the faster one only.
    let mut record = pair();
    limited(&mut record, "new", 60_000);
    let result = compared(record);
    assert_eq!(
        (result.metric, result.verdict),
        (Metric::Throughput, Verdict::Faster)
    );
    assert!(result.at_least);
}

#[test]
fn a_study_ends_by_the_metric_that_it_will_be_judged_by() {
    // Method: throughput is the same in each block and processor time is not, then the
    // other way round; without the limit it is throughput that counts.
    let mut noisy = both_limited(54_000);
    for (index, block) in noisy.blocks.iter_mut().enumerate() {
        let slices = block.loads[0].rounds.iter_mut();
        let slices = slices.flat_map(|round| &mut round.slices);
        for slice in slices.filter(|slice| slice.subject == "new") {
            slice.server_cpu_ns = Some([40, 70, 50, 75, 45, 65][index] * MS);
        }
    }
    assert_eq!(may_stop(&longer(noisy.clone())), Decision::Continue);
    assert_eq!(
        may_stop(&longer(both_limited(54_000))),
        Decision::Stop(Reason::Precise)
    );
    busy(&mut noisy, "old", 98, 50);
    busy(&mut noisy, "new", 98, 50);
    assert_eq!(may_stop(&longer(noisy)), Decision::Stop(Reason::Precise));
}

/// `a`, the baseline, and three others; the generator limits those that are named.
fn four(limited_by_generator: &[&str]) -> Measured {
    let blocks = [OK, OK + 10, OK - 10, OK, OK + 5, OK - 5];
    let mut record = study(&[
        ("a", &blocks),
        ("b", &blocks),
        ("c", &blocks),
        ("d", &blocks),
    ]);
    for (subject, us) in [("a", 60_000), ("b", 54_000), ("c", 48_000), ("d", 66_000)] {
        if limited_by_generator.contains(&subject) {
            limited(&mut record, subject, us)
        } else {
            busy(&mut record, subject, 98, 50)
        }
    }
    record
}

#[test]
fn a_ranking_is_by_processor_time_where_all_that_was_asked_for_is() {
    // Method: all four limited, which take 48, 54, 60 and 66 ms; then `d` is not, and is
    // slower than all: a ranking has one metric, and throughput leaves the three together.
    let ranking = judged(four(&["a", "b", "c", "d"])).rankings.remove(0);
    assert_eq!(ranking.metric, Metric::ServerCpu);
    let places: Vec<_> = ranking
        .places
        .iter()
        .map(|place| (place.subject.as_str(), place.text()))
        .collect();
    let text = |place: &str| place.to_owned();
    let expected = [
        ("c", text("1")),
        ("b", text("2")),
        ("a", text("3")),
        ("d", text("4")),
    ];
    assert_eq!(places, expected);

    let mut mixed = four(&["a", "b", "c"]);
    each_slice(&mut mixed, "d", |slice| {
        response(slice, &[(Outcome::Ok, slice.ok / 2)])
    });
    let record = judged(mixed);
    assert_eq!(by_cpu(&record), ["b", "c"]);
    let ranking = &record.rankings[0];
    assert_eq!(ranking.metric, Metric::Throughput);
    let mut places: Vec<_> = ranking
        .places
        .iter()
        .map(|place| (place.subject.as_str(), place.text()))
        .collect();
    places.sort();
    let tied = text("1-3");
    let expected = [
        ("a", tied.clone()),
        ("b", tied.clone()),
        ("c", tied),
        ("d", text("4")),
    ];
    assert_eq!(places, expected);
}

#[test]
fn pairs_of_one_load_share_what_they_may_be_wrong_in() {
    // Method: one of three is compared by throughput, two by processor time: its p-value
    // is multiplied by three, as the last of three would be at first, and not by one. When
    // one of the two is void, it claims nothing and takes nothing: since it fails, since it
    // is silent in a block, or since the generator limits it and its processor time is not
    // known.
    let mut three = four(&["a", "b", "c"]);
    let noisy = [8_000, 8_900, 8_300, 8_800, 8_100, 8_700];
    for (block, ok) in three.blocks.iter_mut().zip(noisy) {
        let slices = block.loads[0]
            .rounds
            .iter_mut()
            .flat_map(|round| &mut round.slices);
        slices
            .filter(|slice| slice.subject == "d")
            .for_each(|slice| response(slice, &[(Outcome::Ok, ok)]));
    }
    let mut alone = three.clone();
    alone
        .subjects
        .retain(|subject| ["a", "d"].contains(&subject.name.as_str()));
    let p = |record: Measured| {
        let record = judged(record);
        let mut pairs = record
            .primary()
            .filter(|comparison| comparison.subject == "d");
        let comparison = pairs.next().expect("the pair");
        assert_eq!(comparison.metric, Metric::Throughput);
        comparison.p_adjusted.expect("an interval")
    };
    let mut one_void = three.clone();
    each_slice(&mut one_void, "c", |slice| {
        response(slice, &[(Outcome::Ok, OK - 100), (Outcome::Reset, 100)]);
    });
    let mut silent = three.clone();
    let slices = silent.blocks[2].loads[0].rounds.iter_mut();
    for slice in slices.flat_map(|round| &mut round.slices) {
        if slice.subject == "c" {
            response(slice, &[]);
        }
    }
    let unread = without_processor_time(three.clone(), "c");
    let [three, alone] = [three, alone].map(p);
    assert!((three / alone - 3.0).abs() < 1e-9, "{three} {alone}");
    for void in [one_void, silent, unread].map(p) {
        assert!((void / alone - 2.0).abs() < 1e-9, "{void} {alone}");
    }
}

/// The same, as if it had not been read of one subject in a slice.
fn without_processor_time(mut record: Measured, subject: &str) -> Measured {
    let mut slices = abx_fixtures::all_slices(&mut record);
    let unread = slices.find(|slice| slice.subject == subject);
    unread.expect("a slice").server_cpu_ns = None;
    drop(slices);
    record
}

#[test]
fn pairs_behind_the_gate_have_the_share_of_the_sound_ones_before_it() {
    // Method: the generator limits `a`, `b` and `c`, of which `c` is void, and `d` is slower
    // than all: one of two sound pairs is by throughput. Then `b` is void too, and it is the
    // only one.
    let mut record = four(&["a", "b", "c"]);
    each_slice(&mut record, "d", |slice| {
        response(slice, &[(Outcome::Ok, slice.ok / 2)])
    });
    let one_void = without_processor_time(record, "c");
    let two_void = without_processor_time(one_void.clone(), "b");
    let p = |record: Measured| {
        let ranking = judged(record).rankings.remove(0);
        assert_eq!(ranking.metric, Metric::Throughput);
        let mut pairs = ranking.pairs.iter();
        let behind =
            pairs.find(|comparison| [&*comparison.subject, &*comparison.baseline] == ["d", "b"]);
        behind
            .and_then(|comparison| comparison.p_adjusted)
            .expect("an interval")
    };
    let (value, two) = (p(one_void), p(two_void));
    assert!((value / two - 2.0).abs() < 1e-6, "{value} {two}");
}

#[test]
fn more_processor_time_is_not_slower() {
    // Method: a fifth more for each response: neither found slower nor cleared of it, while
    // a question about processor time by name has its result.
    let record = StudyRecord::judged(both_limited(72_000));
    let comparison = record.conclusions.primary().next().unwrap();
    assert_eq!(
        (comparison.verdict, comparison.role),
        (Verdict::More, Role::Primary)
    );
    let bound = Standing::Unsettled(Doubt::GeneratorBound);
    let standing = |expectation| {
        expectation_results(&record, &[expectation])
            .remove(0)
            .standing
    };
    assert_eq!(standing(Expectation::not_slower(0.03).unwrap()), bound);
    let known = KnownNames {
        subjects: vec!["old".to_owned(), "new".to_owned()],
        loads: vec!["small".to_owned()],
    };
    let parsed = |text| Expectation::parse(text, &known).unwrap();
    assert_eq!(standing(parsed("new >= old")), bound);
    assert_eq!(
        standing(parsed("server_cpu: new <= 1.3 * old")),
        Standing::Holds
    );
    assert_eq!(standing(parsed("server_cpu: new <= old")), Standing::Fails);
}
