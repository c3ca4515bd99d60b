//! Records of runs: a record of each shape of load is printed again unchanged, and judged again
//! from its measurements.

use std::fs;

use abx_sys::process::Signal;
use serde_json::{Value, json};

use crate::support::{Home, Server, assert_honest, findings, only_slice};

/// Runs, reads the record again, and checks that it is printed unchanged.
fn run_twice(home: &Home, url: &str, words: &str) -> Value {
    let mut arguments = vec!["run", url, "--quiet", "--json", "-"];
    arguments.extend(words.split(' '));
    let ended = home.run_abx(&arguments);
    let code = ended.status.code().expect("it ended by itself");
    let saved = home.write("run.json", &ended.stdout);
    let again = home.run_abx(&["report", &saved, "--quiet", "--json", "-"]);
    again.expect(code, &[]);
    assert_eq!(again.stdout, ended.stdout, "{words}");
    let record = ended.json();
    let slices = &record["blocks"][0]["loads"][0]["slices"];
    assert_eq!(slices["subject"]["names"], json!([url]), "{words}");
    record
}

#[test]
fn runs_of_every_shape_are_read_back_unchanged() {
    // Method: the record of each shape of load, read and written again.
    let home = Home::new();
    let server = Server::start(&["--websocket"]);
    let http = &server.url;
    let websocket = server.url.replace("http://", "ws://");
    let [echo, chat] = ["echo", "chat/a"].map(|path| format!("{websocket}{path}"));
    for (url, words) in [
        (http, "-d 200ms -c 4"),
        (http, "-n 300 -c 4 --no-keepalive"),
        (http, "-n 500 -c 2 --pipeline 8"),
        (http, "-d 200ms -c 4 -r 500"),
        (http, "-d 200ms -c 4 --think 5ms"),
        (&echo, "-n 200 -c 4 --message-bytes 5000"),
        (&chat, "--shape broadcast -n 50 -c 8"),
        (&echo, "--shape connections -c 50 --hold 50ms"),
    ] {
        let record = run_twice(&home, url, words);
        assert_eq!(record["schema"], "abx.run/2");
        assert_honest(&only_slice(&record));
        let subject = &record["blocks"][0]["subjects"][url.as_str()];
        assert_eq!(subject["listener"]["process_id"], server.id(), "{words}");
        let shape = record["loads"][0]["settings"]["shape"].as_str();
        let is_held = shape == Some("connections");
        let course = &record["blocks"][0]["loads"][0]["courses"][url.as_str()];
        assert_eq!(course.is_object(), !is_held, "{words}");
        let in_course: u64 = course["ok"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|ok| ok.as_u64().unwrap())
            .sum();
        let ok = record["ok"].as_u64().unwrap();
        // A response after the end of a timed run is in no interval.
        let expected = if words.contains("-n ") {
            ok..=ok
        } else {
            0..=ok
        };
        assert!(
            is_held || expected.contains(&in_course),
            "{words}: {in_course} of {ok}"
        );
        assert_eq!(record["held"].is_object(), is_held, "{words}");
        assert_eq!(
            record["broadcasts"].is_object(),
            shape == Some("broadcast"),
            "{words}"
        );
    }
}

#[test]
fn a_saved_run_is_judged_again_from_its_measurement() {
    // Method: a file with failures in place of responses, and one with a busy generator and a
    // server that is mostly idle.
    let home = Home::new();
    let server = Server::start(&[]);
    let record = run_twice(&home, &server.url, "-n 2000 -c 4");
    let changed = |change: fn(&mut Value)| {
        let mut record = record.clone();
        change(&mut record["blocks"][0]["loads"][0]);
        home.write("changed.json", &record.to_string())
    };
    let failed =
        changed(|load| load["slices"]["outcomes"] = json!({ "ok": [1000], "reset": [1000] }));
    let ended = home.run_abx(&["report", &failed]);
    let report = &ended.expect(3, &[]).stdout;
    let expected = "no result  1,000 of 2,000 requests";
    assert!(report.contains(expected), "{report}");
    let busy = changed(|load| {
        load["slices"]["busiest_worker_ns"] = load["slices"]["wall_ns"].clone();
        load["slices"]["server_cpu_ns"] = json!([1]);
        load["sides"]["readings"]["busiest_thread_ns"] = json!([1]);
    });
    let ended = home.run_abx(&["report", &busy, "--json", "-"]);
    let bound = findings(&ended.json(), "generator_bound");
    assert_eq!(bound.len(), 1, "{ended:#?}");
    assert_eq!(bound[0]["level"], "bound");
}

#[test]
fn a_run_that_is_stopped_keeps_what_was_measured() {
    // Method: SIGINT under load. The record has the responses until then.
    let home = Home::new();
    let server = Server::start(&[]);
    let running = home.start(&mut home.abx(&["run", &server.url, "-d", "60s", "-c", "2"]));
    server.wait_until_loaded();
    running.signal(Signal::Int);
    let ended = running.wait();
    let report = &ended.expect(130, &[]).stdout;
    let expected = "stopped before it was complete";
    assert!(report.contains(expected), "{report}");
    let path = home.record_path();
    let record: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(record["end"]["reason"], "interrupted");
    assert!(record["ok"].as_u64() > Some(0), "{record}");
    assert!(record["throughput_per_s"].as_f64() > Some(0.0), "{record}");
    let again = home.run_abx(&["report", path.to_str().unwrap()]);
    assert_eq!(again.expect(130, &[]).stdout, ended.stdout);
}

#[test]
fn with_quiet_the_reason_for_no_claim_is_printed() {
    // Method: a server with a wrong status in a tenth of its responses, started again until its
    // first responses are correct. The reason is the only line, and the statuses are counted.
    let home = Home::new();
    for seed in 1..=50 {
        let server = Server::start(&["--fail", "10", "--seed", &seed.to_string()]);
        let words = ["run", &server.url, "-n", "500", "-c", "2", "--quiet"];
        let ended = home.run_abx(&[&words[..], &["--json", "-"]].concat());
        // 2: it failed before the load, and nothing was measured.
        if ended.status.code() == Some(2) {
            continue;
        }
        ended.expect(3, &["no verdict is possible (exit code 3)", "wrong_status"]);
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
        let requests = only_slice(&ended.json());
        let wrong = &requests["outcomes"]["wrong_status"];
        let record = ended.json();
        let statuses = record["wrong_statuses"].as_object().unwrap();
        let total: u64 = statuses.values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(wrong.as_u64(), Some(total), "{requests}");
        let saved = home.write("run.json", &ended.stdout);
        let again = home.run_abx(&["report", &saved, "--quiet"]);
        again.expect(3, &["no verdict is possible (exit code 3)"]);
        assert!(again.stdout.contains("5xx "), "{again:#?}");
        return;
    }
    panic!("the first answers failed with every seed");
}
