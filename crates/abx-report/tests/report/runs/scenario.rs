//! The report of a scenario.

use abx_evidence::record::Machine;
use abx_evidence::scenario::{
    SCENARIO_SCHEMA, ScenarioCost, ScenarioEnd, ScenarioRecord, ScenarioTally, SessionCounts,
    StepFailure, StepRecord,
};
use abx_evidence::{Outcome, Times};
use abx_report::{Style, scenario_html, scenario_text};
use insta::assert_snapshot;

/// A login and what follows: so many sessions, of which some fail in each step and some are
/// cut off.
fn record(begun: u64, [first, second]: [u64; 2], cut_off: u64) -> ScenarioRecord {
    let mut tally = ScenarioTally::of(2);
    let completed = begun - first - second - cut_off;
    for number in 1..=completed {
        tally.session.record_ns(5_000_000 + number * 10_000);
        tally.session_without_think.record_ns(number * 10_000);
    }
    let due = [begun, begun - first];
    for ((step, due), failed) in tally.steps.iter_mut().zip(due).zip([first, second]) {
        (step.begun, step.sent, step.ok) = (due, due, due - failed);
        for number in 1..=due {
            step.response.record_ns(number * 20_000);
            step.service.record_ns(number * 20_000);
        }
        for number in 1..=failed {
            let failure = match number % 3 {
                0 => StepFailure::Request(Outcome::WrongStatus),
                _ => StepFailure::MissingValue,
            };
            step.fail(failure, number, || {
                format!("session {number}: no value for `token`: JSON at \"/data/token\"")
            });
        }
    }
    tally.steps[1].resent = cut_off;
    let steps = tally.steps.into_iter().zip(["login", "home"]);
    ScenarioRecord {
        schema: SCENARIO_SCHEMA.to_owned(),
        abx_version: "0.1.0".to_owned(),
        started_unix_ms: 0,
        command: vec!["abx".to_owned(), "run".to_owned()],
        url: "http://127.0.0.1:8080/".to_owned(),
        scenario: "login.toml".to_owned(),
        scenario_sha256: "aa".to_owned(),
        seed: 7,
        users: 50,
        end: ScenarioEnd::AfterNs(10_000_000_000),
        elapsed_s: 10.02,
        interrupted: false,
        sessions: SessionCounts {
            begun,
            completed,
            failed: first + second,
            cut_off,
        },
        sessions_per_s: Some(completed as f64 / 10.0),
        session_us: Times::of(&tally.session),
        session_without_think_us: Times::of(&tally.session_without_think),
        connections: begun,
        steps: steps
            .map(|(counted, name)| StepRecord::of(name, ("GET", "/x"), 200_u16.into(), counted))
            .collect(),
        generator: ScenarioCost {
            threads: 1,
            cpu_s: 0.42,
            busy: 0.042,
        },
        machine: Machine::default(),
        server_cpu_s: Some(3.2),
    }
}

#[test]
fn a_scenario_that_went_well() {
    // Method: all sessions but those that the end cut off.
    let text = scenario_text(&record(2_000, [0, 0], 50), &Style::plain());
    assert_snapshot!(text);
}

#[test]
fn a_scenario_with_failures_and_limits() {
    // Method: failures in both steps, too many sessions cut off, requests that were sent
    // again, a generator at its limit, and one that was stopped.
    let mut record = record(200, [7, 2], 40);
    record.generator.busy = 0.97;
    record.interrupted = true;
    record.server_cpu_s = None;
    assert_snapshot!(scenario_text(&record, &Style::plain()));
}

#[test]
fn the_page_has_the_result_each_step_its_failures_and_how_it_was_measured() {
    // Method: the page of a scenario with failures, whose file has a name that is no HTML.
    let mut record = record(2_000, [3, 0], 50);
    record.scenario = "<log>&.toml".to_owned();
    record.command = ["abx", "run", "--scenario", "<log>&.toml"]
        .map(str::to_owned)
        .into();
    let page = scenario_html(&record).replace('\u{a0}', " ");
    let terminal = scenario_text(&record, &Style::plain());
    let headline = terminal.lines().next().unwrap();
    for part in [
        headline,
        "&lt;log&gt;&amp;.toml: 50 users at",
        "1970-01-01 00:00:00 UTC, 10 s, abx 0.1.0.",
        "<caption>Response time by step</caption>",
        "aria-label=\"login: 20.02 ms (p99 39.62 ms)\"",
        "<bdi>39.62 ms</bdi>",
        "login failed: missing_value 2, wrong_status 1. The first: session 1",
        "abx run --scenario &#39;&lt;log&gt;&amp;.toml&#39;",
        "\"abx.scenario/1\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<log>"));
}

#[test]
fn the_page_of_a_scenario_without_a_response_has_no_picture() {
    // Method: users began sessions and no step had a response.
    let mut record = record(0, [0, 0], 0);
    record.sessions_per_s = None;
    let page = scenario_html(&record);
    assert!(!page.contains("Response time by step"), "{page}");
    assert!(page.contains("<caption>Each step</caption>"), "{page}");
}
