//! Metrics beside throughput, and where they are compared.

use abx_evidence::record::{Histograms, SliceRecord, TlsSettings, TlsTrustKind};
use abx_evidence::{
    ArrivalKind, ArrivalSettings, FindingId, Histogram, Level, Limits, LoadShape, Measured,
    SliceTally,
};
use abx_stats::stop::{Decision, Reason};
use abx_verdict::{Comparison, Conclusions, Metric, Role, Verdict, may_stop};

use abx_fixtures::{
    MS, OK, all_slices, assert_close, each_slice, find, ids, judged, limits, longer, pair, primary,
    sides, study, two_loads,
};

/// The comparison by one metric.
fn by(record: &Conclusions, metric: Metric) -> Option<Comparison> {
    let mut result = record
        .comparisons
        .iter()
        .filter(|comparison| comparison.metric == metric);
    let first = result.next().cloned();
    assert!(result.next().is_none(), "{metric:?} twice");
    first
}

/// Both kept up with a rate of 18,000 planned requests per block;
/// `new` responds in 400 to 405 µs, `old` in 500 to 505.
fn open(at_least: &[&str]) -> Measured {
    let mut record = study(&[("old", &[OK; 6]), ("new", &[OK; 6])]);
    record.loads[0].settings.arrivals = ArrivalSettings {
        kind: ArrivalKind::Constant,
        rate_per_s: Some(100_000.0),
        connections_rest: false,
        text: String::new(),
    };
    for block in &mut record.blocks {
        for (subject, us) in [("old", 500), ("new", 400)] {
            let mut times = Histograms::default();
            fill(&mut times.response, 18_000, us + u64::from(block.index));
            if at_least.contains(&subject) {
                fill(
                    &mut times.response_at_least,
                    400,
                    us + u64::from(block.index),
                );
            }
            let histograms = &mut block.loads[0].histograms;
            histograms.insert(subject.to_owned(), times);
        }
    }
    record
}

fn fill(times: &mut Histogram, count: u64, us: u64) {
    (0..count).for_each(|_| times.record_ns(us * 1_000));
}

#[test]
fn an_open_loop_is_judged_by_the_highest_quantile_with_enough_requests() {
    // Method: 18,000 planned requests per block are enough for p99; then only
    // 400, which are enough for p50.
    let study = open(&[]);
    assert_eq!(
        may_stop(&longer(study.clone())),
        Decision::Stop(Reason::Precise)
    );
    let record = judged(study);
    let comparisons = primary(&record);
    let [compared] = &comparisons[..] else {
        panic!("{comparisons:?}")
    };
    assert_eq!(compared.metric, Metric::ResponseP99);
    assert_eq!(compared.verdict, Verdict::Faster);
    assert!((compared.ratio.unwrap() - 0.8).abs() < 0.01, "{compared:?}");
    assert_eq!(
        by(&record, Metric::ResponseP50).unwrap().role,
        Role::Exploratory
    );
    assert_eq!(by(&record, Metric::ResponseP999), None);
    assert_eq!(by(&record, Metric::Throughput), None);
    assert!(find(&record.validity.findings, FindingId::TooFewRequests).is_none());

    let mut fewer = open(&[]);
    fewer.loads[0].settings.arrivals.rate_per_s = Some(2_500.0);
    assert_eq!(primary(&judged(fewer))[0].metric, Metric::ResponseP50);
}

#[test]
fn a_plan_allows_for_the_chance_of_fewer_random_arrivals() {
    // Method: p99 needs 10,000 requests. With 10,260 planned, a block may have fewer by chance;
    // with 10,512, hardly any block does.
    for (rate, metric) in [
        (57_000.0, Metric::ResponseP90),
        (58_400.0, Metric::ResponseP99),
    ] {
        let mut record = open(&[]);
        record.loads[0].settings.arrivals.rate_per_s = Some(rate);
        assert_eq!(primary(&judged(record))[0].metric, metric);
    }
}

#[test]
fn equal_bytes_are_equal_in_spite_of_disturbances() {
    // Method: as many bytes per response, in six blocks in which other programs took half of
    // the CPUs, and in three blocks; and a tenth more bytes in three blocks.
    let bytes = |blocks: usize, more: u64| {
        let responses = vec![OK; blocks];
        let mut record = study(&[("old", &responses), ("new", &responses)]);
        each_slice(&mut record, "old", |slice| slice.bytes = 1_000 * slice.ok);
        each_slice(&mut record, "new", |slice| slice.bytes = more * slice.ok);
        record
    };
    let mut disturbed = bytes(6, 1_000);
    disturbed.settings.subject_cpus = vec![0];
    disturbed.settings.generator_cpus = vec![0];
    let disturbed = judged(disturbed);
    let bounds = disturbed
        .validity
        .findings
        .iter()
        .filter(|finding| finding.level == Level::Bound && finding.limits == Limits::All);
    assert!(bounds.count() > 0, "{:?}", disturbed.validity.findings);
    let table = [
        (disturbed, Verdict::Equivalent),
        (judged(bytes(3, 1_000)), Verdict::Equivalent),
        (judged(bytes(3, 1_100)), Verdict::More),
    ];
    for (record, verdict) in table {
        let comparison = by(&record, Metric::WireBytes).unwrap();
        assert_eq!(
            (comparison.verdict, comparison.at_least),
            (verdict, false),
            "{comparison:?}"
        );
    }
}

#[test]
fn a_median_needs_two_hundred_requests_in_each_block() {
    // Method: exactly 200, and one fewer in one block: of response times, of the times until
    // the first listener has a broadcast, and of TLS handshakes. Handshakes are compared if
    // the load has TLS, and not if only one subject uses it.
    for fewest in [200, 199] {
        let mut paced = open(&[]);
        let mut measured = pair();
        measured.loads[0].settings.exchange.shape = LoadShape::Broadcast;
        let mut encrypted = pair();
        encrypted.loads[0].settings.tls = Some(TlsSettings {
            trust: TlsTrustKind::Anyone,
            version: None,
            resumption: false,
            shows_certificate: false,
        });
        for block in 0..paced.blocks.len() {
            let count = if block == 3 { fewest } else { 200 };
            for subject in ["old", "new"] {
                let mut times = Histograms::default();
                fill(&mut times.response, count, 500);
                fill(&mut times.first_listener, count, 500);
                fill(&mut times.handshake, count, 500);
                for study in [&mut paced, &mut measured, &mut encrypted] {
                    let histograms = &mut study.blocks[block].loads[0].histograms;
                    histograms.insert(subject.to_owned(), times.clone());
                }
            }
        }
        let is_compared = |study, metric| by(&judged(study), metric).is_some();
        assert_eq!(is_compared(paced, Metric::ResponseP50), fewest == 200);
        assert_eq!(
            is_compared(measured, Metric::BroadcastFirstP50),
            fewest == 200
        );
        let mut without = encrypted.clone();
        without.loads[0].settings.tls = None;
        assert!(!is_compared(without, Metric::HandshakeP50));
        let mut one_sided = encrypted.clone();
        for block in &mut one_sided.blocks {
            let old = block.loads[0].histograms.get_mut("old").unwrap();
            old.handshake = Histogram::default();
        }
        assert!(!is_compared(one_sided, Metric::HandshakeP50));
        assert_eq!(is_compared(encrypted, Metric::HandshakeP50), fewest == 200);
    }
}

#[test]
fn too_few_requests_for_any_quantile_are_reported() {
    // Method: no times in the blocks.
    let mut record = open(&[]);
    for block in &mut record.blocks {
        block.loads[0].histograms.clear();
    }
    let record = judged(record);
    assert_eq!(primary(&record), []);
    let finding = find(&record.validity.findings, FindingId::TooFewRequests).unwrap();
    // A load at a rate has no users to add.
    assert!(!finding.remedy.contains("users"), "{finding:?}");
}

#[test]
fn a_quantile_that_rests_on_no_response_bounds_in_one_direction_only() {
    // Method: 400 of 18,000 requests have no response, which p99 rests on and p90 does not;
    // first those of the slower subject, then of the faster one.
    let slower = judged(open(&["old"]));
    let p99 = by(&slower, Metric::ResponseP99).unwrap();
    assert_eq!(
        ids(&limits(&slower, &p99.findings)),
        [(FindingId::TimesAtLeast, Level::Bound)]
    );
    assert_eq!((p99.verdict, p99.at_least), (Verdict::Faster, true));
    let why = limits(&slower, &p99.findings).remove(0).message;
    assert!(
        why.contains("so its p99 may be longer than measured"),
        "{why}"
    );
    let faster = judged(open(&["new"]));
    let p99 = by(&faster, Metric::ResponseP99).unwrap();
    assert_eq!(p99.verdict, Verdict::Invalid);
    // One block of six is enough for either.
    for (subject, verdict) in [("old", Verdict::Faster), ("new", Verdict::Invalid)] {
        let mut measured = open(&[subject]);
        for block in &mut measured.blocks[1..] {
            let histograms = block.loads[0].histograms.get_mut(subject).unwrap();
            histograms.response_at_least = Histogram::default();
        }
        let p99 = by(&judged(measured), Metric::ResponseP99).unwrap();
        assert_eq!((p99.verdict, p99.at_least), (verdict, subject == "old"));
    }
}

/// Gives `old` this p99 in µs and `new` a p99 of 570 µs in every block. In the first `blocks`
/// blocks, `unknown` of the 18,000 requests of `new` have an unknown time of at least 10 µs;
/// each of them may lengthen the p99 by 1 µs.
fn unknown(old_us: u64, unknown: u64, blocks: usize) -> Measured {
    let mut record = open(&[]);
    for (index, block) in record.blocks.iter_mut().enumerate() {
        let histograms = &mut block.loads[0].histograms;
        let mut old = Histograms::default();
        fill(&mut old.response, 18_000, old_us + index as u64);
        histograms.insert("old".to_owned(), old);
        let unknown = if index < blocks { unknown } else { 0 };
        let mut new = Histograms::default();
        fill(&mut new.response, 17_600, 400);
        (0..400 - unknown).for_each(|place| fill(&mut new.response, 1, 351 + unknown + place));
        fill(&mut new.response, unknown, 10);
        fill(&mut new.response_at_least, unknown, 10);
        histograms.insert("new".to_owned(), new);
    }
    record
}

#[test]
fn a_few_unknown_times_leave_a_quantile_as_it_is() {
    // Method: 6 of 18,000 requests in one of six blocks, of the faster subject and of the
    // slower one. The p99 of that block is known to within 1 %, the ratio to within 0.2 %.
    for (old_us, verdict) in [(1_000, Verdict::Faster), (300, Verdict::Slower)] {
        let record = judged(unknown(old_us, 6, 1));
        let p99 = by(&record, Metric::ResponseP99).unwrap();
        assert_eq!((p99.verdict, p99.at_least), (verdict, false));
        assert_eq!(ids(&limits(&record, &p99.findings)), []);
        let known = judged(unknown(old_us, 0, 0));
        let exact = by(&known, Metric::ResponseP99).unwrap();
        let off = (p99.ratio.unwrap() / exact.ratio.unwrap()).ln();
        assert!(off.abs() < 0.005, "{p99:?}");
        // The interval holds the possible ratios.
        assert!(
            p99.low <= exact.low && exact.high <= p99.high,
            "{p99:?} {exact:?}"
        );
    }
}

#[test]
fn a_verdict_holds_at_both_bounds_of_an_uncertain_quantile() {
    // Method: the p99 of `new` lies between 570 and 670 µs in each block. Against 1,000 and
    // 300 µs it is faster and slower, by at least the ratio at the nearer bound; against 620 µs
    // nothing is settled.
    let of = |old_us| {
        let record = judged(unknown(old_us, 100, 6));
        let p99 = by(&record, Metric::ResponseP99).unwrap().clone();
        let pairs = ids(&limits(&record, &p99.findings));
        (p99, pairs)
    };
    let near = |ratio: f64, wanted: f64| (ratio / wanted - 1.0).abs() < 0.02;
    let (faster, pairs) = of(1_000);
    assert_eq!((faster.verdict, faster.at_least), (Verdict::Faster, true));
    assert_eq!(pairs, [(FindingId::TimesAtLeast, Level::Bound)]);
    assert!(near(faster.ratio.unwrap(), 0.67), "{faster:?}");
    assert!(
        faster.low < Some(0.57) && faster.high > Some(0.665),
        "{faster:?}"
    );
    let (slower, pairs) = of(300);
    assert_eq!((slower.verdict, slower.at_least), (Verdict::Slower, true));
    assert_eq!(pairs, [(FindingId::TimesAtLeast, Level::Bound)]);
    assert!(near(slower.ratio.unwrap(), 570.0 / 300.0), "{slower:?}");
    let (open, pairs) = of(620);
    assert_eq!(
        (open.verdict, open.at_least),
        (Verdict::Inconclusive, false)
    );
    assert_eq!(pairs, [(FindingId::TimesAtLeast, Level::Note)]);
    assert!(open.low < Some(0.92) && open.high > Some(1.07), "{open:?}");
}

#[test]
fn a_closed_loop_has_no_comparison_of_response_times() {
    // Method: the response times of the open loop in a closed loop, where they follow from
    // throughput.
    let mut record = open(&[]);
    record.loads[0].settings.arrivals = ArrivalSettings::default();
    let record = judged(record);
    for metric in Metric::RESPONSE {
        assert_eq!(by(&record, metric), None);
    }
    assert_eq!(primary(&record)[0].metric, Metric::Throughput);
}

#[test]
fn the_cost_of_a_response_is_compared_beside_throughput() {
    // Method: `new` gives 1.1 times as many responses with as much processor time, and each
    // has 1.1 times the bytes.
    let mut record = pair();
    each_slice(&mut record, "old", |slice| slice.bytes = 100 * slice.ok);
    each_slice(&mut record, "new", |slice| slice.bytes = 110 * slice.ok);
    let record = judged(record);
    let cpu = by(&record, Metric::ServerCpu).unwrap();
    assert_eq!((cpu.verdict, cpu.role), (Verdict::Less, Role::Exploratory));
    assert!((cpu.ratio.unwrap() - 1.0 / 1.1).abs() < 1e-3);
    let bytes = by(&record, Metric::WireBytes).unwrap();
    assert_eq!(bytes.verdict, Verdict::More);
    // Exact counts need no more blocks than a spread does.
    assert!(!bytes.too_few_blocks);
    assert_close(bytes.ratio.unwrap(), 1.1);
    let memory = by(&record, Metric::Memory).unwrap();
    assert_eq!(memory.verdict, Verdict::Equivalent);
    let ready = by(&record, Metric::ReadyTime).unwrap();
    assert_eq!(
        (ready.verdict, ready.load.as_str()),
        (Verdict::Equivalent, "")
    );
}

#[test]
fn memory_is_compared_by_pages_that_processes_do_not_share() {
    // Method: `new` has 1.2 times the unshared pages of `old`.
    let mut record = pair();
    for (name, bytes) in [("old", 100_000_000), ("new", 120_000_000)] {
        sides(&mut record, name).for_each(|side| side.pss_bytes = Some(bytes));
    }
    let memory = by(&judged(record), Metric::Memory).unwrap();
    assert_eq!(memory.verdict, Verdict::More);
    assert_close(memory.ratio.unwrap(), 1.2);
}

#[test]
fn a_metric_unknown_in_some_block_is_not_compared() {
    // Method: one block without a reading of processor time, and one in which a
    // subject was not started.
    let mut record = pair();
    for round in &mut record.blocks[3].loads[0].rounds {
        round.slices[1].server_cpu_ns = None;
    }
    record.blocks[2].subjects.get_mut("old").unwrap().ready_s = None;
    let record = judged(record);
    assert_eq!(by(&record, Metric::ServerCpu), None);
    assert_eq!(by(&record, Metric::ReadyTime), None);
    assert!(by(&record, Metric::Memory).is_some());
}

/// Two loads in this many blocks; in their warm-up, `old` has half of its speed and `new` a
/// quarter.
fn cold(blocks: usize) -> Measured {
    let mut record = two_loads();
    for (subject, part) in [("old", 2), ("new", 4)] {
        let ok = if subject == "old" { OK } else { 9_900 };
        let mut cold = SliceRecord::of(subject, &SliceTally::default());
        abx_fixtures::response(&mut cold, &[(abx_evidence::Outcome::Ok, ok / part)]);
        cold.connection_ns = 10 * 90 * MS;
        cold.measured_ns = 90 * MS;
        sides(&mut record, subject).for_each(|side| side.warm_up = Some(cold.clone()));
    }
    while record.blocks.len() < blocks {
        record = longer(record);
    }
    record
}

#[test]
fn a_cold_start_is_compared_if_its_load_was_first_in_enough_blocks() {
    // Method: `small` is first in every block, of six and of nine. Then each load is first in
    // too few blocks for a verdict.
    for blocks in [6, 9] {
        let record = judged(cold(blocks));
        let cold = by(&record, Metric::ColdStart).unwrap();
        assert_eq!((cold.load.as_str(), cold.blocks), ("small", blocks));
        assert_eq!(cold.verdict, Verdict::Slower);
        assert!((cold.ratio.unwrap() - 0.5).abs() < 0.01, "{cold:?}");
    }
    let mut mixed = cold(9);
    mixed.blocks[..4]
        .iter_mut()
        .for_each(|block| block.loads.reverse());
    assert_eq!(by(&judged(mixed), Metric::ColdStart), None);
}

#[test]
fn sessions_that_were_not_resumed_are_noted_if_all_should_be() {
    // Method: one handshake per response of 100, of which 97, 98 and all were resumed; 97 under
    // a load that requests full handshakes; and a slice without a count.
    let resumed = |count: Option<u64>, resumption: bool| {
        let mut record = pair();
        record.loads[0].settings.tls = Some(TlsSettings {
            trust: TlsTrustKind::Anyone,
            version: None,
            resumption,
            shows_certificate: false,
        });
        let slices = all_slices(&mut record).filter(|slice| slice.subject == "new");
        let mut total = 0;
        for slice in slices {
            slice.resumed = count;
            total += 100 * u64::from(count.is_some());
        }
        let mut times = Histograms::default();
        fill(&mut times.handshake, total, 300);
        record.blocks[0].loads[0]
            .histograms
            .insert("new".to_owned(), times);
        let conclusions = judged(record);
        let new = conclusions
            .summaries
            .iter()
            .find(|summary| summary.subject == "new");
        let finding = find(&conclusions.validity.findings, FindingId::NotResumed);
        (
            new.unwrap().handshakes_resumed,
            finding.map(|finding| finding.message.clone()),
        )
    };
    let (share, message) = resumed(Some(97), true);
    assert_eq!(share, Some(0.97));
    assert!(
        message
            .unwrap()
            .starts_with("only 97.0 % of the TLS handshakes with new resumed")
    );
    assert_eq!(resumed(Some(98), true), (Some(0.98), None));
    assert_eq!(resumed(Some(100), true), (Some(1.0), None));
    assert_eq!(resumed(Some(97), false), (Some(0.97), None));
    assert_eq!(resumed(None, true), (None, None));
}
