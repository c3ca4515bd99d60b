//! Failed requests, and resources that abx itself ran out of.

use abx_evidence::{FindingId, Level, Outcome};
use abx_verdict::{Verdict, judge};

use abx_fixtures::{
    Compared, OK, compared, each_slice, find, ids, judged, outcomes, pair, response, two_loads,
};

/// Other outcomes of `new` in each of its 12 slices, of which 100 bodies were hashed.
fn with_outcomes(counts: &[(Outcome, u64)]) -> Compared {
    let mut record = pair();
    each_slice(&mut record, "new", |slice| response(slice, counts));
    compared(record)
}

#[test]
fn up_to_one_in_a_thousand_requests_may_fail() {
    // Method: each kind of failure at exactly 0.1 %, then one more of 9,000.
    let kinds = [
        Outcome::WrongStatus,
        Outcome::WrongLength,
        Outcome::Malformed,
        Outcome::Refused,
        Outcome::Unreachable,
        Outcome::Reset,
        Outcome::StreamReset,
        Outcome::Timeout,
        Outcome::EarlyClose,
        Outcome::EmptyResponse,
        Outcome::Unsolicited,
    ];
    for kind in kinds {
        for (failed, level) in [(9, Level::Note), (10, Level::Void)] {
            let compared = with_outcomes(&[(Outcome::Ok, OK - failed), (kind, failed)]);
            assert_eq!(
                ids(&compared.findings),
                [(FindingId::FailedRequests, level)],
                "{kind:?}"
            );
            let message = &compared.findings[0].message;
            let figures = format!("{} of 108000 requests to new", 12 * failed);
            assert!(message.contains(&figures), "{message}");
            assert!(message.contains(kind.name()), "{message}");
            assert_eq!(compared.verdict == Verdict::Invalid, level == Level::Void);
            assert_eq!(compared.ratio.is_none(), level == Level::Void);
        }
    }
}

#[test]
fn wrong_bodies_are_weighed_by_the_number_of_checked_bodies() {
    // Method: one wrong body in 9,000 responses is 1 of the 100 hashed bodies.
    let wrong = [(Outcome::Ok, OK - 1), (Outcome::WrongBody, 1)];
    let result = with_outcomes(&wrong);
    assert_eq!(result.verdict, Verdict::Invalid);
    let message = &result.findings[0].message;
    assert!(
        message.contains("12 of the 1200 verified bodies"),
        "{message}"
    );

    // With all bodies hashed, as many wrong bodies are 0.011 %.
    let mut record = pair();
    each_slice(&mut record, "new", |slice| {
        response(slice, &wrong);
        slice.hashed = OK;
    });
    assert_eq!(
        ids(&compared(record).findings),
        [(FindingId::FailedRequests, Level::Note)]
    );
}

#[test]
fn a_failure_in_the_discarded_part_counts_as_a_failure() {
    // Method: no failure in the counted part; 1 % refused in the discarded part.
    let mut record = pair();
    each_slice(&mut record, "new", |slice| {
        slice.discarded = outcomes(&[(Outcome::Ok, 900), (Outcome::Refused, 100)]);
    });
    let result = compared(record);
    assert_eq!(result.verdict, Verdict::Invalid);
    let message = &find(&result.findings, FindingId::FailedRequests)
        .unwrap()
        .message;
    assert!(message.contains("refused 1200"), "{message}");
}

#[test]
fn outcomes_that_do_not_speak_against_a_subject_never_void() {
    // Method: a third of all attempts, of each kind. Resent requests are reported, unless abx
    // itself let connections idle.
    let pairs = [(FindingId::RequestsResent, Level::Note)];
    for (kind, findings) in [
        (Outcome::IdleClose, &pairs[..]),
        (Outcome::RestClose, &[]),
        (Outcome::Unfinished, &[]),
    ] {
        let compared = with_outcomes(&[(Outcome::Ok, 9_900), (kind, 4_950)]);
        assert_eq!(ids(&compared.findings), findings, "{kind:?}");
        assert_eq!(compared.verdict, Verdict::Faster);
    }
}

#[test]
fn resent_requests_are_reported_from_one_in_a_thousand() {
    // Method: 8 and 9 idle closes for 9,000 requests.
    for (again, expected) in [(8, false), (9, true)] {
        let compared = with_outcomes(&[(Outcome::Ok, OK), (Outcome::IdleClose, again)]);
        let finding = find(&compared.findings, FindingId::RequestsResent);
        assert_eq!(finding.is_some(), expected, "{again}");
        if let Some(reported_finding) = finding {
            let figures = format!("{} were sent again, for {} requests", 12 * again, 12 * OK);
            assert!(
                reported_finding.message.contains(&figures),
                "{}",
                reported_finding.message
            );
        }
    }
}

#[test]
fn connections_ended_by_responses_are_reported_from_one_in_a_hundred() {
    // Method: 89 and 90 of 9,000 responses, and all of them.
    for (closing, expected) in [(89, None), (90, Some("1.0 %")), (OK, Some("100.0 %"))] {
        let mut record = pair();
        each_slice(&mut record, "new", |slice| {
            response(slice, &[(Outcome::Ok, OK)]);
            slice.discarded = outcomes(&[]);
            slice.closing = closing;
        });
        let result = compared(record);
        let finding = find(&result.findings, FindingId::ConnectionsNotKept);
        assert_eq!(finding.is_some(), expected.is_some(), "{closing}");
        if let (Some(reported_finding), Some(part)) = (finding, expected) {
            assert_eq!(
                (reported_finding.level, reported_finding.subject.as_deref()),
                (Level::Note, Some("new"))
            );
            assert!(
                reported_finding.message.contains(part),
                "{}",
                reported_finding.message
            );
            assert!(
                reported_finding.message.contains("Connection: close"),
                "{}",
                reported_finding.message
            );
        }
    }
}

#[test]
fn a_generator_that_runs_out_of_a_resource_voids() {
    // Method: one missing port, then one missing descriptor, then no memory, in each slice.
    let kinds = [
        (Outcome::NoPort, "local ports"),
        (Outcome::NoDescriptor, "file descriptors"),
        (Outcome::NoMemory, "kernel memory for sockets"),
    ];
    for (kind, what) in kinds {
        let compared = with_outcomes(&[(Outcome::Ok, OK), (kind, 1)]);
        assert_eq!(
            ids(&compared.findings),
            [(FindingId::GeneratorExhausted, Level::Void)]
        );
        assert_eq!(compared.verdict, Verdict::Invalid);
        let message = &compared.findings[0].message;
        assert!(message.contains(&format!("{what} 12 times")), "{message}");
    }
}

#[test]
fn a_subject_that_stopped_responding_voids() {
    // Method: the last slice of the last block ended early.
    let mut record = pair();
    let round = record.blocks[5].loads[0].rounds.last_mut().unwrap();
    round.slices[1].stopped_responding = true;
    let result = compared(record);
    assert_eq!(
        ids(&result.findings),
        [(FindingId::StoppedResponding, Level::Void)]
    );
    assert_eq!(result.verdict, Verdict::Invalid);
    let message = &result.findings[0].message;
    assert!(message.contains("1 of 12 slices"), "{message}");
}

#[test]
fn failures_make_no_subject_faster() {
    // Method: `new` immediately responds to half of its requests with an error page and so
    // completes twice as many; the number of verified responses stays.
    let mut record = pair();
    each_slice(&mut record, "new", |slice| {
        response(slice, &[(Outcome::Ok, OK), (Outcome::WrongStatus, OK)]);
    });
    let record = judged(record);
    let rates = record
        .summaries
        .iter()
        .map(|summary| summary.throughput_per_s);
    assert_eq!(rates.collect::<Vec<_>>(), [Some(100_000.0); 2]);
    assert_eq!(record.comparisons[0].verdict, Verdict::Invalid);
}

#[test]
fn a_record_states_whether_anything_was_sent() {
    // Method: to both subjects, to one of them, and to neither.
    let mut record = pair();
    assert!(judge(&record).any_sent());
    each_slice(&mut record, "new", |slice| response(slice, &[]));
    assert!(judge(&record).any_sent());
    each_slice(&mut record, "old", |slice| response(slice, &[]));
    assert!(!judge(&record).any_sent());
}

#[test]
fn outcomes_under_a_load_are_found_by_its_name() {
    // Method: two loads of two subjects, and a third load that was not offered.
    let conclusions = judge(&two_loads());
    let names = |load: &str| -> Vec<String> {
        let under = conclusions.under(load);
        under.map(|summary| summary.subject.clone()).collect()
    };
    for load in ["small", "large"] {
        assert_eq!(names(load), ["old", "new"]);
        assert!(conclusions.under(load).all(|summary| summary.load == load));
    }
    assert!(names("none").is_empty());
}
