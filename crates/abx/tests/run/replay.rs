//! Replayed access logs: the requests that a server receives, their order, and their description in
//! the record. Times are checked only in plans.

use serde_json::{Value, json};

use crate::run::requests::Listener;
use crate::support::{Ended, Home, outcomes};

/// A line of a log.
fn line(second: u32, request: &str, status: u16) -> String {
    format!(
        "127.0.0.1 - - [10/Oct/2000:13:55:{second:02} -0700] \"{request} HTTP/1.1\" {status} 87 \
         \"-\" \"curl/8\"\n"
    )
}

/// Fourteen requests, one of them twice and some out of order, and two lines that are left out. The
/// replay takes 3 s, of which the last second is for late requests.
fn log() -> String {
    let at = |second, path: &str| line(second, &format!("GET {path}"), 200);
    let first: String = (0..10)
        .map(|number| at(5, &format!("/a{number}")))
        .collect();
    let damaged = "not a line of a log\n";
    let posted = line(5, "POST /a0", 201);
    let later = at(6, "/b0") + &at(7, "/end") + &at(6, "/b1");
    format!("{later}{damaged}{posted}{first}{}", at(5, "/a0"))
}

/// The paths of the log above in the order of their times.
fn in_order() -> Vec<String> {
    let first = (0..10).map(|number| format!("/a{number}"));
    first
        .chain(["/a0", "/b0", "/b1", "/end"].map(str::to_owned))
        .collect()
}

fn run(home: &Home, server: &Listener, words: &[&str]) -> Ended {
    let fixed = [
        "run",
        &server.url,
        "--quiet",
        "--json",
        "-",
        "--replay",
        "access.log",
    ];
    home.run_abx(&[&fixed[..], words].concat())
}

fn count(record: &Value, path: &str) -> u64 {
    let value = record.pointer(path).and_then(Value::as_u64);
    value.unwrap_or_else(|| panic!("{path}: {record}"))
}

#[test]
fn each_line_is_sent_once_in_order_of_time() {
    // Method: one connection, so that requests arrive in the order in which they were sent. Before
    // the load, abx sends each different request three times.
    let home = Home::new();
    home.write("access.log", &log());
    let server = Listener::start();
    let ended = run(&home, &server, &["-c", "1", "-H", "X-User: me"]);
    let record = ended.expect(0, &[]).json();
    let received = server.take();
    for request in &received {
        assert_eq!((&*request.method, &*request.user), ("GET", "me"));
    }
    let paths: Vec<&str> = received
        .iter()
        .map(|request| request.path.as_str())
        .collect();
    assert_eq!(paths[3 * 13..], in_order());
    assert_eq!(count(&record, "/offered/planned"), 14);
    assert_eq!(count(&record, "/ok"), 14);
    let settings = &record["loads"][0]["settings"];
    assert_eq!(record["loads"][0]["pilot"]["slice_ns"], 3_000_000_000_u64);
    assert_eq!(
        settings["arrivals"],
        json!({
            "kind": "replay",
            "rate_per_s": null,
            "text": "of access.log, 14 requests in 3s; left out: 1 by other methods, 1 damaged \
                     (line 4: it has no time such as [10/Oct/2000:13:55:36 -0700])",
        })
    );
    let requests = &record["loads"][0]["settings"]["requests"];
    let twice = json!({"method": "GET", "path": "/a0", "weight": 2, "status": 200});
    assert!(requests.as_array().unwrap().contains(&twice), "{requests}");
}

#[test]
fn a_log_is_replayed_faster_and_in_part() {
    // Method: plans at several speeds and with an earlier end, which do not depend on the speed of
    // this machine.
    let home = Home::new();
    home.write("access.log", &log());
    let server = Listener::start();
    for (words, lasts_ns, planned) in [
        (&["--speed", "10"][..], 300_000_000, 14),
        (&["--speed", "20"], 150_000_000, 14),
        (&["--speed", "10", "-d", "100ms"], 100_000_000, 11),
        (&["--speed", "10", "-d", "1m"], 300_000_000, 14),
        (
            &["--speed", "10", "--replay-methods", "all", "-t", "3"],
            300_000_000,
            15,
        ),
    ] {
        let record = run(&home, &server, words).json();
        assert_eq!(
            record["loads"][0]["pilot"]["slice_ns"], lasts_ns,
            "{words:?}"
        );
        assert_eq!(count(&record, "/offered/planned"), planned, "{words:?}");
        let received = server.take();
        let has_posted = received.iter().any(|request| request.method == "POST");
        assert_eq!(has_posted, words.contains(&"all"), "{words:?}");
    }
}

#[test]
fn the_responses_of_the_log_are_expected() {
    // Method: a path that was missing and still is, one that has gone missing since, and one that
    // exists; then one expected status for all of them.
    let home = Home::new();
    let text: String = [
        line(5, "GET /missing/always", 404).repeat(3),
        line(5, "GET /missing/now", 200),
        line(5, "GET /ok", 304).repeat(16),
        line(6, "GET /ok", 200),
    ]
    .concat();
    home.write("access.log", &text);
    let server = Listener::start();
    for (words, ok, wrong) in [
        (&[][..], 20, 1),
        (&["--expect-status", "2xx"], 17, 4),
        (&["--expect-status", "404"], 4, 17),
    ] {
        let record = run(&home, &server, &[words, &["--speed", "2"]].concat()).json();
        let outcomes = &record["outcomes"];
        assert_eq!(
            outcomes,
            &json!({"ok": ok, "wrong_status": wrong}),
            "{words:?}"
        );
        let load = &record["loads"][0];
        let responses = load["answers"]
            .as_object()
            .unwrap()
            .values()
            .next()
            .unwrap();
        assert_eq!(responses[1]["status"], 404);
        let expected = &load["settings"]["requests"][1]["status"];
        assert_eq!(
            *expected,
            if words.is_empty() {
                json!(200)
            } else {
                Value::Null
            }
        );
    }
}

#[test]
fn subjects_replay_the_same_part_of_a_log() {
    // Method: two servers, each with a trial of 2 s, of which a tenth is not counted. Eight
    // requests of the first second and two of the second one count.
    let home = Home::new();
    home.write("access.log", &log());
    let (a, b) = (Listener::start(), Listener::start());
    let subjects = [format!("a={}", a.url), format!("b={}", b.url)];
    let words = "--replay access.log --slice 2s --blocks 1 --pilot brief -c 2 --json -";
    let words: Vec<&str> = words.split(' ').collect();
    let ended = home.run_abx(&[&["compare", &subjects[0], &subjects[1]], &words[..]].concat());
    let record = ended.json();
    ended.expect_measured(&record);
    let pilot = &record["loads"][0]["pilot"];
    assert_eq!(pilot["interleave"], "trials");
    assert_eq!(
        (&pilot["slice_ns"], &pilot["warm_up_ns"]),
        (&json!(2_000_000_000_u64), &json!(2_000_000_000_u64))
    );
    for subject in ["a", "b"] {
        assert_eq!(
            outcomes(&record, subject),
            [("ok".to_owned(), 10)],
            "{subject}"
        );
    }
}

#[test]
fn invalid_logs_are_reported_before_anything_is_sent() {
    // Method: each error alone. The server receives no request.
    let home = Home::new();
    home.write("access.log", &log());
    home.write("paths", "/a\n/b\n");
    home.write("posts", &line(0, "POST /", 200));
    let server = Listener::start();
    let replay = ["--replay", "access.log"];
    for (words, part) in [
        (
            &["--replay", "none"][..],
            "--replay: none: it cannot be read",
        ),
        (&["--replay", "paths"], "(line 1: it has no time such as"),
        (&["--replay", "posts"], "add `--replay-methods all`"),
        (&["--speed", "2"], "--replay <FILE>"),
        (
            &[&replay[..], &["--speed", "0"]].concat()[..],
            "`0` is not a speed",
        ),
        (
            &[&replay[..], &["-n", "5"]].concat()[..],
            "-n does not apply to --replay",
        ),
        (
            &[&replay[..], &["-r", "5"]].concat()[..],
            "cannot be used with",
        ),
        (
            &[&replay[..], &["--path", "/"]].concat()[..],
            "cannot be used with",
        ),
        (
            &[&replay[..], &["-c", "1,2"]].concat()[..],
            "--replay is one load",
        ),
    ] {
        let words = [&["run", server.url.as_str()][..], words].concat();
        home.run_abx(&words).expect(2, &[part]);
    }
    assert_eq!(server.take(), []);
}
