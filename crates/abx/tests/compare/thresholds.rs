//! `abx run --expect`: thresholds for one server, and the exit codes that follow from them.

use std::fs;

use crate::support::{Home, Server};

#[test]
fn a_run_and_its_record_fail_by_their_thresholds() {
    // Method: a limit that any server meets and one that none does, of a run and of its record,
    // with every format that shows measurements or expectations.
    let home = Home::new();
    let server = Server::start(&[]);
    let run = ["run", &server.url, "-n", "500", "-c", "4"];
    let holds = ["--expect", "p99<60s,errors<0.1%"];
    let fails = ["--expect", "p50<1us", "--expect", "errors<0.1%"];
    let formats = ["--junit", "j.xml", "--csv", "s.csv", "--hgrm", "t.hgrm"];
    let ended = home.run_abx(&[&run[..], &holds].concat());
    let message = ended.expect(0, &[]).stdout.clone();
    assert!(message.contains("Passed: p99<60s"), "{message}");
    let again = home.run_abx(&[&["report", "last"][..], &fails, &formats].concat());
    again.expect(1, &[]);
    let measured = home.run_abx(&[&run[..], &fails, &formats].concat());
    measured.expect(1, &[]);
    for file in ["j.xml", "s.csv", "t.hgrm"] {
        assert!(
            !fs::read_to_string(home.join(file)).unwrap().is_empty(),
            "{file}"
        );
    }
    let junit = fs::read_to_string(home.join("j.xml")).unwrap();
    assert!(junit.contains("tests=\"2\" failures=\"1\""), "{junit}");
    assert!(junit.contains("p50&lt;1us"), "{junit}");
}

#[test]
fn too_few_requests_settle_nothing() {
    // Method: p99 of four requests that were all fast, with and without `--quiet`.
    let home = Home::new();
    let server = Server::start(&[]);
    let run = [
        "run",
        &server.url,
        "-n",
        "4",
        "-c",
        "2",
        "--expect",
        "p99<60s",
    ];
    let ended = home.run_abx(&run);
    assert_eq!(ended.status.code(), Some(3), "{ended:#?}");
    let words: Vec<&str> = ended.stdout.split_whitespace().collect();
    let message = words.join(" ");
    assert!(message.contains("at least 100 requests"), "{message}");
    let quiet = home.run_abx(&[&run[..], &["--quiet"]].concat());
    quiet.expect(3, &["expected p99<60s: undecided"]);
}

#[test]
fn thresholds_hold_for_each_of_several_loads() {
    // Method: two numbers of connections, and a limit that none meets; then one load by name.
    let home = Home::new();
    let server = Server::start(&[]);
    let run = [
        "run",
        &server.url,
        "-c",
        "1,2",
        "-d",
        "500ms",
        "--junit",
        "j.xml",
    ];
    let ended = home.run_abx(&[&run[..], &["--expect", "p50<1us"]].concat());
    assert_eq!(ended.status.code(), Some(1), "{ended:#?}");
    let junit = fs::read_to_string(home.join("j.xml")).unwrap();
    let failed = junit.matches("<failure").count();
    assert_eq!(failed, 2, "{junit}");
    let named = [
        "report",
        "last",
        "--expect",
        "p50<1us @ c2",
        "--junit",
        "j.xml",
    ];
    assert_eq!(home.run_abx(&named).status.code(), Some(1));
    let junit = fs::read_to_string(home.join("j.xml")).unwrap();
    assert_eq!(junit.matches("<failure").count(), 1, "{junit}");
}

#[test]
fn a_mistake_in_a_threshold_is_found_before_anything_is_loaded() {
    // Method: a missing unit, a wrong sign, an unknown load, and a flag of k6; no server listens
    // there.
    let home = Home::new();
    let url = "http://127.0.0.1:9/";
    for (text, why) in [
        ("p99<50", "a number and us, ms or s"),
        ("p99>50ms", "is not a goal"),
        ("p99<50ms @ c7", "`c7` is not a load"),
    ] {
        home.run_abx(&["run", url, "--expect", text])
            .expect(2, &["--expect", why]);
    }
    home.run_abx(&["run", url, "--threshold", "p99<50ms"])
        .expect(2, &["--expect 'p99<50ms,errors<0.1%'"]);
}
