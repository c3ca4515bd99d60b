//! Findings of a single run.

use abx_evidence::record::{AnswerRecord, Machine};
use abx_evidence::{
    Arrivals, Exchange, Finding, FindingId, GeneratorSide, Level, Outcome, RUN_SCHEMA, Requests,
    RunRecord, RunSettings, ServerSide, SliceTally, Times, judge_run,
};

use abx_fixtures::{ids, outcomes};

/// 10 s of a server that was the limit and answered everything.
pub fn run() -> RunRecord {
    RunRecord {
        schema: RUN_SCHEMA.to_owned(),
        abx_version: "0.1.0".to_owned(),
        started_unix_ms: 1_750_000_000_000,
        settings: RunSettings {
            url: "http://127.0.0.1:8080/small.bin".to_owned(),
            method: "GET".to_owned(),
            connections: 50,
            exchange: Exchange::default(),
            arrivals: Arrivals::default(),
            threads: 1,
            backend: None,
            duration_s: Some(10.0),
            requests: None,
            keep_alive: true,
            timeout_s: 10.0,
            verify_every: 64,
        },
        machine: Machine::default(),
        answer: AnswerRecord {
            status: 200,
            body_bytes: 1_320,
            sha256: Some("00".to_owned()),
        },
        elapsed_s: 10.0,
        interrupted: false,
        requests: requests(&[(Outcome::Ok, 10_000)]),
        offered: None,
        throughput_per_s: Some(1_000.0),
        response_time_us: Times::default(),
        service_time_us: Times::default(),
        phases: None,
        bytes: 14_800_000,
        body_bytes: 13_200_000,
        connects: 0,
        silent: 0,
        broadcasts: None,
        held: None,
        generator: GeneratorSide {
            cpu_s: 5.0,
            cpu_us_per_request: Some(500.0),
            busy: 0.5,
            wait_s: Some(0.0),
            lateness_us: Times::default(),
            loop_lag_us: Times::default(),
        },
        server: Some(ServerSide {
            process_id: 1,
            name: "nginx".to_owned(),
            cpu_s: 9.8,
            cpu_us_per_request: Some(980.0),
            rss_bytes: Some(14_200_000),
            busy: 0.98,
            busiest_thread: None,
        }),
        findings: Vec::new(),
    }
}

pub fn requests(counts: &[(Outcome, u64)]) -> Requests {
    let outcomes = outcomes(counts);
    Requests {
        sent: outcomes.sent(),
        completed: outcomes.completed(),
        ok: outcomes.ok(),
        hashed: 157,
        outcomes,
    }
}

fn found(change: impl FnOnce(&mut RunRecord)) -> Vec<Finding> {
    let mut record = run();
    change(&mut record);
    judge_run(&record, &SliceTally::default())
}

#[test]
fn a_run_in_which_nothing_is_wrong_has_no_findings() {
    // Method: the record that all other tests start from.
    assert_eq!(found(|_| ()), []);
}

#[test]
fn failed_requests_are_noted_and_above_one_in_a_thousand_void() {
    // Method: 10 and 11 resets in 10,000, and one wrong body of 157 hashed.
    let table = [
        (Outcome::Reset, 10, Level::Note),
        (Outcome::Reset, 11, Level::Void),
        (Outcome::WrongBody, 1, Level::Void),
    ];
    for (kind, count, level) in table {
        let counts = [(Outcome::Ok, 10_000 - count), (kind, count)];
        let found = found(|record| record.requests = requests(&counts));
        assert_eq!(ids(&found), [(FindingId::FailedRequests, level)]);
        let figures = format!("{count} of 10000 requests to http://127.0.0.1:8080/small.bin");
        assert!(found[0].message.contains(&figures), "{found:?}");
    }
}

#[test]
fn each_circumstance_of_a_run_has_its_finding() {
    // Method: one change to a run in which nothing is wrong, one finding.
    type Case = (FindingId, Level, fn(&mut RunRecord));
    let cases: [Case; 5] = [
        (FindingId::GeneratorExhausted, Level::Void, |record| {
            record.requests = requests(&[(Outcome::Ok, 10_000), (Outcome::NoPort, 2)]);
        }),
        (FindingId::GeneratorBound, Level::Bound, |record| {
            record.generator.busy = 0.90;
            record.server.as_mut().unwrap().busy = 0.94;
        }),
        (FindingId::BodyVaries, Level::Note, |record| {
            record.answer.sha256 = None
        }),
        (FindingId::NotChecked, Level::Note, |record| {
            record.server = None
        }),
        (FindingId::Interrupted, Level::Note, |record| {
            record.interrupted = true
        }),
    ];
    for (id, level, change) in cases {
        let found = found(change);
        assert_eq!(ids(&found), [(id.clone(), level)]);
        assert!(!found[0].remedy.is_empty(), "{id}");
    }
}

#[test]
fn a_server_that_stopped_answering_voids_the_run() {
    // Method: the slice ended early; the record alone does not say so.
    let slice = SliceTally {
        stopped_answering: true,
        ..SliceTally::default()
    };
    let found = judge_run(&run(), &slice);
    assert_eq!(ids(&found), [(FindingId::StoppedAnswering, Level::Void)]);
}

#[test]
fn a_busy_generator_limits_only_a_server_with_time_to_spare() {
    // Method: generator at 89 % and at 90 %, server at 94 %, at 95 % and unseen.
    let is_bound = |generator: f64, server: Option<f64>| {
        let found = found(|record| {
            record.generator.busy = generator;
            match server {
                Some(busy) => record.server.as_mut().unwrap().busy = busy,
                None => record.server = None,
            }
        });
        found.iter().any(|one| one.id == FindingId::GeneratorBound)
    };
    assert!(!is_bound(0.89, Some(0.94)));
    assert!(is_bound(0.90, Some(0.94)));
    assert!(!is_bound(1.00, Some(0.95)));
    assert!(is_bound(0.90, None));
}

#[test]
fn a_busy_thread_of_a_server_on_many_processors_is_its_limit() {
    // Method: eight processors, of which the server uses one, by one thread or by several.
    let is_bound = |busiest_thread: f64| {
        let found = found(|record| {
            record.machine.cpus = 8;
            record.generator.busy = 0.95;
            record.server.as_mut().unwrap().busiest_thread = Some(busiest_thread);
        });
        found.iter().any(|one| one.id == FindingId::GeneratorBound)
    };
    assert!(!is_bound(0.96));
    assert!(is_bound(0.50));
}

#[test]
fn a_generator_that_waits_for_its_processor_is_busy() {
    // Method: 80 % work and 10 % waiting on each of one thread's seconds.
    let mut record = run();
    record.generator.busy = 0.8;
    record.server.as_mut().unwrap().busy = 0.5;
    let slice = |generator_wait_ns| SliceTally {
        wall_ns: 10_000_000_000,
        generator_wait_ns: Some(generator_wait_ns),
        ..SliceTally::default()
    };
    let threads = record.settings.threads as u64;
    assert_eq!(judge_run(&record, &slice(900_000_000 * threads)), []);
    let found = judge_run(&record, &slice(1_000_000_000 * threads));
    assert_eq!(ids(&found), [(FindingId::GeneratorBound, Level::Bound)]);
}

#[test]
fn the_worst_finding_of_a_run_comes_first() {
    // Method: a note that is found before a bound, and one after it.
    let found = found(|record| {
        record.interrupted = true;
        record.generator.busy = 1.0;
        record.server.as_mut().unwrap().busy = 0.5;
        record.requests = requests(&[(Outcome::Ok, 10_000), (Outcome::Reset, 1)]);
    });
    let levels: Vec<Level> = found.iter().map(|one| one.level).collect();
    assert_eq!(levels, [Level::Bound, Level::Note, Level::Note]);
}
