//! Loads other than a plain closed loop, from the command line to the record.

use serde_json::Value;

use crate::support::{Home, Server, only_slice};

/// The record of a run of the built-in server with these flags.
fn run(flags: &[&str]) -> Value {
    let home = Home::new();
    let server = Server::start(&[]);
    let words = [&["run", &server.url, "--json", "-"], flags].concat();
    let ended = home.run_abx(&words);
    ended.expect(0, &[]);
    ended.json()
}

fn count(record: &Value, path: &str) -> u64 {
    let value = record.pointer(path).and_then(Value::as_u64);
    value.unwrap_or_else(|| panic!("{path}: {record}"))
}

#[test]
fn a_rate_is_kept_and_every_request_is_accounted_for() {
    // Method: a number of requests at each kind of rate; all of them are sent.
    for arrivals in ["constant", "poisson"] {
        let flags = ["-r", "2000", "--arrivals", arrivals, "-n", "400", "-c", "4"];
        let record = run(&flags);
        assert_eq!(record["loads"][0]["settings"]["arrivals"]["kind"], arrivals);
        assert_eq!(
            record["loads"][0]["settings"]["arrivals"]["rate_per_s"],
            2000.0
        );
        assert_eq!(count(&record, "/offered/planned"), 400);
        assert_eq!(count(&record, "/ok"), 400);
    }
}

#[test]
fn a_run_reports_how_it_waited() {
    // Method: a server that may use all CPUs, including those of the generator.
    let record = run(&["-n", "20"]);
    assert_eq!(record["settings"]["wait"], "asleep");
    let why = record["settings"]["asleep_because"].as_str().unwrap();
    assert!(why.contains("share CPUs"), "{why}");
    assert_eq!(only_slice(&record)["waiting_awake_ns"], Value::Null);
    let record = run(&["-n", "20", "--wait", "asleep"]);
    assert_eq!(record["settings"]["asleep_because"], Value::Null);
}

#[test]
fn stages_last_as_long_as_set() {
    // Method: 100 and then 300 a second, 100 ms each: 10 and 30 requests are due.
    let record = run(&["--stages", "100@100ms,300@100ms"]);
    assert_eq!(count(&record, "/offered/planned"), 40);
    assert_eq!(record["loads"][0]["pilot"]["slice_ns"], 200_000_000);
}

#[test]
fn connections_use_the_requested_protocol() {
    // Method: pipelines, sessions with thinking, HTTP/1.0 with and without keep-alive; all
    // responses are correct.
    for flags in [
        &["--pipeline", "16"][..],
        &["--calls", "5", "--think", "1ms"],
        &["--http1.0"],
        &["--http1.0", "--no-keepalive"],
        &["--local-address", "127.0.0.7,127.0.0.8"],
    ] {
        let record = run(&[flags, &["-n", "200", "-c", "4"]].concat());
        assert_eq!(count(&record, "/ok"), 200, "{flags:?}");
        let pipeline = if flags[0] == "--pipeline" { 16 } else { 1 };
        assert_eq!(count(&record, "/loads/0/settings/pipeline"), pipeline);
    }
}
