//! Services: servers that all subjects of a block need. Here the service is the built-in server,
//! and the subjects are two nginx that forward requests to it.

use std::fs;
use std::path::PathBuf;

use abx_sys::Nanos;
use abx_sys::process::{Process, Signal, process_cpu};
use serde_json::Value;

use crate::support::{ABX, Home, Running, findings, read_json, slices};

const NGINX: &str = "daemon off; pid {dir}/pid; worker_processes 1; events {} http { \
    client_body_temp_path {dir}/a; proxy_temp_path {dir}/b; fastcgi_temp_path {dir}/c; \
    uwsgi_temp_path {dir}/d; scgi_temp_path {dir}/e; access_log off; \
    upstream store { server 127.0.0.1:{service.store.port}; keepalive KEPT; } \
    server { listen 127.0.0.1:{port}; location / { proxy_http_version 1.1; \
    proxy_set_header Connection ''; proxy_pass http://store; } } }";

/// A service that prints where it starts and records the process id of each start.
const STORE: &str = r#"#!/bin/sh
echo "store at $1 in $(pwd)"
echo $$ >> "$2/starts"
exec ABX serve --port "$1"
"#;

/// A study with a service `store`, whose table has these keys next to its command.
fn study(home: &Home, keys: &str) -> String {
    let text = format!(
        r#"
schema = "abx.study_file/1"
seed = 3
[[service]]
name = "store"
command = ["sh", "{{study}}/store.sh", "{{port}}", "{{study}}"]
{keys}
[[subject]]
name = "few"
templates = {{ "n.conf" = "few.conf.in" }}
command = ["nginx", "-e", "stderr", "-p", "{{dir}}", "-c", "{{dir}}/n.conf"]
[[subject]]
name = "many"
templates = {{ "n.conf" = "many.conf.in" }}
command = ["nginx", "-e", "stderr", "-p", "{{dir}}", "-c", "{{dir}}/n.conf"]
[[load]]
name = "page"
connections = 4
requests = [{{ path = "/" }}]
"#
    );
    home.write("few.conf.in", &NGINX.replace("KEPT", "2"));
    home.write("many.conf.in", &NGINX.replace("KEPT", "8"));
    home.write("store.sh", &STORE.replace("ABX", ABX));
    home.write("study.toml", &text)
}

fn compare<'a>(study: &'a str, blocks: &'a str) -> Vec<&'a str> {
    let words = "--slice 20ms --rounds 4 --pilot brief --no-ceiling";
    let mut texts = vec!["compare", study, "--blocks", blocks];
    texts.extend(words.split(' '));
    texts
}

fn lines(path: PathBuf) -> usize {
    fs::read_to_string(path).unwrap_or_default().lines().count()
}

/// Waits until the service is under load in a block after the first.
fn wait_for_second_block(running: &mut Running) {
    running.until("a complete block", |home| {
        let text = fs::read_to_string(home.records_in("state/abx").first()?).ok()?;
        let record: Value = serde_json::from_str(&text).ok()?;
        record["blocks"].get(0).map(|_| ())
    });
    let mut first = None;
    running.until("work of the service", |home| {
        let starts = fs::read_to_string(home.join("starts")).unwrap();
        let cpu = process_cpu(starts.lines().last()?.parse().ok()?)?;
        let first = *first.get_or_insert(cpu);
        // More than its start and the verification of the subjects take.
        (cpu.since(first) > Nanos(100_000_000)).then_some(())
    });
}

/// Kills the service's process of this start, from 0; `None` if it has ended.
fn kill_service(home: &Home, start: usize) -> Option<()> {
    let starts = fs::read_to_string(home.join("starts")).unwrap();
    let pid = starts.lines().nth(start)?.parse().unwrap();
    let process = Process::find(pid).unwrap()?;
    process.signal(Signal::Kill).unwrap().then_some(())
}

#[test]
fn a_service_is_kept_over_blocks_or_started_for_each() {
    // Method: the pilot and two blocks. Each start is recorded, and each seed with the port of the
    // service. A command checks whether the kept service is ready, and HTTP whether the restarted
    // one is.
    let seed = r#"seed = ["sh", "-c", "echo {port} {{port}} >> {study}/seeds"]"#;
    let check = r#"ready = { check = ["sh", "-c", "test -e {study}/starts"], within = "20s" }"#;
    let path = r#"ready = { path = "/", within = "20s" }"#;
    for (keys, starts) in [
        (format!("{check}\n{seed}"), 1),
        (format!("{path}\n{seed}\nrestart = \"block\""), 3),
    ] {
        let home = Home::new();
        let study = study(&home, &keys);
        let ended = home.run_abx(&[&compare(&study, "2")[..], &["--json", "-"]].concat());
        let record = ended.json();
        ended.expect_measured(&record);
        assert_eq!(lines(home.join("starts")), starts);
        assert_eq!(lines(home.join("seeds")), starts);
        assert_eq!(record["services"][0]["name"], "store");
        let blocks = record["blocks"].as_array().unwrap();
        assert_eq!(blocks.len(), 2);
        let seeds = fs::read_to_string(home.join("seeds")).unwrap();
        let last = seeds.lines().last().unwrap();
        for block in blocks {
            let store = &block["services"]["store"];
            assert_eq!(store["started"], starts > 1, "{store}");
            assert!(store["cpu_s"].as_f64().unwrap() > 0.0, "{store}");
            assert!(store["rss_bytes_max"].as_u64().unwrap() > 0, "{store}");
            assert!(store["seed_s"].is_number() && store["ready_s"].is_number());
        }
        let port = &blocks[1]["services"]["store"]["port"];
        assert_eq!(last, format!("{port} {{port}}"));
        for slice in slices(&record, "many") {
            assert!(slice["services_cpu_ns"][0].is_number(), "{slice}");
        }
    }
}

#[test]
fn a_service_that_dies_costs_its_block_and_is_started_again() {
    // Method: SIGKILL of the service in a block, once; then at each start, which ends the study
    // with the last lines of the service's output. All measurements are kept.
    let home = Home::new();
    let study = study(&home, "");
    let longer = |word| if word == "4" { "40" } else { word };
    let words: Vec<&str> = compare(&study, "2").into_iter().map(longer).collect();
    let mut running = home.start(&mut home.abx(&words));
    wait_for_second_block(&mut running);
    kill_service(&home, 0).unwrap();
    let ended = running.wait();
    ended.expect(0, &["the service store ended (signal 9)"]);
    let record = home.record();
    let complete = |record: &Value| -> Vec<bool> {
        let blocks = record["blocks"].as_array().unwrap().iter();
        blocks.map(|block| block["complete"] == true).collect()
    };
    assert_eq!(complete(&record).iter().filter(|&&done| done).count(), 2);
    assert_eq!(lines(home.join("starts")), 2);
    for block in record["blocks"].as_array().unwrap() {
        let died = &block["services"]["store"]["died"];
        assert_eq!(block["complete"] == false, died == "signal 9", "{died}");
    }

    let home = Home::new();
    let again = self::study(&home, "");
    let mut running = home.start(&mut home.abx(&compare(&again, "1000")));
    for start in 0..4 {
        running.until("the next start", |home| {
            (lines(home.join("starts")) > start).then_some(())
        });
        wait_for_second_block(&mut running);
        kill_service(&home, start).unwrap();
    }
    let ended = running.wait();
    ended.expect(3, &["service store ended", "signal 9", "store at "]);
    let record = home.record();
    assert_eq!(record["end"]["reason"], "service_failed");
    assert!(complete(&record).contains(&true));
    assert!(!findings(&record, "service_failed").is_empty());
    home.wait_until_empty();
}

#[test]
fn a_service_that_does_not_serve_is_reported_with_its_output() {
    // Method: a seed that fails, a check that never succeeds, and a response with the wrong status.
    for (keys, code, texts) in [
        (
            r#"seed = ["sh", "-c", "echo no such table; exit 4"]"#,
            2,
            &[
                "service store: its `seed` failed (exit code 4)",
                "no such table",
            ][..],
        ),
        (
            r#"ready = { check = ["sh", "-c", "echo not yet; false"], within = "1s" }"#,
            3,
            &[
                "service store was not ready within 1 s",
                "not yet",
                "store at ",
            ],
        ),
        (
            "env = { PATH = \"/usr/bin:/bin\" }\nready = { path = \"/\", status = 404 }",
            2,
            &["service store responds to / with status 200, not 404"],
        ),
    ] {
        let home = Home::new();
        let study = study(&home, keys);
        let ended = home.run_abx(&compare(&study, "1"));
        ended.expect(code, texts);
        home.wait_until_empty();
        assert_eq!(home.scratch(), [""; 0]);
    }
}

#[test]
fn a_stop_or_a_kill_leaves_nothing_of_a_service() {
    // Method: SIGINT and SIGKILL of abx, while the service is seeded and while it is under load.
    // Service, seed and folders are gone.
    let endless = r#"seed = ["sh", "-c", "echo $$ >> {study}/seeds; sleep 600 & wait"]"#;
    for (keys, marker) in [(endless, "seeds"), ("", "starts")] {
        for signal in [Signal::Int, Signal::Kill] {
            let home = Home::new();
            let study = study(&home, keys);
            let mut running = home.start(&mut home.abx(&compare(&study, "1000")));
            running.until("a marker", |home| {
                (lines(home.join(marker)) > 0).then_some(())
            });
            if keys.is_empty() {
                wait_for_second_block(&mut running);
            }
            running.signal(signal);
            match signal {
                Signal::Int => drop(running.wait().expect(130, &[])),
                _ => drop(running.wait_alone()),
            }
            home.wait_until_empty();
            crate::support::wait_for("an empty folder", || {
                home.scratch().is_empty().then_some(())
            });
        }
    }
}

#[test]
fn a_check_lists_a_service_before_its_subjects() {
    // Method: a service that works; then one that cannot be seeded, which breaks its subjects too.
    let home = Home::new();
    let study = study(&home, "");
    let ended = home.run_abx(&["study", "check", &study, "--json", "-"]);
    let checked = ended.expect(0, &[]).json();
    let rows = |checked: &Value| -> Vec<String> {
        let subjects = checked["subjects"].as_array().unwrap().iter();
        let word = |value: &Value, key: &str| value[key].as_str().unwrap().to_owned();
        subjects
            .map(|subject| format!("{} {}", word(subject, "subject"), word(subject, "status")))
            .collect()
    };
    assert_eq!(rows(&checked), ["store ready", "few ready", "many ready"]);
    let broken = self::study(&home, "seed = [\"false\"]");
    let ended = home.run_abx(&["study", "check", &broken, "--json", "-"]);
    let checked = ended.json();
    assert_eq!(
        rows(&checked),
        ["store broken", "few broken", "many broken"]
    );
    let why = checked["subjects"][1]["why"].as_str().unwrap();
    assert!(why.contains("needs the service store"), "{why}");
}

#[test]
fn what_a_service_does_for_the_costlier_subject_is_sampled() {
    // Method: each subject forwards to a service of its own, one of which makes 200 more system
    // calls per response. Only this one has a line of them, and it needs more CPU time.
    let home = Home::new();
    let mut text = "schema = \"abx.study_file/1\"\n[[load]]\nname = \"page\"\nconnections = 4\n\
                    requests = [{ path = \"/\" }]\n"
        .to_owned();
    for (name, flags) in [("plain", ""), ("costly", r#", "--extra-syscalls", "200""#)] {
        let forward = NGINX.replace("KEPT", "8").replace(
            "{service.store.port}",
            &format!("{{service.{name}-store.port}}"),
        );
        home.write(&format!("{name}.conf.in"), &forward);
        text.push_str(&format!(
            r#"
[[service]]
name = "{name}-store"
command = ["{ABX}", "serve", "--port", "{{port}}"{flags}]
[[subject]]
name = "{name}"
templates = {{ "n.conf" = "{name}.conf.in" }}
command = ["nginx", "-e", "stderr", "-p", "{{dir}}", "-c", "{{dir}}/n.conf"]
"#
        ));
    }
    let study = home.write("study.toml", &text);
    let flags = "--slice 100ms --rounds 2 --pilot brief --no-ceiling --why --json r.json";
    let mut arguments = vec!["compare", &study, "--blocks", "2"];
    arguments.extend(flags.split(' '));
    let ended = home.run_abx(&arguments);
    if ended.status.code() == Some(2) {
        // This machine does not permit sampling.
        assert!(ended.stderr.contains("abx doctor"), "{ended:#?}");
        return;
    }
    let record = read_json(&home.join("r.json"));
    let samples = &record["blocks"][0]["loads"][0]["ledgers"]["costly"]["services"];
    if record["conclusions"]["cpu_ledgers"][0]["is_kernel_split"] == false {
        return;
    }
    assert!(samples["samples"].as_u64() > Some(0), "{samples:#}");
    let by_thread = samples["by_thread"].as_object().unwrap().values();
    let sum: Option<u64> = by_thread.map(Value::as_u64).sum();
    assert_eq!(sum, samples["samples"].as_u64(), "{samples:#}");
    let services = &record["conclusions"]["cpu_differences"][0]["services"];
    let us = |of: &Value| [0, 1].map(|side| of["us_per_response"][side].as_f64().unwrap());
    let mut lines = services["lines"].as_array().unwrap().iter();
    let planted = lines.find(|line| line["name"] == "system call getppid");
    let [costly, plain] = us(planted.unwrap());
    assert!(costly > 0.0 && plain == 0.0, "{services:#}");
    let [costly, plain] = us(services);
    assert!(costly > plain, "{services:#}");
    let in_addition = "In addition, services use";
    assert!(ended.stdout.contains(in_addition), "{ended:#?}");
}
