//! Reports whose figures are impossible or misleading.

use abx_audit::{Audit, AuditFindingId as Id, FigureKey};
use abx_evidence::Level;

use crate::{found, of, of_files, printed, text};

#[track_caller]
fn is_void(audit: &Audit, about: &str) {
    let contradictions = found(audit, Id::Contradiction);
    assert!(
        contradictions
            .iter()
            .any(|finding| finding.message.contains(about)),
        "{about}: {contradictions:#?}"
    );
    assert!(audit.conclusions[0].contains("nothing"), "{audit:#?}");
}

#[test]
fn an_impossible_duration_voids_the_rate_of_every_tool() {
    // Method: zero durations, huge ones, and ones below the longest request, in several tools.
    is_void(&of_files(&["impossible-wrk.txt"]), "would be about 508/s");
    let wrk2 = of_files(&["impossible-wrk2.txt"]);
    is_void(&wrk2, "cannot be part of a run of 1.05 ms");
    is_void(&wrk2, "122 times the target rate");
    for (name, from, to, about) in [
        (
            "h2load.txt",
            "finished in 1.18s",
            "finished in 99999999.9h",
            "is impossible",
        ),
        (
            "h2load.txt",
            "finished in 1.18s",
            "finished in 0.00us",
            "is impossible",
        ),
        ("siege.txt", "29.35 secs", "0.05 secs", "cannot be part"),
        ("hey.txt", "0.0412 secs", "0.0001 secs", "cannot be part"),
        (
            "wrk.txt",
            "50603.09",
            "999000000.00",
            "is impossible for one generator",
        ),
    ] {
        let wrong = text(name).replacen(from, to, 1);
        assert_ne!(wrong, text(name), "{name}: {from}");
        is_void(&of(&wrong), about);
    }
}

#[test]
fn a_request_of_httperf_is_shorter_than_its_connection() {
    // Method: 50 calls per connection: the mean is that of a response, not of a connection.
    let audit = of_files(&["httperf-calls.txt"]);
    let report = &audit.reports[0];
    for (key, expected) in [
        (FigureKey::Mean, "44.5"),
        (FigureKey::ConnectionTimeMean, "2240.0"),
        (FigureKey::ConnectionTimeMax, "2431.9"),
        (FigureKey::Max, ""),
    ] {
        assert_eq!(printed(report, key), expected, "{key:?}");
    }
    let remarks = found(&audit, Id::ToolsOwnWay);
    assert!(
        remarks
            .iter()
            .any(|finding| finding.message.contains("response 30.5 + transfer 14.0")),
        "{remarks:#?}"
    );
    assert_eq!(found(&audit, Id::Contradiction), Vec::<&_>::new());
    assert_eq!(found(&audit, Id::ConnectionSetUp), Vec::<&_>::new());
}

#[test]
fn limits_of_the_generator_are_not_failures_of_the_server() {
    // Method: 39,000 connections without a descriptor and 6,000 that timed out.
    let audit = of_files(&["httperf-no-descriptors.txt"]);
    let generator = found(&audit, Id::GeneratorLimit);
    assert_eq!(generator[0].level, Level::Void);
    assert!(
        generator[0]
            .message
            .contains("39000 had no file descriptor"),
        "{generator:#?}"
    );
    let server = found(&audit, Id::FailedRequests);
    assert!(server[0].message.contains(" 6000 failed"), "{server:#?}");
    for id in [Id::ConnectionSetUp, Id::DifferentRuns, Id::SmallDifference] {
        assert_eq!(found(&audit, id), Vec::<&_>::new(), "{id:?}");
    }
    assert!(audit.conclusions[0].contains("nothing"));
}

#[test]
fn a_paced_run_below_its_rate_is_about_capacity() {
    // Method: wrk2 below its target rate, and a run of wrk2 that kept its rate.
    let audit = of_files(&["wrk2-saturated.txt"]);
    let saturated = found(&audit, Id::Saturated);
    assert!(
        saturated[0]
            .message
            .contains("reached 2410.00/s of its target of 9000/s"),
        "{saturated:#?}"
    );
    assert!(saturated[0].message.contains("10.90 s"), "{saturated:#?}");
    assert_eq!(found(&audit, Id::AskedRate), Vec::<&_>::new());
    assert!(
        audit.conclusions[0].contains("saturated at 2410.00"),
        "{:?}",
        audit.conclusions
    );
    let kept = of_files(&["wrk2.txt"]);
    assert_eq!(found(&kept, Id::Saturated), Vec::<&_>::new());
    assert_eq!(found(&kept, Id::AskedRate).len(), 1);
}

#[test]
fn failures_are_counted_as_their_tool_counts_them() {
    // Method: siege's transactions that were not successful, and h2load's failures, which are
    // among its finished requests.
    let siege = of_files(&["siege-unsuccessful.txt"]);
    let wrong = found(&siege, Id::ErrorResponses);
    assert_eq!(wrong[0].level, Level::Bound);
    assert!(wrong[0].message.contains("7000 of 12000"), "{wrong:#?}");
    let h2load = of_files(&["h2load-failed-within-done.txt"]);
    let failed = found(&h2load, Id::FailedRequests);
    assert!(
        failed[0].message.contains("800 of 10000 failed"),
        "{failed:#?}"
    );
    assert_eq!(found(&h2load, Id::Contradiction), Vec::<&_>::new());
    let hey = text("hey.txt")
        + "\nError distribution:\n  [17]\tGet \"http://x/\": EOF\n  [3]\tGet \"http://x/\": timeout\n";
    let hey = of(&hey);
    assert_eq!(printed(&hey.reports[0], FigureKey::Failed), "20");
    assert_eq!(found(&hey, Id::FailedRequests).len(), 1, "{hey:#?}");
}

#[test]
fn missing_lines_cause_no_contradiction() {
    // Method: h2load without three of four threads, with its command and without; wrk without
    // its rate.
    let with_command = text("h2load-threads-elided.txt");
    let (_, without_command) = with_command.split_once('\n').unwrap();
    for text in [with_command.as_str(), without_command] {
        let audit = of(text);
        assert_eq!(found(&audit, Id::Contradiction), Vec::<&_>::new());
        assert_eq!(printed(&audit.reports[0], FigureKey::Connections), "");
    }
    let wrk = of_files(&["wrk-without-rate.txt"]);
    assert_eq!(printed(&wrk.reports[0], FigureKey::Rate), "");
    let rate = wrk.reports[0].rate().unwrap();
    assert_eq!(rate.printed, "15050.00");
    assert!(
        wrk.conclusions
            .iter()
            .any(|conclusion| conclusion.contains("15050.00 requests/s")),
        "{:?}",
        wrk.conclusions
    );
}
