//! Servers whose responses continue in small pieces without end. Every command still keeps its
//! timeouts and budgets, and ends at the first Ctrl-C.

use std::path::PathBuf;
use std::process::Command;

use abx_sys::process::Signal;
use serde_json::Value;

use crate::protocols::http2::Foreign;
use crate::protocols::tls::certify;
use crate::support::{Ended, Home, outcomes};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/endless_peer.py");
const SCENARIO: &str = "[[step]]\npath = \"/form\"\n";

/// A peer that serves HTTP/1.1, HTTP/2 or WebSocket, depending on its kind.
fn peer(kind: &str, more: &[&str]) -> Foreign {
    Foreign::start(|port| {
        let mut command = Command::new("python3");
        command.args([SCRIPT, &port.to_string(), kind]).args(more);
        command
    })
}

/// The outcomes of a short run with a timeout of one second, which must end by itself.
fn outcomes_of(url: &str, words: &str) -> Value {
    let home = Home::new();
    let usual = "-d 400ms -c 2 --timeout 1s --json - -q";
    let words = format!("run {url} {usual} {words}");
    let ended = home.run_abx(&words.split_whitespace().collect::<Vec<_>>());
    ended.expect(3, &[]);
    ended.json()["outcomes"].clone()
}

#[test]
fn a_run_ends_by_its_timeout_despite_endless_responses() {
    // Method: each kind of piece after 20 correct responses, and sessions of a few calls.
    for (kind, outcome, words) in [
        ("chunks", "timeout", ""),
        ("chunks", "timeout", "--calls 30"),
        ("events", "timeout", ""),
        ("interim", "malformed", ""),
        ("frames", "timeout", "--http2 --streams 2"),
        ("pongs", "timeout", "--shape echo"),
        ("fragments", "timeout", "--shape echo"),
    ] {
        let server = peer(kind, &[]);
        let url = server.url();
        let url = match words {
            "--shape echo" => url.replace("http", "ws"),
            _ => url,
        };
        let outcomes = outcomes_of(&url, words);
        assert!(
            outcomes[outcome].as_u64() > Some(0),
            "{kind} {words}: {outcomes}"
        );
        assert!(
            outcomes["ok"].as_u64() > Some(0),
            "{kind} {words}: {outcomes}"
        );
    }
}

#[test]
fn a_run_over_tls_ends_by_its_timeout_too() {
    // Method: the same over TLS, in HTTP/1.1 and HTTP/2.
    let home = Home::new();
    certify(&home);
    let files = ["cert.pem", "key.pem"].map(|name| home.join(name).display().to_string());
    for (kind, words) in [("chunks", "--insecure"), ("frames", "--insecure --http2")] {
        let server = peer(kind, &["--tls", &files[0], &files[1]]);
        let outcomes = outcomes_of(&server.url().replace("http", "https"), words);
        assert!(outcomes["timeout"].as_u64() > Some(0), "{kind}: {outcomes}");
    }
}

#[test]
fn a_comparison_names_an_endless_sender_and_keeps_its_budget() {
    // Method: a server that sends chunks without end next to a sound one.
    let home = Home::new();
    let subject = |name: &str, after: &str| {
        format!("{name}=python3 {SCRIPT} {{port}} chunks --after {after}")
    };
    let (good, bad) = (subject("good", "1000000000"), subject("bad", "50"));
    let ended = home.run_abx(&[
        "compare",
        &good,
        &bad,
        "--blocks",
        "1",
        "--rounds",
        "2",
        "--slice",
        "20ms",
        "--pilot",
        "brief",
        "--no-ceiling",
        "--timeout",
        "1s",
        "--budget",
        "60s",
        "--json",
        "study.json",
    ]);
    assert_eq!(ended.status.code(), Some(3), "{ended:#?}");
    assert!(
        (ended.stdout.clone() + &ended.stderr).contains("bad"),
        "{ended:#?}"
    );
    let record: Value = crate::support::read_json(&home.join("study.json"));
    let served = outcomes(&record, "good")
        .into_iter()
        .find(|(name, _)| name == "ok");
    assert!(served.is_some_and(|(_, count)| count > 0), "{ended:#?}");
}

#[test]
fn a_scenario_fails_the_step_whose_response_does_not_end() {
    // Method: chunks time out, and more than 32 interim responses violate HTTP.
    for (kind, failure) in [("chunks", "timeout"), ("interim", "malformed")] {
        let home = Home::new();
        let server = peer(kind, &[]);
        let file = home.write("s.toml", SCENARIO);
        let url = server.url();
        let ended = home.run_abx(&[
            "run",
            &url,
            "--scenario",
            &file,
            "-c",
            "2",
            "-d",
            "1s",
            "--timeout",
            "1s",
            "-q",
            "--json",
            "-",
        ]);
        let record = ended.json();
        let failed = &record["steps"][0]["failed"];
        assert!(failed[failure].as_u64() > Some(0), "{kind}: {record}");
    }
}

/// The output of a command that one SIGINT stops once a response continues without end.
fn stopped(kind: &str, words: &dyn Fn(&Home, &str) -> Vec<String>) -> Ended {
    let home = Home::new();
    // A separate folder: a peer that runs in the home would count as left behind.
    let marks = tempfile::tempdir().unwrap();
    let mark: PathBuf = marks.path().join("mark");
    let server = peer(kind, &["--mark", mark.to_str().unwrap()]);
    let words = words(&home, &server.url());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut running = home.start(&mut home.abx(&words));
    running.until("an endless response", |_| mark.exists().then_some(()));
    running.signal(Signal::Int);
    running.wait()
}

#[test]
fn the_first_ctrl_c_ends_every_command() {
    // Method: one SIGINT while responses continue without end, with a timeout of an hour.
    let split = |line: String| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let run = |_: &Home, url: &str| split(format!("run {url} -d 1h -c 2 --timeout 1h"));
    stopped("chunks", &run).expect(130, &[]);
    let streams = |_: &Home, url: &str| split(format!("run {url} --http2 -d 1h -c 2 --timeout 1h"));
    stopped("frames", &streams).expect(130, &[]);
    let echo = |_: &Home, url: &str| {
        let url = url.replace("http", "ws");
        split(format!("run {url} --shape echo -d 1h -c 2 --timeout 1h"))
    };
    stopped("pongs", &echo).expect(130, &[]);
    let scenario = |home: &Home, url: &str| {
        let file = home.write("s.toml", SCENARIO);
        split(format!(
            "run {url} --scenario {file} -d 1h -c 2 --timeout 1h"
        ))
    };
    stopped("chunks", &scenario).expect(130, &[]);
    let ab = |_: &Home, url: &str| split(format!("ab -k -n 1000 -c 2 {url}"));
    assert!(stopped("chunks", &ab).stdout.contains("Complete requests:"));
    let httperf = |_: &Home, url: &str| {
        let port = url.trim_end_matches('/').rsplit(':').next().unwrap();
        split(format!(
            "httperf --server=127.0.0.1 --port={port} --num-conns=2 --num-calls=50"
        ))
    };
    assert!(
        stopped("chunks", &httperf)
            .stdout
            .contains("Total: connections 1")
    );
    let visits = |_: &Home, url: &str| {
        let port = url.trim_end_matches('/').rsplit(':').next().unwrap();
        split(format!(
            "httperf --server=127.0.0.1 --port={port} --wsess=2,50,0"
        ))
    };
    assert!(
        stopped("chunks", &visits)
            .stdout
            .contains("Total: connections 1")
    );
}
