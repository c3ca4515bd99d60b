//! Servers that fail on purpose: a failure is never a success, and a server
//! that fails is never judged faster.

use serde_json::Value;

use crate::support::{Ended, Home, Server, assert_honest, findings, outcomes, slices, subject};

/// Each fault, and what becomes of the requests that meet it.
const FAULTS: [(&str, &str); 4] = [
    ("--fail", "wrong_status"),
    ("--wrong-length", "wrong_length"),
    ("--wrong-body", "wrong_body"),
    ("--close-early", "early_close"),
];

/// How often a faulty server is started anew until its first answers are right.
const SEEDS: u32 = 50;

/// Repeats with other faults until the ones before the load were none: `ended`
/// is given the server's words.
fn past_verification(fault: &str, mut ended: impl FnMut(&str) -> Ended) -> (Ended, Value) {
    for seed in 1..=SEEDS {
        let ended = ended(&format!("{fault} 10 --seed {seed}"));
        if ended.status.code() == Some(2) {
            continue;
        }
        let record = ended.json();
        // Bodies that vary already before the load are not compared under it.
        if findings(&record, "body_varies").is_empty() {
            ended.expect(3, &[]);
            return (ended, record);
        }
    }
    panic!("{fault} met the first answers of all {SEEDS} seeds");
}

#[test]
fn a_subject_that_fails_is_never_judged() {
    // Method: each fault in a tenth of one subject's answers, in one block.
    for (fault, outcome) in FAULTS {
        let (ended, record) = past_verification(fault, |words| {
            let home = Home::new();
            let (good, bad) = (subject("good", ""), subject("bad", words));
            home.run_abx(&[
                "compare",
                &good,
                &bad,
                "--blocks",
                "1",
                "--slice",
                "20ms",
                "--pilot",
                "brief",
                "--verify-every",
                "1",
                "--json",
                "-",
            ])
        });
        let comparison = &record["comparisons"][0];
        assert_eq!(comparison["verdict"], "invalid", "{fault}: {ended:#?}");
        assert_eq!(comparison["ratio"], Value::Null, "{fault}");
        assert_eq!(record["validity"]["status"], "invalid", "{fault}");
        let found = findings(&record, "failed_requests");
        assert_eq!(found.len(), 1, "{fault}: {found:?}");
        assert_eq!(found[0]["subject"], "bad", "{fault}");
        assert_eq!(found[0]["level"], "void", "{fault}");
        let message = found[0]["message"].as_str().unwrap();
        assert!(message.contains(outcome), "{fault}: {message}");

        for name in ["bad", "good"] {
            slices(&record, name).iter().for_each(assert_honest);
        }
        let met = outcomes(&record, "bad");
        let failed = met.iter().find(|(name, _)| name == outcome);
        assert!(
            failed.is_some_and(|(_, count)| *count > 0),
            "{fault}: {met:?}"
        );
        let right = outcomes(&record, "good");
        assert!(
            right
                .iter()
                .all(|(name, count)| name == "ok" || *count == 0),
            "{fault}: {right:?}"
        );
    }
}

#[test]
fn a_run_against_a_failing_server_makes_no_claim() {
    // Method: each fault in a tenth of the answers to 2,000 requests.
    for (fault, outcome) in FAULTS {
        let (_, record) = past_verification(fault, |words| {
            let home = Home::new();
            let words: Vec<&str> = words.split(' ').collect();
            let server = Server::start(&words);
            let run = ["run", &server.url, "-n", "2000", "--verify-every", "1"];
            home.run_abx(&[&run[..], &["--json", "-"]].concat())
        });
        let requests = &record["requests"];
        assert_honest(requests);
        assert!(
            requests["outcomes"][outcome].as_u64() > Some(0),
            "{requests}"
        );
        assert!(requests["ok"].as_u64() < Some(2000), "{requests}");
        assert_eq!(findings(&record, "failed_requests").len(), 1, "{record}");
    }
}
