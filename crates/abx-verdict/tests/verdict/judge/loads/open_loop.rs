//! Studies of an open loop: the metrics compared, and the reports in their place.

use std::borrow::Borrow;

use abx_evidence::record::Histograms;
use abx_evidence::{
    ArrivalKind, ArrivalSettings, Finding, FindingId, Histogram, Level, Limits, Measured, Outcome,
};
use abx_stats::stop::Decision;
use abx_verdict::{Conclusions, Metric, Status, Verdict, may_stop};

use abx_fixtures::{
    COUNTED_NS, Compared, MS, OK, all_slices, assert_close, compared, each_slice, find, ids,
    judged, limits, pair, primary, response, sides, study,
};

/// Six blocks in which both subjects responded to all 100,000 requests due per second.
fn open_pair() -> Measured {
    let mut record = study(&[("old", &[OK; 6]), ("new", &[OK; 6])]);
    record.loads[0].settings.arrivals = ArrivalSettings {
        kind: ArrivalKind::Constant,
        rate_per_s: Some(100_000.0),
        connections_rest: false,
        text: "100000".to_owned(),
    };
    record
}

/// Leaves this many requests of each slice of one subject unsent.
fn leave_unsent(record: &mut Measured, subject: &str, unsent: u64) {
    each_slice(record, subject, |slice| {
        response(slice, &[(Outcome::Ok, OK - unsent)]);
        slice.unsent = unsent;
    });
}

/// Changes the times of one subject in each block.
fn give_times(record: &mut Measured, subject: &str, change: impl Fn(&mut Histograms)) {
    for block in &mut record.blocks {
        let histograms = &mut block.loads[0].histograms;
        change(histograms.entry(subject.to_owned()).or_default());
    }
}

fn fill(times: &mut Histogram, count: u64, us: u64) {
    (0..count).for_each(|_| times.record_ns(us * 1_000));
}

fn of_new(record: &Conclusions, id: impl Borrow<FindingId>) -> Option<&Finding> {
    let finding = find(&record.validity.findings, id)?;
    assert_eq!(finding.subject.as_deref(), Some("new"));
    assert_eq!(finding.load.as_deref(), Some("small"));
    Some(finding)
}

#[test]
fn throughput_is_not_compared_if_both_kept_up() {
    // Method: no request missing, then the most permitted: 1 %. A stop by precision would rest
    // on a comparison that does not exist.
    for unsent in [0, 90] {
        let mut record = open_pair();
        leave_unsent(&mut record, "new", unsent);
        assert_eq!(may_stop(&record), Decision::Continue);
        let record = judged(record);
        assert_eq!(primary(&record), []);
        let finding = of_new(&record, FindingId::BothKeptUp).unwrap();
        assert_eq!(finding.level, Level::Note);
        assert!(finding.message.contains("100000/s"), "{finding:?}");
        assert_eq!(record.validity.status, Status::Valid);
    }
}

#[test]
fn requests_in_flight_at_the_end_do_not_count_against_a_subject() {
    // Method: with 5 % unfinished a subject has kept up, with 5 % of wrong statuses it has not.
    for (outcome, is_compared) in [(Outcome::Unfinished, false), (Outcome::WrongStatus, true)] {
        let mut record = open_pair();
        each_slice(&mut record, "new", |slice| {
            response(slice, &[(Outcome::Ok, OK - 450), (outcome, 450)]);
        });
        assert_eq!(!primary(&judged(record)).is_empty(), is_compared);
    }
}

#[test]
fn a_subject_that_kept_up_has_a_lower_bound_of_its_lead() {
    // Method: `old` responds to 4 of 5 due requests. The open loop's throughput is responses
    // over measured time, however long connections were in use.
    let mut record = open_pair();
    leave_unsent(&mut record, "old", OK / 5);
    each_slice(&mut record, "old", |slice| slice.connection_ns /= 3);
    assert_eq!(may_stop(&record), may_stop(&pair()));
    let record = judged(record);
    assert_close(record.summaries[0].throughput_per_s.unwrap(), 80_000.0);
    let compared = Compared::of(&record, &record.comparisons[0]);
    assert_eq!(
        (compared.verdict, compared.at_least),
        (Verdict::Faster, true)
    );
    assert_close(compared.ratio.unwrap(), 1.25);
    assert_eq!(
        ids(&compared.findings),
        [
            (FindingId::OfferedRateNotReached, Level::Note),
            (FindingId::HeldByRate, Level::Bound)
        ]
    );
    assert_eq!(
        of_new(&record, FindingId::HeldByRate),
        compared.findings.last()
    );
}

#[test]
fn two_subjects_that_did_not_keep_up_are_compared_as_they_are() {
    // Method: 8 of 10 and 6 of 10 due requests.
    let mut record = open_pair();
    leave_unsent(&mut record, "old", OK / 5);
    leave_unsent(&mut record, "new", 2 * OK / 5);
    let compared = compared(record);
    assert_eq!(
        (compared.verdict, compared.at_least),
        (Verdict::Slower, false)
    );
    assert_close(compared.ratio.unwrap(), 0.75);
}

#[test]
fn a_void_comparison_is_reported_as_such_though_both_kept_up() {
    // Method: half a percent of failures, which counts as keeping up and voids.
    let mut record = open_pair();
    each_slice(&mut record, "new", |slice| {
        response(slice, &[(Outcome::Ok, OK - 45), (Outcome::Reset, 45)]);
    });
    assert_eq!(compared(record).verdict, Verdict::Invalid);
}

#[test]
fn a_void_pair_that_kept_up_has_the_metric_that_would_have_decided() {
    // Method: the same failures, with response times in every block; then too many failures to
    // count as keeping up.
    for (failed, metric) in [(45, Metric::ResponseP99), (900, Metric::Throughput)] {
        let mut record = open_pair();
        for name in ["old", "new"] {
            give_times(&mut record, name, |times| {
                fill(&mut times.response, 10_000, 500);
            });
        }
        each_slice(&mut record, "new", |slice| {
            let counts = [(Outcome::Ok, OK - failed), (Outcome::Reset, failed)];
            response(slice, &counts);
        });
        let record = judged(record);
        let [compared] = &primary(&record)[..] else {
            panic!("{record:?}")
        };
        let result = (compared.metric, compared.verdict);
        assert_eq!(result, (metric, Verdict::Invalid), "{failed}");
        assert!(find(&record.validity.findings, FindingId::BothKeptUp).is_none());
    }
}

#[test]
fn a_rate_that_the_generator_did_not_reach_is_a_bound() {
    // Method: a fifth unsent, on a generator at 97 % and a subject at 60 %.
    let mut record = open_pair();
    leave_unsent(&mut record, "new", OK / 5);
    each_slice(&mut record, "new", |slice| {
        slice.server_cpu_ns = Some(60 * MS);
        slice.busiest_worker_ns = 97 * MS;
    });
    sides(&mut record, "new").for_each(|side| side.busiest_thread_ns = Some(100 * MS));
    let record = judged(record);
    let finding = of_new(&record, FindingId::OfferedRateNotReached).unwrap();
    assert_eq!(finding.level, Level::Bound);
    // It was the slower subject, so nothing is known of the pair but the cost of responses.
    assert_eq!(record.comparisons[0].metric, Metric::ServerCpu);
}

#[test]
fn findings_about_closed_loops_do_not_apply_to_open_loops() {
    // Method: idle connections of every kind: silent, few requests in flight, and both sides far
    // from their limit. A closed loop has all of these findings.
    let idle = |mut record: Measured| {
        for slice in all_slices(&mut record) {
            slice.silent = 9;
            slice.response_ns_sum = COUNTED_NS / 100;
            slice.server_cpu_ns = Some(20 * MS);
            slice.busy_ns = Some(70 * MS);
        }
        for name in ["old", "new"] {
            sides(&mut record, name).for_each(|side| side.busiest_thread_ns = Some(MS));
        }
        judged(record).validity.findings
    };
    let closed_only = [
        FindingId::LittleLaw,
        FindingId::ConnectionsWithoutResponse,
        FindingId::NotSaturated,
    ];
    for id in closed_only {
        assert!(find(&idle(pair()), &id).is_some(), "{id}");
        assert_eq!(find(&idle(open_pair()), &id), None);
    }
}

#[test]
fn findings_about_times_do_not_affect_throughput() {
    // Method: `new` had late sends and requests without a response, and was the faster of two
    // subjects that did not keep up; its ratio is no "at least".
    let mut record = open_pair();
    leave_unsent(&mut record, "old", OK / 5);
    leave_unsent(&mut record, "new", OK / 10);
    give_times(&mut record, "new", |times| {
        fill(&mut times.response, 90, 1_000);
        fill(&mut times.response, 10, 90_000);
        fill(&mut times.response_at_least, 10, 90_000);
        fill(&mut times.lateness, 100, 5_000);
        fill(&mut times.loop_lag, 100, 2_000);
    });
    let record = judged(record);
    for (id, level) in [
        (FindingId::LateSends, Level::Bound),
        (FindingId::TimesAtLeast, Level::Bound),
        (FindingId::LoopLag, Level::Note),
    ] {
        let finding = of_new(&record, &id).unwrap();
        assert_eq!(
            (finding.level, finding.limits),
            (level, Limits::Times),
            "{id}"
        );
        assert_eq!(
            find(&limits(&record, &record.comparisons[0].findings), &id),
            None
        );
    }
    // 12 slices with a tenth of 9,000 requests.
    let counts = "10800 requests";
    assert!(
        of_new(&record, FindingId::TimesAtLeast)
            .unwrap()
            .message
            .contains(counts)
    );
    assert!(!record.comparisons[0].at_least);
    assert_eq!(record.validity.status, Status::Bound);
}

#[test]
fn late_sends_of_a_study_name_the_time_that_the_machine_took() {
    // Method: 1 % of both processors by the hypervisor, and no other cause.
    let mut record = open_pair();
    give_times(&mut record, "new", |times| {
        fill(&mut times.lateness, 100, 5_000)
    });
    let without = judged(record.clone());
    assert!(
        of_new(&without, FindingId::LateSends)
            .unwrap()
            .message
            .contains("not known")
    );
    each_slice(&mut record, "new", |slice| slice.steal_ns = Some(2 * MS));
    let record = judged(record);
    let finding = of_new(&record, FindingId::LateSends).unwrap();
    assert!(finding.message.contains("others 1.0 %"), "{finding:?}");
}

#[test]
fn summaries_hold_due_requests_and_bounds() {
    // Method: only `new` has bounds and unsent requests in every slice.
    let mut record = open_pair();
    leave_unsent(&mut record, "new", 100);
    each_slice(&mut record, "new", |slice| slice.queued = 7);
    give_times(&mut record, "new", |times| {
        fill(&mut times.response, 98, 1_000);
        fill(&mut times.response, 2, 90_000);
        fill(&mut times.response_at_least, 2, 90_000);
    });
    let record = judged(record);
    let summary = &record.summaries[1];
    let offered = summary.offered.unwrap();
    assert_eq!(
        (offered.planned, offered.unsent, offered.queued),
        (12 * OK, 1_200, 84)
    );
    assert_eq!(
        (summary.response_time_us.p95, summary.response_time_us.p99),
        (Some(1_000), Some(90_047))
    );
    let named = serde_json::to_value(&summary.response_time_us.at_least).unwrap();
    assert_eq!(named, serde_json::json!(["p99", "p99_9", "max", "mean"]));
    assert_eq!(judged(pair()).summaries[1].offered, None);
}
