//! Servers that fail on purpose: a failure is never a success, and a server
//! that fails is never judged faster.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use crate::support::{
    ABX, Ended, Home, Server, assert_honest, findings, in_five_looks, only_slice, outcomes, slices,
    subject,
};

/// Each fault, and the outcome of the requests that meet it.
const FAULTS: [(&str, &str); 4] = [
    ("--fail", "wrong_status"),
    ("--wrong-length", "wrong_length"),
    ("--wrong-body", "wrong_body"),
    ("--close-early", "early_close"),
];

/// How often a faulty server is started again until its first responses are correct.
const SEEDS: u32 = 50;

/// Repeats with other seeds until no fault meets the verification before the load: `run` gets the
/// flags of the server.
fn past_verification(fault: &str, mut run: impl FnMut(&str) -> Ended) -> (Ended, Value) {
    for seed in 1..=SEEDS {
        let ended = run(&format!("{fault} 10 --seed {seed}"));
        if ended.status.code() == Some(2) {
            continue;
        }
        let record = ended.json();
        // Bodies that vary already before the load are not compared under it.
        if findings(&record, "body_varies").is_empty() {
            ended.expect(3, &[]);
            return (ended, record);
        }
    }
    panic!("{fault} met the first responses of all {SEEDS} seeds");
}

#[test]
fn a_subject_that_fails_is_never_judged() {
    // Method: each fault in a tenth of one subject's responses, in one block.
    for (fault, outcome) in FAULTS {
        let (ended, record) = past_verification(fault, |words| {
            let home = Home::new();
            let (good, bad) = (subject("good", ""), subject("bad", words));
            home.run_abx(&[
                "compare",
                &good,
                &bad,
                "--blocks",
                "1",
                "--slice",
                "20ms",
                "--pilot",
                "brief",
                "--verify-every",
                "1",
                "--json",
                "-",
            ])
        });
        let comparison = &record["comparisons"][0];
        assert_eq!(comparison["verdict"], "invalid", "{fault}: {ended:#?}");
        assert_eq!(comparison["ratio"], Value::Null, "{fault}");
        assert_eq!(record["validity"]["status"], "invalid", "{fault}");
        let values = findings(&record, "failed_requests");
        assert_eq!(values.len(), 1, "{fault}: {values:?}");
        assert_eq!(values[0]["subject"], "bad", "{fault}");
        assert_eq!(values[0]["level"], "void", "{fault}");
        let message = values[0]["message"].as_str().unwrap();
        assert!(message.contains(outcome), "{fault}: {message}");

        for name in ["bad", "good"] {
            slices(&record, name).iter().for_each(assert_honest);
        }
        let of_bad = outcomes(&record, "bad");
        let failed = of_bad.iter().find(|(name, _)| name == outcome);
        assert!(
            failed.is_some_and(|(_, count)| *count > 0),
            "{fault}: {of_bad:?}"
        );
        let of_good = outcomes(&record, "good");
        assert!(
            of_good
                .iter()
                .all(|(name, count)| name == "ok" || *count == 0),
            "{fault}: {of_good:?}"
        );
    }
}

#[test]
fn a_run_against_a_failing_server_makes_no_claim() {
    // Method: each fault in a tenth of the responses to 2,000 requests.
    for (fault, outcome) in FAULTS {
        let (_, record) = past_verification(fault, |words| {
            let home = Home::new();
            let words: Vec<&str> = words.split(' ').collect();
            let server = Server::start(&words);
            let run = ["run", &server.url, "-n", "2000", "--verify-every", "1"];
            home.run_abx(&[&run[..], &["--json", "-"]].concat())
        });
        let slice = only_slice(&record);
        assert_honest(&slice);
        assert!(slice["outcomes"][outcome].as_u64() > Some(0), "{slice}");
        assert!(slice["ok"].as_u64() < Some(2000), "{slice}");
        assert_eq!(findings(&record, "failed_requests").len(), 1, "{record}");
    }
}

#[test]
fn with_any_body_expected_none_is_wrong() {
    // Method: a tenth of the bodies a byte short, another tenth of other bytes.
    let home = Home::new();
    let server = Server::start(&["--wrong-length", "10", "--wrong-body", "10"]);
    let run = ["run", &server.url, "-n", "2000", "--verify-every", "1"];
    let ended = home.run_abx(&[&run[..], &["--expect-body", "any", "--json", "-"]].concat());
    let record = ended.json();
    ended.expect(0, &[]);
    assert_eq!(record["outcomes"], json!({ "ok": 2000 }));
}

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// The URL of a server that reads one request after the other. It calls `respond` with the number
/// of each on its connection, until that returns false.
fn peer(respond: impl Fn(&mut TcpStream, usize) -> bool + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let respond = std::sync::Arc::new(respond);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let respond = std::sync::Arc::clone(&respond);
            std::thread::spawn(move || {
                let mut stream = stream;
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let mut number = 0;
                while lines
                    .by_ref()
                    .map_while(Result::ok)
                    .any(|line| line.is_empty())
                    && respond(&mut stream, number)
                {
                    number += 1;
                }
            });
        }
    });
    url
}

/// Runs a load against this URL; returns the outcomes of the requests and the record.
fn run_at(url: &str, load: &[&str]) -> (Value, Value) {
    let home = Home::new();
    let ended = home.run_abx(&[&["run", url], load, &["--json", "-"]].concat());
    let record = ended.json();
    (record["outcomes"].clone(), record)
}

#[test]
fn requests_that_a_server_drops_are_failures() {
    // Method: every second request is read and its connection closed, GET and POST alike; and the
    // probes, which send one request per connection, get a response.
    let url = peer(|stream, number| number == 0 && stream.write_all(HELLO.as_bytes()).is_ok());
    for method in ["GET", "POST"] {
        let load = ["-n", "200", "-c", "1", "--method", method];
        let (outcomes, record) = run_at(&url, &load);
        assert_eq!(outcomes, json!({ "ok": 100, "empty_response": 100 }));
        let failed = findings(&record, "failed_requests");
        assert_eq!(failed[0]["level"], "void", "{record}");
        let message = failed[0]["message"].as_str().unwrap();
        assert!(message.contains("empty_response 100"), "{message}");
    }
}

#[test]
fn a_server_that_ends_each_connection_is_named() {
    // Method: `Connection: close` with each response although keep-alive was requested.
    let url = peer(|stream, _| {
        let closing = HELLO.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
        // The client may be gone, which the next read shows.
        let _ = stream.write_all(closing.as_bytes());
        false
    });
    let (outcomes, record) = run_at(&url, &["-n", "200", "-c", "2"]);
    assert_eq!(outcomes, json!({ "ok": 200 }));
    let values = findings(&record, "connections_not_kept");
    let message = values[0]["message"].as_str().unwrap();
    assert!(
        message.contains("200 of 200 responses (100.0 %)"),
        "{message}"
    );
    let (_, record) = run_at(&url, &["-n", "200", "-c", "2", "--no-keepalive"]);
    assert!(findings(&record, "connections_not_kept").is_empty());
}

#[test]
fn unrequested_bytes_are_reported() {
    // Method: a second response comes 5 ms after each, at 10 requests a second. On a busy machine
    // it may meet the next request, which then counts as malformed.
    let url = peer(|stream, _| {
        let is_sent = stream.write_all(HELLO.as_bytes()).is_ok();
        std::thread::sleep(std::time::Duration::from_millis(5));
        is_sent && stream.write_all(HELLO.as_bytes()).is_ok()
    });
    let (outcomes, record) = run_at(&url, &["-r", "10", "-d", "2s", "-c", "1"]);
    let count = |name: &str| outcomes[name].as_u64().unwrap_or(0);
    assert_eq!(count("ok") + count("malformed"), 20, "{outcomes}");
    assert!(count("unsolicited") > 0, "{outcomes}");
    let failed = findings(&record, "failed_requests");
    let message = failed[0]["message"].as_str().unwrap();
    assert!(message.contains("unsolicited"), "{message}");
}

#[test]
fn a_head_that_is_too_large_under_load_is_named() {
    // Method: correct responses to the probes; under load, each has 257 fields.
    let url = peer(|stream, number| {
        let fields = "X: y\r\n".repeat(if number == 0 { 0 } else { 256 });
        let response = HELLO.replace("\r\n\r\n", &format!("\r\n{fields}\r\n"));
        stream.write_all(response.as_bytes()).is_ok()
    });
    let (outcomes, _) = run_at(&url, &["-n", "100", "-c", "1"]);
    assert_eq!(outcomes, json!({ "ok": 50, "head_too_large": 50 }));
}

#[test]
fn another_protocol_is_named() {
    // Method: an alert of TLS, as a server of https responds to plain HTTP.
    let url = peer(|stream, _| stream.write_all(b"\x15\x03\x01\0\x02\x02\x46").is_err());
    let home = Home::new();
    home.run_abx(&["run", &url]).expect(2, &["TLS", "https"]);
}

#[test]
fn workers_without_connections_stop_no_other() {
    // Method: one connection for two threads, and one for shared CPUs.
    let home = Home::new();
    let pair = [subject("a", ""), subject("b", "")];
    for more in [["-t", "2"], ["--pin", "shared"]] {
        let brief = ["--blocks", "1", "--slice", "20ms", "--pilot", "brief"];
        let compare = ["compare", &pair[0], &pair[1], "-c", "1", "--json", "-"];
        let ended = home.run_abx(&[&compare[..], &brief, &more].concat());
        let record = ended.json();
        assert!(
            findings(&record, "stopped_answering").is_empty(),
            "{ended:#?}"
        );
        ended.expect_measured(&record);
    }
}

#[test]
fn a_wrong_status_is_reported_with_its_meaning() {
    // Method: servers that respond with one status each, alone; and one whose output states why it
    // fails, compared with a correct one. No message suggests `--expect-status`.
    let home = Home::new();
    let moved = "301 Moved Permanently\r\nLocation: /new/";
    let not_allowed = "405 Method Not Allowed\r\nAllow: POST";
    for (head, words) in [
        (moved, ["leads to /new/", "--path"]),
        ("401 Unauthorized", ["credentials", "--user"]),
        ("403 Forbidden", ["refuses", "-H"]),
        (not_allowed, ["GET there, only POST", "-m"]),
        (
            "500 Internal Server Error",
            ["it failed: read its output", "log"],
        ),
    ] {
        let response = format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\n\r\n");
        let url = peer(move |stream, _| stream.write_all(response.as_bytes()).is_ok());
        let ended = home.run_abx(&["run", &url, "-n", "9"]);
        assert!(!ended.stderr.contains("--expect-status"), "{ended:#?}");
        ended.expect(2, &words);
    }
    home.write(
        "broken.py",
        "import http.server, sys\n\
         class Broken(http.server.BaseHTTPRequestHandler):\n    \
             def do_GET(self):\n        \
                 print('the database is gone', flush=True)\n        \
                 self.send_error(500)\n\
         address = ('127.0.0.1', int(sys.argv[1]))\n\
         http.server.HTTPServer(address, Broken).serve_forever()\n",
    );
    let broken = "broken=python3 broken.py {port}";
    let ended = home.run_abx(&["compare", &subject("right", ""), broken]);
    assert!(!ended.stderr.contains("--expect-status"), "{ended:#?}");
    ended.expect(
        2,
        &[
            "broken responds to / with status 500",
            "the database is gone",
        ],
    );
}

/// A server of a small page, which it writes at once or, if so configured, in two parts.
const PAGE_IN_PARTS: &str = "\
import http.server, sys
class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        parts = [b'HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\n', b'hello']
        for part in parts if sys.argv[2] == 'two' else [b''.join(parts)]:
            self.wfile.write(part)
    def log_message(self, *words):
        pass
http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Page).serve_forever()
";

#[test]
fn a_response_whose_second_write_waits_for_an_acknowledgement_is_noted() {
    // Method: the same page in one write and in two, from a server that leaves Nagle's algorithm
    // on; every response is verified.
    let home = Home::new();
    home.write("page.py", PAGE_IN_PARTS);
    let page = |writes: &str| format!("{writes}=python3 page.py {{port}} {writes}");
    let (at_once, in_parts) = (page("one"), page("two"));
    in_five_looks(|| {
        let ended = home.run_abx(&[
            "compare",
            &at_once,
            &in_parts,
            "-c",
            "4",
            "--blocks",
            "1",
            "--rounds",
            "4",
            "--slice",
            "200ms",
            "--pilot",
            "brief",
            "--verify-every",
            "1",
            "--json",
            "-",
        ]);
        let record = ended.json();
        let noted = findings(&record, "delayed_acknowledgements");
        let subjects: Vec<&str> = noted
            .iter()
            .filter_map(|value| value["subject"].as_str())
            .collect();
        if subjects == ["two"] {
            Ok(())
        } else {
            Err(format!("{noted:?}"))
        }
    });
}

#[test]
fn a_subject_that_fails_to_restart_is_left_out_and_others_continue() {
    // Method: three blocks of two correct servers and of one that starts only for the pilot and the
    // first block.
    let home = Home::new();
    let failing = format!(
        "bad=sh -c 'echo x >> starts; test $(wc -l < starts) -lt 3 && exec {ABX} serve --port \
         {{port}}; echo no licence left; exit 7'"
    );
    let ended = home.run_abx(&[
        "compare",
        &subject("one", ""),
        &failing,
        &subject("other", ""),
        "--blocks",
        "3",
        "--rounds",
        "4",
        "--slice",
        "20ms",
        "--pilot",
        "brief",
        "--json",
        "-",
    ]);
    let record = ended.json();
    assert_eq!(record["end"]["reason"], "blocks", "{ended:#?}");
    let failed = findings(&record, "subject_failed");
    assert_eq!((failed.len(), &failed[0]["subject"]), (1, &json!("bad")));
    let message = failed[0]["message"].as_str().unwrap();
    for part in ["start of block 2", "(exit code 7)", "no licence left"] {
        assert!(message.contains(part), "{message}");
    }
    let bad = |block: usize| &record["blocks"][block]["subjects"]["bad"];
    assert!(bad(0)["failed_start"].is_null() && bad(0)["ready_s"].is_number());
    assert!(bad(1)["failed_start"].is_string(), "{}", bad(1));
    assert!(bad(2).is_null());
    assert_eq!(slices(&record, "other").len(), 12);
    let values = record["comparisons"].as_array().unwrap().iter();
    for value in values.filter(|value| value["role"] == "primary") {
        let is_void = value["verdict"] == "invalid";
        assert_eq!(is_void, value["subject"] == "bad", "{value:#}");
    }
    ended.expect(3, &["bad failed at the start of a block"]);
}
