//! Loads of WebSocket, as a user requests them.

use std::fs;

use serde_json::Value;

use crate::support::{
    Home, Server, assert_honest, findings, in_five_looks, only_slice, readings, response, slices,
    subject,
};

/// The record of a run against a path of a server.
fn run_at(server: &Server, path: &str, words: &str, code: i32) -> Value {
    let home = Home::new();
    let url = format!("ws://127.0.0.1:{}{path}", server.port());
    let mut arguments = vec!["run", &url, "--quiet", "--json", "-"];
    arguments.extend(words.split(' '));
    let ended = home.run_abx(&arguments);
    ended.expect(code, &[]);
    ended.json()
}

#[test]
fn a_run_counts_messages_that_came_back() {
    // Method: 500 binary messages over four connections, all of them verified.
    let server = Server::start(&["--websocket"]);
    let words = "-n 500 -c 4 --message-bytes 5000 --binary --verify-every 1";
    let record = run_at(&server, "/echo", words, 0);
    let settings = &record["loads"][0]["settings"];
    assert_eq!(settings["protocol"], "websocket");
    assert_eq!(settings["shape"], "echo");
    assert_eq!(settings["message"]["bytes"], 5000);
    assert_eq!(settings["message"]["kind"], "binary");
    assert_eq!(response(&record)["body_bytes"], 5000);
    assert_honest(&only_slice(&record));
    assert_eq!(record["ok"], 500, "{record}");
    assert_eq!(only_slice(&record)["hashed"], 500);
}

#[test]
fn a_broadcast_is_complete_when_every_client_has_it() {
    // Method: 50 broadcasts in a room of eight. No listener has one before the first listener.
    let server = Server::start(&["--websocket"]);
    let record = run_at(&server, "/chat/a", "--shape broadcast -n 50 -c 8", 0);
    assert_eq!(record["ok"], 50, "{record}");
    let broadcasts = &record["broadcasts"];
    assert_eq!(broadcasts["lost"], 0);
    assert_eq!(broadcasts["out_of_order"], 0);
    let median = |times: &Value| times["p50"].as_u64().unwrap();
    let first = median(&broadcasts["first_listener_us"]);
    let half = median(&broadcasts["median_listener_us"]);
    let last = median(&record["response_time_us"]);
    assert!(first <= half && half <= last, "{first} {half} {last}");
}

#[test]
fn listeners_that_never_get_a_broadcast_are_found() {
    // Method: an echo sends a message only to its sender.
    let server = Server::start(&["--websocket"]);
    let words = "--shape broadcast -n 3 -c 4 --timeout 1s";
    let record = run_at(&server, "/echo", words, 3);
    assert_eq!(record["ok"], 0, "{record}");
    assert!(record["broadcasts"]["lost"].as_u64() > Some(0), "{record}");
    assert_eq!(findings(&record, "listeners_missed").len(), 1);
    assert_eq!(findings(&record, "failed_requests").len(), 1);
}

#[test]
fn foreign_messages_are_not_echoes() {
    // Method: a room, which behaves like an echo only as long as it has one member.
    let server = Server::start(&["--websocket"]);
    let record = run_at(&server, "/chat/a", "-n 200 -c 8", 3);
    assert_honest(&only_slice(&record));
    assert!(record["ok"].as_u64() < Some(200), "{record}");
    let failed = findings(&record, "failed_requests");
    let message = failed[0]["message"].as_str().unwrap();
    assert!(message.contains(" messages to ws://"), "{message}");
}

#[test]
fn held_connections_are_counted_and_their_memory_is_read() {
    // Method: 200 connections for a moment; nothing is sent over them.
    let server = Server::start(&["--websocket"]);
    let words = "--shape connections -c 200 --hold 50ms";
    let record = run_at(&server, "/echo", words, 0);
    let url = format!("ws://127.0.0.1:{}/echo", server.port());
    let held = &readings(&record["blocks"][0]["loads"][0], &url)["held"];
    let figures = &record["held"];
    assert_eq!(
        (&figures["asked"], &figures["standing"], &figures["lost"]),
        (&200.into(), &200.into(), &0.into())
    );
    assert!(held["open_ns"].as_u64() > Some(0), "{held}");
    assert!(held["memory_before_bytes"].is_u64(), "{held}");
    assert!(held["memory_after_bytes"].is_u64(), "{held}");
    assert_eq!(record["sent"], 0);
}

#[test]
fn an_echo_that_waits_for_an_acknowledgement_is_noted() {
    // Method: frames in two parts with Nagle's algorithm, then in one part without it.
    let slow = Server::start(&["--websocket", "--no-nodelay", "--split-frames"]);
    let findings_of = |server: &Server| {
        let record = run_at(server, "/echo", "-n 200 -c 4", 0);
        let delayed = findings(&record, "delayed_acknowledgements");
        (delayed.len(), record["response_time_us"].to_string())
    };
    in_five_looks(|| match findings_of(&slow) {
        (1, _) => Ok(()),
        (_, times) => Err(times),
    });
    let quick = Server::start(&["--websocket"]);
    in_five_looks(|| match findings_of(&quick) {
        (0, _) => Ok(()),
        (_, times) => Err(times),
    });
}

#[test]
fn two_servers_are_compared_by_their_echoes() {
    // Method: one of them works for each message; one short block.
    let home = Home::new();
    let (one, other) = (
        subject("one", "--websocket"),
        subject("other", "--websocket --work 50us"),
    );
    let ended = home.run_abx(&[
        "compare", &one, &other, "--shape", "echo", "--path", "/echo", "-c", "4", "--blocks", "1",
        "--rounds", "6", "--slice", "20ms", "--pilot", "brief",
    ]);
    let record = home.record();
    ended.expect_measured(&record);
    assert!(ended.stdout.contains("messages/s"), "{}", ended.stdout);
    assert_eq!(record["conclusions"]["ceilings"], Value::Array(Vec::new()));
    assert_eq!(findings(&record, "body_varies").len(), 0, "{record}");
    for name in ["one", "other"] {
        let slices = slices(&record, name);
        slices.iter().for_each(assert_honest);
        assert!(slices.iter().any(|slice| slice["ok"].as_u64() > Some(0)));
    }
}

/// Every shape, in a study file.
const STUDY: &str = r#"
blocks = 2
seed = 7
[[subject]]
name = "one"
command = ["{abx}", "serve", "--port", "{port}", "--websocket"]
[[subject]]
name = "other"
command = ["{abx}", "serve", "--port", "{port}", "--websocket"]
ready = { path = "/" }
[[load]]
name = "echo"
shape = "echo"
connections = 2
message = { bytes = [10, 2000] }
requests = [{ path = "/echo" }]
[[load]]
name = "room"
shape = "broadcast"
connections = 4
requests = [{ path = "/chat/a" }]
[[load]]
name = "held"
shape = "connections"
connections = [2000, 1000]
hold = "20ms"
requests = [{ path = "/echo" }]
"#;

#[test]
fn a_study_file_has_every_shape() {
    // Method: two blocks of all shapes, with a page. Held connections come first in a block, those
    // with the fewest before the others.
    let home = Home::new();
    let study = home.write("study.toml", STUDY);
    let words = [
        "--rounds",
        "6",
        "--slice",
        "20ms",
        "--pilot",
        "brief",
        "--html",
        "page.html",
    ];
    let ended = home.run_abx(&[&["compare", &study], &words[..]].concat());
    let record = home.record();
    ended.expect_measured(&record);
    let loads = record["loads"].as_array().unwrap().iter();
    let names: Vec<&str> = loads.map(|load| load["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["echo-b10", "echo-b2000", "room", "held-c1000", "held-c2000"]
    );
    let comparisons = record["comparisons"].as_array().unwrap().iter();
    let primary: Vec<&str> = comparisons
        .filter(|comparison| comparison["role"] == "primary")
        .map(|comparison| comparison["metric"].as_str().unwrap())
        .collect();
    assert!(primary.contains(&"memory_per_connection"), "{primary:?}");
    for block in record["blocks"].as_array().unwrap() {
        let loads = block["loads"].as_array().unwrap();
        assert_eq!(loads[0]["load"], "held-c1000");
        assert_eq!(loads[1]["load"], "held-c2000");
        for load in &loads[..2] {
            let held = &readings(load, "one")["held"];
            assert_eq!(held["standing"], held["asked"], "{held}");
        }
        let room = loads.iter().find(|load| load["load"] == "room").unwrap();
        assert!(
            room["histograms"]["one"]["first_listener"].is_array(),
            "{room}"
        );
    }
    let page = fs::read_to_string(home.join("page.html")).unwrap();
    assert!(page.contains("memory each") && page.contains("messages/s"));
}

#[test]
fn flags_without_meaning_for_a_shape_are_refused_with_a_remedy() {
    // Method: one flag too many for each error. Nothing is started.
    let home = Home::new();
    for (words, part) in [
        ("run http://127.0.0.1:1/ --shape echo", "use ws://"),
        ("run ws://127.0.0.1:1/ --method POST", "leave it out"),
        (
            "run ws://127.0.0.1:1/ --shape connections -r 5",
            "leave it out",
        ),
        ("run ws://127.0.0.1:1/ --shape connections -d 1s", "--hold"),
        ("run ws://127.0.0.1:1/ --hold 1s", "leave it out"),
        (
            "run ws://127.0.0.1:1/ --shape broadcast --message-bytes 9",
            "at least 16",
        ),
        (
            "compare http://127.0.0.1:1/ ws://127.0.0.1:2/",
            "for all of them",
        ),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        home.run_abx(&words).expect(2, &[part]);
    }
}
