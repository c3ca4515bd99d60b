//! Findings about the pace of a single run: unsent requests, late requests, and times that
//! rest on requests without a response.

use abx_evidence::{
    ArrivalKind, ArrivalSettings, Finding, FindingId, Level, Limits, Measured, Outcome,
};
use abx_fixtures::{RUN_NS, URL, find, histogram, ids, response, run, times};
use abx_verdict::StudyRecord;

use crate::judge::loads::runs::{generator_busy, server_busy, slice};

/// 10 s of a constant rate that was kept, without anything that limits the figures.
fn open_run() -> Measured {
    let mut record = run();
    record.loads[0].settings.arrivals = ArrivalSettings {
        kind: ArrivalKind::Constant,
        rate_per_s: Some(1_000.0),
        text: "1000".to_owned(),
        ..ArrivalSettings::default()
    };
    times(&mut record, URL).response = histogram(&[(10_000, 50_000)]);
    server_busy(&mut record, 0.2);
    record
}

/// Leaves this many of the 10,000 due requests unsent.
fn unsent(record: &mut Measured, count: u64) {
    response(slice(record), &[(Outcome::Ok, 10_000 - count)]);
    slice(record).unsent = count;
}

fn late(record: &mut Measured, p99_us: u64) {
    times(record, URL).lateness = histogram(&[(98, 1), (2, p99_us)]);
}

/// The findings after a change, with a generator that waited for this many per mille of the
/// time.
fn findings_after(wait: u64, change: impl FnOnce(&mut Measured)) -> Vec<Finding> {
    let mut record = open_run();
    slice(&mut record).generator_wait_ns = Some(wait * RUN_NS / 1_000);
    change(&mut record);
    findings(record)
}

fn findings(record: Measured) -> Vec<Finding> {
    StudyRecord::judged(record).conclusions.validity.findings
}

#[test]
fn an_open_loop_that_kept_its_pace_has_no_findings() {
    // Method: the record that all other tests change.
    assert_eq!(findings_after(0, |_| ()), []);
}

#[test]
fn a_rate_that_was_not_reached_names_its_limit() {
    // Method: 100 and 101 unsent of 10,000, with the busyness of generator and server on both
    // sides of their limits, in percent.
    let cases = [
        (100, 99, 20, 0, None),
        (101, 89, 20, 0, Some(Level::Note)),
        (101, 90, 20, 0, Some(Level::Bound)),
        (101, 89, 20, 10, Some(Level::Bound)),
        (101, 99, 95, 0, Some(Level::Note)),
    ];
    for (missed, generator, server, wait, level) in cases {
        let findings = findings_after(wait, |record| {
            unsent(record, missed);
            generator_busy(record, f64::from(generator) / 100.0);
            server_busy(record, f64::from(server) / 100.0);
        });
        let expected: Vec<_> = level
            .map(|level| (FindingId::OfferedRateNotReached, level))
            .into_iter()
            .collect();
        assert_eq!(ids(&findings), expected);
        let Some(finding) = findings.first() else {
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
    // Method: 1 µs to each side of both limits; only times are bounded.
    for (median, p99, expected) in [
        (50_000, 1_000, None),
        (50_000, 1_001, Some(Level::Bound)),
        (5_000, 500, None),
        (5_000, 501, Some(Level::Note)),
    ] {
        let findings = findings_after(0, |record| {
            late(record, p99);
            times(record, URL).response = histogram(&[(10_000, median)]);
        });
        let finding = find(&findings, FindingId::LateSends);
        assert_eq!(
            finding.map(|finding| finding.level),
            expected,
            "{median} {p99}"
        );
        assert!(finding.is_none_or(|finding| finding.limits == Limits::Times));
    }
}

#[test]
fn late_sends_name_their_causes_with_a_remedy_for_each() {
    // Method: each cause alone, at its limit and just below, then both together.
    type Change = fn(&mut Measured);
    let busy: Change = |record| generator_busy(record, 0.90);
    let less_busy: Change = |record| generator_busy(record, 0.89);
    let cases: [(u64, Change, &[&str], &str); 5] = [
        (0, busy, &["used 90 %"], "thread"),
        (0, less_busy, &["not known"], "rate"),
        (10, |_| (), &["wait 1.0 %"], "other programs"),
        (9, |_| (), &["not known"], "rate"),
        (10, busy, &["used 90 %", "wait 1.0 %"], "other programs"),
    ];
    for (wait, change, causes, remedy) in cases {
        let findings = findings_after(wait, |record| {
            late(record, 104_000);
            change(record);
        });
        let finding = find(&findings, FindingId::LateSends).unwrap();
        assert_eq!(finding.level, Level::Bound, "{finding:?}");
        assert!(finding.message.contains("104.1 ms"), "{finding:?}");
        for cause in causes {
            assert!(finding.message.contains(cause), "{cause}: {finding:?}");
        }
        assert!(finding.remedy.contains(remedy), "{finding:?}");
    }
}

#[test]
fn waiting_for_a_connection_is_noted_as_the_server_s_doing() {
    // Method: 99 and 100 of 10,000; no send is late by it.
    for (queued, expected) in [(99, None), (100, Some(Level::Note))] {
        let findings = findings_after(0, |record| slice(record).queued = queued);
        let finding = find(&findings, FindingId::Queued);
        assert_eq!(finding.map(|finding| finding.level), expected);
        assert!(finding.is_none_or(|finding| finding.remedy.contains("connections")));
    }
}

#[test]
fn a_generator_that_lags_behind_its_clock_by_more_than_1_ms_is_noted() {
    // Method: at the limit and just above.
    for (lag, expected) in [(1_000, None), (1_001, Some(Level::Note))] {
        let findings = findings_after(0, |record| {
            times(record, URL).loop_lag = histogram(&[(98, 1), (2, lag)]);
        });
        assert_eq!(
            find(&findings, FindingId::LoopLag).map(|finding| finding.level),
            expected
        );
    }
}

#[test]
fn quantiles_that_rest_on_requests_without_response_are_at_least() {
    // Method: every single timeout affects the longest time, which its sign shows well enough;
    // from the first quantile on, it is a finding about times.
    let without_response = |count: u64, given_up_us: u64| {
        findings_after(0, |record| {
            let counts = [(Outcome::Ok, 10_000 - count), (Outcome::Unfinished, count)];
            response(slice(record), &counts);
            let histograms = times(record, URL);
            let responded = [(9_890, 50_000), (110 - count, 60_000)];
            histograms.response = histogram(&responded);
            histograms.response_at_least = histogram(&[(count, given_up_us)]);
            histograms.response.merge(&histograms.response_at_least);
        })
    };
    assert_eq!(without_response(10, 900_000), []);
    let findings = without_response(15, 55_000);
    assert_eq!(ids(&findings), [(FindingId::TimesAtLeast, Level::Bound)]);
    assert_eq!(findings[0].limits, Limits::Times);
    assert!(
        findings[0].message.contains("its p99, p99.9 are at least"),
        "{findings:?}"
    );
    assert!(findings[0].message.contains("15 requests"), "{findings:?}");
}

#[test]
fn unsent_requests_are_among_those_without_a_response() {
    // Method: five unsent requests beside two timeouts.
    let findings = findings_after(0, |record| {
        let counts = [(Outcome::Ok, 9_990), (Outcome::Timeout, 2)];
        response(slice(record), &counts);
        slice(record).unsent = 5;
        let histograms = times(record, URL);
        histograms.response = histogram(&[(7, 50_000)]);
        histograms.response_at_least = histograms.response.clone();
    });
    let finding = find(&findings, FindingId::TimesAtLeast).unwrap();
    let message = "never sent 5 requests";
    assert!(finding.message.contains(message), "{finding:?}");
    assert!(
        finding.message.contains("and 2 had no response"),
        "{finding:?}"
    );
    assert!(!finding.remedy.contains("--timeout"), "{finding:?}");
    assert!(finding.remedy.contains("-c"), "{finding:?}");
}

#[test]
fn findings_about_open_loops_do_not_apply_to_closed_loops() {
    // Method: a closed loop with late sends has none of them; an open loop with a busy generator
    // that kept its rate is not limited by it.
    let mut closed = run();
    late(&mut closed, 104_000);
    assert_eq!(findings(closed), []);
    let findings = findings_after(0, |record| generator_busy(record, 0.95));
    assert_eq!(findings, []);
}
