//! Comparisons by processor time per response where the generator was the limit.

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

/// Sets the processor time of a subject in each slice, in µs, with a small ripple over the
/// blocks, while the generator is at its limit.
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

/// Both respond to all that the generator can send; `new` takes this much processor time.
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
fn two_subjects_that_the_generator_limits_are_compared_by_processor_time() {
    // Method: 54 and 60 ms for as many responses, a ratio of 0.9 per response; and 60 ms for
    // both, where no direction may show.
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
fn a_pair_by_throughput_is_settled_beside_an_open_pair_by_processor_time() {
    // Method: the generator limits two subjects with scattered CPU times, and one subject serves
    // a third. Only the latter's comparison is decided, so it leaves.
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
fn processor_time_in_place_of_throughput_is_also_read_without_disturbed_rounds() {
    // Method: the second round of each block is marked as disturbed, in a study judged by
    // processor time and in one that only reports it.
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
fn the_capacity_implied_by_processor_time_is_a_bound() {
    // Method: 100,000 responses/s at 60 % of the processor imply 166,667/s at 100 %.
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
fn without_processor_time_of_both_subjects_nothing_is_claimed_and_the_reason_is_given() {
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
    assert!(
        void.message.contains("could not read it"),
        "{}",
        void.message
    );

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
fn a_pair_with_a_direction_by_throughput_needs_no_other_metric() {
    // Method: the generator limits the faster subject only.
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
fn a_study_ends_by_the_metric_that_decides_its_verdict() {
    // Method: throughput is constant over the blocks and processor time is not, then the
    // reverse. If the generator is not the limit, throughput counts.
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

/// The baseline `a` and three others; the generator limits the named subjects.
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
fn a_ranking_is_by_processor_time_if_all_requested_pairs_are() {
    // Method: all four are limited and take 48, 54, 60 and 66 ms. Then `d` is not limited and
    // slower than all: a ranking has one metric, and by throughput the other three are tied.
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
fn pairs_of_one_load_share_their_error() {
    // Method: of three pairs, one is compared by throughput and two by processor time. The
    // p-value by throughput is multiplied by three, as the smallest of three is, not by one.
    // A void pair claims nothing and takes no share of the error: its subject fails, is silent
    // in a block, or is limited by the generator and has no known processor time.
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

/// The record with the processor time of one subject unread in one slice.
fn without_processor_time(mut record: Measured, subject: &str) -> Measured {
    let mut slices = abx_fixtures::all_slices(&mut record);
    let unread = slices.find(|slice| slice.subject == subject);
    unread.expect("a slice").server_cpu_ns = None;
    drop(slices);
    record
}

#[test]
fn pairs_behind_the_gate_have_the_error_that_its_sound_pairs_leave() {
    // Method: the generator limits `a`, `b` and `c`, of which `c` is void, and `d` is slower
    // than all: of two sound pairs one is by throughput. Then `b` is void too, so that the pair
    // by throughput is the only sound one.
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
    // Method: `new` takes a fifth more per response. A limit of speed is neither violated nor
    // met, while an expectation of processor time by name is decided.
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
