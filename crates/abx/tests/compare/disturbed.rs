//! Disturbances planted on purpose: each causes its own finding, which limits the verdicts. Servers
//! with wrong responses are in `faults.rs`.

use std::process::{Child, Command, Stdio};

use abx_sys::cpus::{CpuSplit, allowed, cores};
use serde_json::Value;

use crate::support::{ABX, Home, findings, in_five_looks, readings, slices, subject};

/// A small comparison of `good` with another subject, and its record.
fn compared(other: &str, more: &[&str]) -> Value {
    let good = subject("good", "");
    let usual = [
        "compare", &good, other, "--slice", "20ms", "--pilot", "brief", "--json", "-",
    ];
    in_five_looks(|| {
        let ended = Home::new().run_abx(&[&usual[..], more].concat());
        // On a busy machine a server may get no CPU within a short timeout.
        let late = [
            "no connection within",
            "no complete response within",
            "stopped responding under load",
        ];
        if late.iter().any(|part| ended.stderr.contains(part)) {
            return Err(ended.stderr);
        }
        let record = ended.json();
        assert_eq!(record["end"]["reason"], "blocks", "{ended:#?}");
        Ok(record)
    })
}

/// The finding of this name about this subject, or about all of them.
#[track_caller]
fn finding(record: &Value, id: &str, subject: Option<&str>) -> Value {
    let mut values = findings(record, id).into_iter();
    let finding = values.find(|value| value["subject"].as_str() == subject);
    finding.unwrap_or_else(|| panic!("no {id}: {:#}", record["validity"]))
}

/// Asserts that each primary comparison has a finding that limits it, and that exactly those with a
/// void finding have the verdict `invalid`.
#[track_caller]
fn assert_limited(record: &Value) {
    let comparisons = record["comparisons"].as_array().unwrap();
    let primary = comparisons
        .iter()
        .filter(|comparison| comparison["role"] == "primary");
    assert!(primary.clone().count() > 0);
    for value in primary {
        let has = |level: &str| {
            let mut indices = value["findings"].as_array().unwrap().iter();
            indices.any(|index| {
                let index = index.as_u64().unwrap() as usize;
                record["validity"]["findings"][index]["level"] == level
            })
        };
        assert!(has("bound") || has("void"), "{value:#}");
        assert_eq!(value["verdict"] == "invalid", has("void"), "{value:#}");
    }
    assert_ne!(record["validity"]["status"], "valid");
}

#[test]
fn a_generator_at_its_limit_makes_no_claim_of_throughput() {
    // Method: two servers that only send large prepared bodies, and a generator that hashes all of
    // them. It has so many connections that work is left when a server waits for a CPU.
    let words = "--model null --page-bytes 100000";
    let pair = ["one", "other"].map(|name| subject(name, words));
    let usual = [
        "compare", &pair[0], &pair[1], "--slice", "100ms", "--pilot", "brief", "--json", "-",
    ];
    let more = ["--verify-every", "1", "-c", "200", "--blocks", "2"];
    let (ended, record) = in_five_looks(|| {
        let ended = Home::new().run_abx(&[&usual[..], &more].concat());
        let record = ended.json();
        if is_generator_bound(&record) {
            Ok((ended, record))
        } else {
            Err(record["validity"].to_string())
        }
    });
    ended.expect(0, &[]);
    assert_eq!(primary(&record)["metric"], "server_cpu");
    let mut values = record["comparisons"].as_array().unwrap().iter();
    assert!(values.all(|value| value["metric"] != "throughput"));
    assert_limited(&record);
}

/// The only primary comparison.
#[track_caller]
fn primary(record: &Value) -> &Value {
    let values = record["comparisons"].as_array().unwrap().iter();
    let mut primary = values.filter(|value| value["role"] == "primary");
    let value = primary.next().expect("a primary comparison");
    assert!(primary.next().is_none());
    value
}

/// Whether a finding reports that the generator limits the throughput.
fn is_generator_bound(record: &Value) -> bool {
    let bound = findings(record, "generator_bound");
    bound
        .iter()
        .any(|value| value["limits"] == "throughput" && value["level"] == "bound")
}

#[test]
fn a_short_listen_queue_is_found_by_dropped_connections() {
    // Method: a connection for each request, to a server whose queue holds one.
    let short = subject("short", "--backlog 1");
    let record = compared(
        &short,
        &["--no-keepalive", "--timeout", "300ms", "--blocks", "1"],
    );
    let overflow = finding(&record, "listen_overflows", Some("short"));
    assert_eq!(overflow["level"], "bound");
    assert!(
        overflow["remedy"]
            .as_str()
            .unwrap()
            .contains("raise the subject's backlog to at least")
    );
    // Connections that this queue rejected do not count against the other server.
    let values = findings(&record, "listen_overflows");
    assert!(
        values.iter().all(|value| value["subject"] == "short"),
        "{values:#?}"
    );
    assert_limited(&record);
}

#[test]
fn a_server_out_of_descriptors_is_found_with_how_many_it_needs() {
    // Method: 250 connections to a server that may have 200 descriptors.
    let poor = format!("poor=sh -c 'ulimit -n 200; exec {ABX} serve --port {{port}}'");
    let record = compared(&poor, &["-c", "250", "--timeout", "300ms", "--blocks", "1"]);
    let low = finding(&record, "descriptors_low", Some("poor"));
    assert_eq!(low["level"], "bound");
    assert!(low["message"].as_str().unwrap().contains("of 200 file"));
    let remedy = low["remedy"].as_str().unwrap();
    assert!(remedy.contains("at least 314"), "{remedy}");
    assert_limited(&record);
    let values = findings(&record, "descriptors_low");
    assert!(values.iter().all(|value| value["subject"] == "poor"));
}

/// A program that keeps one CPU busy until it is dropped.
struct Hog(Child);

impl Hog {
    fn start(cpu: usize) -> Hog {
        let child = Command::new("taskset")
            .args(["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"])
            .stdin(Stdio::null())
            .spawn();
        Hog(child.unwrap())
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn foreign_work_on_the_subjects_cpus_is_found() {
    // Method: a hog on each CPU of the subjects for the whole study. Slices are long enough for the
    // kernel's clock ticks to notice the hogs.
    let split = CpuSplit::of(&cores(&allowed().unwrap()));
    let hogs: Vec<Hog> = split.subjects.iter().map(|cpu| Hog::start(*cpu)).collect();
    let record = compared(&subject("other", ""), &["--blocks", "2"]);
    drop(hogs);
    assert_eq!(finding(&record, "foreign_cpu", None)["level"], "bound");
    assert_limited(&record);
}

#[test]
fn possible_disturbances_are_recorded_for_every_slice_and_load() {
    // Method: two plain servers with 20 connections. The record must have the figures that every
    // Linux provides, and the resources of each server.
    let record = compared(&subject("other", ""), &["-c", "20", "--blocks", "1"]);
    let values = slices(&record, "good");
    assert!(values.iter().any(|slice| slice["server_switches"].is_u64()));
    let block = &record["blocks"][0];
    for name in ["good", "other"] {
        let side = readings(&block["loads"][0], name);
        let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{side:#}"));
        assert!(number(&side["pss_bytes"]) >= number(&side["pss_anon_bytes"]));
        assert!(number(&side["descriptors"]["count"]) > 20, "{side:#}");
        assert!(number(&side["generator_descriptors"]["count"]) > 20);
        assert!(number(&side["time_wait"]["limit"]) > 0);
        for key in ["listen_drops", "retransmits", "timeouts", "packets_dropped"] {
            number(&side["strain"][key]);
        }
    }
    for calibration in block["canaries"].as_array().unwrap() {
        assert!(calibration["before_ns"].as_u64() > Some(0), "{calibration}");
        assert!(calibration["after_ns"].as_u64() > Some(0), "{calibration}");
    }
    let summary = &record["conclusions"]["summaries"][0];
    assert!(summary["bytes_per_request"].as_f64() > Some(0.0));
    assert!(summary["pss_bytes"].as_u64() > Some(0));
}
