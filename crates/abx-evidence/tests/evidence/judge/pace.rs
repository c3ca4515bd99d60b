//! Findings about the pace of a single run: what was not sent, what was sent
//! late, and which times rest on requests without an answer.

use abx_evidence::{
    ArrivalKind, Arrivals, Figure, Finding, FindingId, Level, Limits, Offered, Outcome, RunRecord,
    SliceTally, Times, judge_run,
};

use crate::judge::runs::{requests, run};
use abx_fixtures::{find, ids};

const SECOND: u64 = 1_000_000_000;

/// 10 s of a constant rate that was kept, of which nothing limits the figures.
fn open_run() -> RunRecord {
    let mut record = run();
    record.settings.arrivals = Arrivals {
        kind: ArrivalKind::Constant,
        rate_per_s: Some(1_000.0),
        text: "1000".to_owned(),
    };
    record.offered = Some(Offered {
        planned: 10_000,
        sent: 10_000,
        ..Offered::default()
    });
    record.response_time_us = Times {
        p50: Some(50_000),
        ..Times::default()
    };
    let server = record.server.as_mut();
    server.expect("the run has a server").busy = 0.2;
    record
}

fn offered(record: &mut RunRecord) -> &mut Offered {
    let offered = record.offered.as_mut();
    offered.expect("an open loop has been offered something")
}

fn late(record: &mut RunRecord, p99: u64) {
    record.generator.lateness_us.p99 = Some(p99);
}

/// What is found after a change, on a generator that waited for so many per
/// mille of the time.
fn found(wait: u64, change: impl FnOnce(&mut RunRecord)) -> Vec<Finding> {
    let mut record = open_run();
    change(&mut record);
    let slice = SliceTally {
        wall_ns: 10 * SECOND,
        generator_wait_ns: Some(wait * SECOND / 100),
        ..SliceTally::default()
    };
    judge_run(&record, &slice)
}

#[test]
fn an_open_loop_that_kept_its_pace_has_no_findings() {
    // Method: the record that all other tests start from.
    assert_eq!(found(0, |_| ()), []);
}

#[test]
fn a_rate_that_was_not_reached_names_who_was_the_limit() {
    // Method: 100 and 101 unsent of 10,000, on a generator and a server that
    // were busy to both sides of their limits, in percent.
    let cases = [
        (100, 99, 20, 0, None),
        (101, 89, 20, 0, Some(Level::Note)),
        (101, 90, 20, 0, Some(Level::Bound)),
        (101, 89, 20, 10, Some(Level::Bound)),
        (101, 99, 95, 0, Some(Level::Note)),
    ];
    for (unsent, generator, server, wait, level) in cases {
        let found = found(wait, |record| {
            offered(record).unsent = unsent;
            offered(record).sent = 10_000 - unsent;
            record.generator.busy = f64::from(generator) / 100.0;
            record.server.as_mut().unwrap().busy = f64::from(server) / 100.0;
        });
        let expected: Vec<_> = level
            .map(|level| (FindingId::OfferedRateNotReached, level))
            .into_iter()
            .collect();
        assert_eq!(ids(&found), expected);
        let Some(finding) = found.first() else {
            continue;
        };
        let is_generator = level == Some(Level::Bound);
        assert!(finding.message.contains("101 of 10000"), "{finding:?}");
        assert_eq!(finding.message.contains("generator"), is_generator);
        assert_eq!(finding.remedy.contains("connections"), !is_generator);
        assert_eq!(finding.limits, Limits::All);
    }
}

#[test]
fn late_sends_bound_the_times_above_1_ms_and_are_noted_above_a_tenth_of_the_median() {
    // Method: one µs to each side of both limits; times only are bounded.
    for (median, p99, expected) in [
        (50_000, 1_000, None),
        (50_000, 1_001, Some(Level::Bound)),
        (5_000, 500, None),
        (5_000, 501, Some(Level::Note)),
    ] {
        let found = found(0, |record| {
            late(record, p99);
            record.response_time_us.p50 = Some(median);
        });
        let finding = find(&found, FindingId::LateSends);
        assert_eq!(finding.map(|one| one.level), expected, "{median} {p99}");
        assert!(finding.is_none_or(|one| one.limits == Limits::Times));
    }
}

#[test]
fn late_sends_name_their_causes_with_a_remedy_for_each() {
    // Method: each cause alone, at its limit and just below, then both at once.
    type Change = fn(&mut RunRecord);
    let busy: Change = |record| record.generator.busy = 0.90;
    let less_busy: Change = |record| record.generator.busy = 0.89;
    let cases: [(u64, Change, &[&str], &str); 5] = [
        (0, busy, &["used 90 %"], "thread"),
        (0, less_busy, &["not known"], "rate"),
        (10, |_| (), &["wait 1.0 %"], "other programs"),
        (9, |_| (), &["not known"], "rate"),
        (10, busy, &["used 90 %", "wait 1.0 %"], "other programs"),
    ];
    for (wait, change, causes, remedy) in cases {
        let found = found(wait, |record| {
            late(record, 104_000);
            change(record);
        });
        let finding = find(&found, FindingId::LateSends).unwrap();
        assert_eq!(finding.level, Level::Bound, "{finding:?}");
        assert!(finding.message.contains("104.0 ms"), "{finding:?}");
        for cause in causes {
            assert!(finding.message.contains(cause), "{cause}: {finding:?}");
        }
        assert!(finding.remedy.contains(remedy), "{finding:?}");
    }
}

#[test]
fn waiting_for_a_connection_is_the_server_s_doing_and_noted() {
    // Method: 99 and 100 of 10,000; it makes no send late.
    for (queued, expected) in [(99, None), (100, Some(Level::Note))] {
        let found = found(0, |record| offered(record).queued = queued);
        let finding = find(&found, FindingId::Queued);
        assert_eq!(finding.map(|one| one.level), expected);
        assert!(finding.is_none_or(|one| one.remedy.contains("connections")));
    }
}

#[test]
fn a_generator_away_from_its_clock_is_noted_above_1_ms() {
    // Method: at the limit and just above.
    for (lag, expected) in [(1_000, None), (1_001, Some(Level::Note))] {
        let found = found(0, |record| record.generator.loop_lag_us.p99 = Some(lag));
        assert_eq!(
            find(&found, FindingId::LoopLag).map(|one| one.level),
            expected
        );
    }
}

#[test]
fn quantiles_that_rest_on_unanswered_requests_are_at_least() {
    // Method: the longest alone is so with every single timeout, and its sign
    // says enough; from the first quantile on it is a finding about times.
    let unanswered = |figures: &[Figure]| {
        let figures = figures.to_vec();
        found(0, move |record| {
            record.requests = requests(&[(Outcome::Ok, 9_990), (Outcome::Unfinished, 10)]);
            record.response_time_us.at_least = figures;
        })
    };
    assert_eq!(unanswered(&[Figure::Max, Figure::Mean]), []);
    let found = unanswered(&[Figure::P99, Figure::P999, Figure::Max, Figure::Mean]);
    assert_eq!(ids(&found), [(FindingId::TimesAtLeast, Level::Bound)]);
    assert_eq!(found[0].limits, Limits::Times);
    assert!(found[0].message.contains("p99, p99.9 of"), "{found:?}");
    assert!(found[0].message.contains("10 requests"), "{found:?}");
}

#[test]
fn unsent_requests_are_among_those_without_an_answer() {
    // Method: the slice's count, beside two timeouts.
    let mut record = open_run();
    record.requests = requests(&[(Outcome::Ok, 9_990), (Outcome::Timeout, 2)]);
    record.response_time_us.at_least = vec![Figure::P50];
    let mut slice = SliceTally::default();
    (0..5).for_each(|_| slice.tally.record_unsent(0, 1_000));
    let found = judge_run(&record, &slice);
    let finding = find(&found, FindingId::TimesAtLeast).unwrap();
    assert!(finding.message.contains("7 requests"), "{finding:?}");
}

#[test]
fn what_is_said_of_an_open_loop_is_not_said_of_a_closed_one() {
    // Method: a closed loop with late sends has none of it; an open one with a
    // busy generator that kept its rate is not held back by it.
    let mut closed = run();
    late(&mut closed, 104_000);
    assert_eq!(judge_run(&closed, &SliceTally::default()), []);
    assert_eq!(found(0, |record| record.generator.busy = 0.95), []);
}

#[test]
fn a_run_that_lacks_what_every_run_has_is_refused() {
    // Method: each key alone taken out of the JSON; the error names it.
    let whole = serde_json::to_value(run()).unwrap();
    let keys = [
        ("settings", "arrivals"),
        ("generator", "loop_lag_us"),
        ("response_time_us", "at_least"),
    ];
    for (within, key) in keys {
        let mut json = whole.clone();
        let object = json[within].as_object_mut().unwrap();
        assert!(object.remove(key).is_some(), "{key}");
        let error = serde_json::from_value::<RunRecord>(json).unwrap_err();
        assert!(error.to_string().contains(key), "{error}");
    }
}
