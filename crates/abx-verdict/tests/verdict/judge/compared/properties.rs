//! Properties of comparisons that hold for any counters.

use abx_evidence::record::{Contrast, Disturbance, Measured, Round, SliceRecord, SubjectReadings};
use abx_evidence::{ArrivalKind, Finding, FindingId, Level, Limits, Outcome, SliceTally};
use abx_verdict::{Metric, StudyRecord, Verdict};
use proptest::prelude::*;

use abx_fixtures::{Compared, ROUNDS, compared, judged, response, study};

/// Any counter: zero, small, up to a day's worth, or as large as only in a damaged record.
fn counter() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1_u64..100, 0_u64..1 << 40, any::<u64>()]
}

/// Any reading, present more often than not.
fn reading() -> impl Strategy<Value = Option<u64>> {
    prop::option::weighted(0.95, counter())
}

/// A slice with any counters.
fn slice() -> impl Strategy<Value = SliceRecord> {
    let counts = prop::collection::vec(counter(), Outcome::ALL.len());
    let plain = prop::array::uniform10(counter());
    let read = prop::array::uniform5(reading());
    (counts, plain, read).prop_map(|(counts, plain, read)| {
        let mut slice = SliceRecord::of("", &SliceTally::default());
        let counts: Vec<_> = Outcome::ALL.into_iter().zip(counts).collect();
        response(&mut slice, &counts);
        [
            slice.measured_ns,
            slice.wall_ns,
            slice.connection_ns,
            slice.hashed,
            slice.silent,
            slice.response_ns_sum,
            slice.busiest_worker_ns,
            slice.window_ns,
            slice.unsent,
            slice.queued,
        ] = plain;
        [
            slice.server_cpu_ns,
            slice.others_cpu_ns,
            slice.generator_wait_ns,
            slice.steal_ns,
            slice.busy_ns,
        ] = read;
        slice
    })
}

fn side() -> impl Strategy<Value = SubjectReadings> {
    (reading(), reading(), counter()).prop_map(|(thread, overflows, missing)| SubjectReadings {
        warm_up: None,
        busiest_thread_ns: thread,
        listen_overflows: overflows,
        not_connected: missing,
        ..SubjectReadings::default()
    })
}

/// A study of two subjects in 0 to 7 blocks with any counters. In half of the studies every
/// request gets a response and every connection is used; otherwise hardly any would be
/// without a void finding.
fn any_study() -> impl Strategy<Value = Measured> {
    let round = (slice(), slice(), any::<bool>());
    let block = (prop::collection::vec(round, ROUNDS), side(), side());
    let blocks = prop::collection::vec(block, 0..8);
    let shape = (any::<bool>(), any::<bool>(), 1..4_usize);
    (blocks, shape).prop_map(|(blocks, (is_clean, is_open, processors))| {
        let none = vec![0; blocks.len()];
        let mut record = study(&[("old", &none), ("new", &none)]);
        if is_open {
            record.loads[0].settings.arrivals.kind = ArrivalKind::Poisson;
        }
        record.settings.threads = processors;
        record.settings.subject_cpus = (0..processors).collect();
        record.settings.generator_cpus = vec![processors];
        for (block, (rounds, old, new)) in record.blocks.iter_mut().zip(blocks) {
            let part = &mut block.loads[0];
            part.sides = [("old".to_owned(), old), ("new".to_owned(), new)].into();
            part.rounds = rounds
                .into_iter()
                .map(|round| named(round, is_clean))
                .collect();
        }
        record
    })
}

fn named((old, new, is_disturbed): (SliceRecord, SliceRecord, bool), is_clean: bool) -> Round {
    let mut slices = vec![old, new];
    for (slice, name) in slices.iter_mut().zip(["old", "new"]) {
        slice.subject = name.to_owned();
        if is_clean {
            let ok = slice.ok.saturating_add(1);
            response(slice, &[(Outcome::Ok, ok)]);
            slice.connection_ns = slice.connection_ns.saturating_add(1);
            slice.silent = 0;
        }
    }
    Round {
        disturbed: is_disturbed
            .then_some(Disturbance::Steal)
            .into_iter()
            .collect(),
        slices,
    }
}

/// Asserts the invariants of any comparison.
fn assert_consistent(compared: &Compared) {
    let has = |level| {
        compared
            .findings
            .iter()
            .any(|finding| finding.level == level)
    };
    assert_eq!(
        compared.verdict == Verdict::Invalid,
        has(Level::Void),
        "{compared:?}"
    );
    match (compared.ratio, compared.low, compared.high) {
        (Some(ratio), Some(low), Some(high)) => {
            assert!(0.0 < low && low <= ratio && ratio <= high, "{compared:?}");
            assert_ne!(compared.verdict, Verdict::Invalid);
            let bounds = |finding: &Finding| {
                finding.level == Level::Bound && finding.limits != Limits::Throughput
            };
            let is_bound = compared.findings.iter().any(bounds);
            assert_eq!(compared.at_least, is_bound, "{compared:?}");
        }
        (None, None, None) => {
            let claims_nothing = [Verdict::Invalid, Verdict::Inconclusive];
            assert!(claims_nothing.contains(&compared.verdict), "{compared:?}");
        }
        _ => panic!("a part of an interval: {compared:?}"),
    }
    assert!(!(compared.at_least && compared.verdict == Verdict::Equivalent));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_contrast_the_other_way_round_has_the_opposite_result(record in any_study()) {
        // Method: the usual pair, and a contrast with subject and baseline exchanged.
        let mut turned = record.clone();
        turned.settings.contrasts = vec![Contrast {
            subject: "old".to_owned(),
            baseline: "new".to_owned(),
            loads: Vec::new(),
            question: None,
        }];
        let speed = |record: Measured| {
            let comparisons = judged(record).comparisons.clone();
            comparisons.into_iter().find(|comparison| comparison.metric == Metric::Throughput)
        };
        let (usual, turned) = (speed(record), speed(turned));
        prop_assert_eq!(usual.is_some(), turned.is_some());
        if let (Some(usual), Some(turned)) = (usual, turned) {
            prop_assert_eq!((&*turned.subject, &*turned.baseline), ("old", "new"));
            prop_assert_eq!(turned.verdict, usual.verdict.mirrored());
            if let (Some(value), Some(other)) = (usual.ratio, turned.ratio) {
                prop_assert!((value.ln() + other.ln()).abs() < 1e-9, "{} {}", value, other);
            }
        }
    }

    #[test]
    fn any_counters_give_a_consistent_comparison(record in any_study()) {
        // Method: check ratio and verdict against the findings; every finding has
        // figures and a remedy.
        let blocks = record.blocks.len();
        let record = judged(record);
        let message = record.validity.findings.iter().filter(|finding| finding.id == FindingId::BothKeptUp);
        prop_assert_eq!(record.primary().count() + message.count(), 1);
        for comparison in &record.comparisons {
            assert_consistent(&Compared::of(&record, comparison));
            prop_assert_eq!(comparison.blocks, blocks);
        }
        for finding in &record.validity.findings {
            // Only unread values have no figure.
            let has_figure = finding.message.contains(|character: char| character.is_ascii_digit());
            prop_assert_eq!(has_figure, finding.id != FindingId::NotChecked, "{:?}", finding);
            prop_assert!(!finding.remedy.is_empty());
        }
    }

    #[test]
    fn any_counters_read_back_from_json(record in any_study()) {
        // Method: JSON cannot hold infinity or NaN and would turn them into null.
        // Judged again, the record is the same.
        let record = StudyRecord::judged(record);
        let text = serde_json::to_string(&record).unwrap();
        let back: StudyRecord = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&back, &record);
        prop_assert_eq!(serde_json::to_string(&back).unwrap(), text);
            // Reading judges the record again, so missing conclusions would not show.
        let message = format!("{:?}", record.conclusions);
        let mut words = message.split(|letter: char| !letter.is_alphanumeric());
        prop_assert!(words.all(|word| word != "inf" && word != "NaN"), "{}", message);
    }

    #[test]
    fn swapping_subject_and_baseline_mirrors_the_comparison(record in any_study()) {
        // Method: the same record with the other subject as the baseline.
        prop_assume!(judged(record.clone()).primary().count() > 0);
        let there = compared(record.clone());
        // At exactly 1 neither subject is faster.
        prop_assume!(there.ratio != Some(1.0));
        let mut swapped = record;
        swapped.settings.baseline = "new".to_owned();
        let back = compared(swapped);
        prop_assert_eq!(there.verdict, back.verdict.mirrored());
        prop_assert_eq!(there.at_least, back.at_least);
        prop_assert_eq!(there.fragile, back.fragile);
        prop_assert_eq!(there.blocks_more, back.blocks_more);
        let product = |value: Option<f64>, other: Option<f64>| value.zip(other).map(|(value, other)| value * other);
        for product in [
            product(there.ratio, back.ratio),
            product(there.low, back.high),
            product(there.high, back.low),
        ] {
            prop_assert!(product.is_none_or(|value| (value - 1.0).abs() < 1e-6), "{product:?}");
        }
        let ids = |compared: &Compared| {
            let mut ids: Vec<_> = compared.findings.iter().map(|finding| (finding.id.clone(), finding.level)).collect();
            ids.sort();
            ids
        };
        prop_assert_eq!(ids(&there), ids(&back));
    }
}
