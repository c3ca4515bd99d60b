//! The report of a run.

use abx_evidence::{Level, RunRecord, Times};
use abx_report::{Style, run_json, run_text};
use insta::assert_snapshot;

use crate::support::{finding, outcomes, run};

#[test]
fn everything_ok() {
    // Method: a server on this machine that answers everything.
    assert_snapshot!(run_text(&run(), &Style::plain()));
}

#[test]
fn failures() {
    // Method: one failure in about 400,000 must not vanish, resets void, and
    // the server is on another machine.
    let mut record = run();
    record.requests.ok = 411_151;
    record.requests.completed = 411_151;
    record.requests.outcomes = outcomes(r#"{"ok":411151,"reset":1200,"timeout":1}"#);
    record.connects = 1_201;
    record.server = None;
    record.generator.wait_s = None;
    record.findings = vec![finding(Level::Void), finding(Level::Note)];
    assert_snapshot!(run_text(&record, &Style::plain()));
}

#[test]
fn nothing_answered() {
    // Method: every connection refused; no figure is made up.
    let mut record = run();
    record.requests.sent = 50;
    record.requests.completed = 0;
    record.requests.ok = 0;
    record.requests.hashed = 0;
    record.requests.outcomes = outcomes(r#"{"refused":50}"#);
    record.throughput_per_s = None;
    record.response_time_us = Times::default();
    record.service_time_us = Times::default();
    record.generator.lateness_us = Times::default();
    record.generator.cpu_us_per_request = None;
    record.bytes = 0;
    record.body_bytes = 0;
    record.elapsed_s = 0.0;
    assert_snapshot!(run_text(&record, &Style::plain()));
}

#[test]
fn a_bound_run_says_at_least() {
    // Method: the generator was the limit.
    let mut record = run();
    record.findings = vec![finding(Level::Bound)];
    let text = run_text(&record, &Style::plain());
    assert!(text.contains("Throughput: at least 41,235/s"), "{text}");
}

#[test]
fn json_is_the_record_on_one_line() {
    // Method: there and back.
    let json = run_json(&run());
    assert_eq!(json.matches('\n').count(), 1);
    assert_eq!(serde_json::from_str::<RunRecord>(&json).unwrap(), run());
}
