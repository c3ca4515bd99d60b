//! Servers of another program that break under load: each study ends by itself, names the broken
//! server in its first sentence, and still has the figures of the other subject.

use std::net::TcpListener;
use std::process::Command;
use std::sync::Mutex;

use crate::support::{ABX, Ended, Home, outcomes, read_json};

/// The server that breaks: `--list` prints its faults.
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/faulty_server.py");

fn server(name: &str, fault: &str) -> String {
    format!("{name}=python3 {SERVER} {{port}} {fault}")
}

/// The output of a study of a correct server and one with this fault.
fn compare(home: &Home, fault: &str, more: &[&str]) -> Ended {
    let (good, bad) = (server("good", "none"), server("bad", fault));
    let words = [
        "compare",
        &good,
        &bad,
        "--no-ceiling",
        "--json",
        "study.json",
    ];
    home.run_abx(&[&words[..], more].concat())
}

/// The first sentence for the user: of the report, or else why there is none.
fn first_sentence(ended: &Ended) -> String {
    let report = ended.stdout.split("\n\n").next().unwrap_or_default();
    let why = ended.stderr.lines().find(|line| line.starts_with("abx: "));
    let text = if report.is_empty() {
        why.unwrap_or_default()
    } else {
        report
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Slices long enough that the generator gets a CPU in each, even while other tests run.
#[rustfmt::skip]
const BRIEF: [&str; 10] = [
    "--blocks", "1", "--rounds", "2", "--slice", "300ms", "--pilot", "brief", "--wait", "asleep",
];

#[test]
fn a_subject_that_breaks_is_named_and_the_other_is_measured() {
    // Method: the faults that differ most, each after some correct responses: some connections or
    // all fall silent, half a response, a server that ends and returns, wrong responses. The
    // silence of some is tolerated for 5 s in total, which is three timeouts here: the third ends
    // the pilot or the block.
    for (fault, timeout, messages) in [
        (
            "mute-tenth --after 50",
            "2s",
            "bad responded on |bad left |requests to bad failed: timeout",
        ),
        ("stopped --after 50", "1s", "bad stopped responding"),
        ("half-close --after 50", "1s", "early_close"),
        ("die-return --after 50", "1s", "bad"),
        ("status --after 50", "1s", "wrong_status"),
    ] {
        let home = Home::new();
        let ended = compare(
            &home,
            fault,
            &[&BRIEF[..], &["--timeout", timeout]].concat(),
        );
        assert_eq!(ended.status.code(), Some(3), "{fault}: {ended:#?}");
        let first = first_sentence(&ended);
        assert!(
            first.contains("bad") && messages.split('|').any(|message| first.contains(message)),
            "{fault}: {ended:#?}"
        );
        let record = read_json(&home.join("study.json"));
        let correct = outcomes(&record, "good")
            .into_iter()
            .find_map(|(name, count)| (name == "ok").then_some(count));
        assert!(correct > Some(0), "{fault}: {ended:#?}");
    }
}

/// Faults that show within seconds. The others wait until a start times out, or resemble one of
/// these.
const QUICK: &[&str] = &[
    "start-exit",
    "start-fork",
    "start-daemon",
    "die-early",
    "die-resting",
    "crash",
    "leave",
    "memory",
    "output",
    "forks",
    "reset",
    "garbage",
    "switch",
    "wrong-length",
    "two-lengths",
    "huge-length",
    "huge-chunk",
    "twice",
    "misdirected",
    "endless-line",
    "endless-chunks",
    "endless-trailers",
    "interim-flood",
    "empty-lines",
    "h2-settings",
    "h2-reset",
    "h2-continuation",
    "h2-table",
    "h2-empty-data",
    "ws-length",
    "ws-endless",
    "ws-pings",
    "ws-fragments",
    "ws-close",
];

#[test]
fn each_quick_fault_ends_as_the_server_lists_it() {
    // Method: four studies at a time, each of a correct server and one with a fault. The server's
    // list gives the flags and the exit code; nothing may be left of any study.
    let listed = Command::new("python3").args([SERVER, "--list"]).output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    let row = |fault: &str| {
        let mut rows = listed.lines().map(|line| line.split('\t'));
        rows.find_map(|mut row| (row.next() == Some(fault)).then(|| row.collect::<Vec<_>>()))
    };
    let faults = Mutex::new(QUICK.iter());
    let next = || faults.lock().unwrap().next();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(fault) = next() {
                    let row = row(fault).unwrap_or_else(|| panic!("{fault} is not listed"));
                    assert_end(fault, row[0], row[1]);
                }
            });
        }
    });
}

/// Asserts that a study with this fault ends with this exit code and that its first sentence names
/// the broken server.
fn assert_end(fault: &str, flags: &str, code: &str) {
    let home = Home::new();
    let flags = flags.split(' ').filter(|flag| *flag != "-");
    let flags: Vec<&str> = BRIEF
        .into_iter()
        .chain(["--timeout", "1s"])
        .chain(flags)
        .collect();
    let ended = compare(&home, &format!("{fault} --after 50"), &flags);
    let ended_with = ended.status.code().map(|code| code.to_string());
    assert_eq!(ended_with.as_deref(), Some(code), "{fault}: {ended:#?}");
    let is_named = first_sentence(&ended).contains("bad");
    assert!(is_named || code == "0", "{fault}: {ended:#?}");
}

#[test]
fn a_server_that_fills_the_disk_with_output_is_named() {
    // Method: 2 GB of output, most of which is a hole.
    let home = Home::new();
    let ended = compare(
        &home,
        "output --after 50",
        &[&BRIEF[..], &["--timeout", "1s"]].concat(),
    );
    ended.expect(3, &["bad has written ", " MB of output since its start"]);
}

#[test]
fn an_echo_that_falls_silent_is_named() {
    // Method: a WebSocket server that still takes messages and sends none back.
    let home = Home::new();
    let echo = ["--shape", "echo", "--timeout", "1s"];
    let ended = compare(&home, "mute --after 50", &[&BRIEF[..], &echo].concat());
    ended.expect(3, &[]);
    let first = first_sentence(&ended);
    assert!(first.contains("bad stopped responding"), "{ended:#?}");
}

#[test]
fn the_budget_bounds_a_start_too() {
    // Method: servers that accept connections and do not respond; the usual wait for a start is 30
    // s, and the budget is shorter.
    let home = Home::new();
    let (bad, other) = (server("bad", "start-mute"), server("other", "start-mute"));
    let ended = home.run_abx(&["compare", &bad, &other, "--budget", "3s"]);
    ended.expect(3, &["abx: bad was not ready within "]);
    assert!(!ended.stderr.contains("within 30 s"), "{ended:#?}");
}

/// The lines that a comparison with these arguments prints on a terminal, which `script` provides.
fn lines_on_a_terminal(words: &[&str]) -> Vec<String> {
    let home = Home::new();
    let words = [&["compare"], words, &["--no-ceiling"], &BRIEF].concat();
    let quoted = |word: &&str| format!("\"{word}\"");
    let words: Vec<String> = std::iter::once(&ABX).chain(&words).map(quoted).collect();
    let line = format!("stty cols 200; exec {}", words.join(" "));
    let mut command = Command::new("script");
    command.args(["-qec", &line, "typescript"]);
    home.settle(&mut command);
    command.env("SHELL", "/bin/sh").env("TERM", "xterm");
    let ended = home.run(&mut command);
    let lines = ended.stdout.split(['\r', '\n']);
    lines.map(str::to_owned).collect()
}

/// Whether a single line has all of these parts.
fn has_line(lines: &[String], parts: &[&str]) -> bool {
    let has = |line: &String| parts.iter().all(|part| line.contains(part));
    lines.iter().any(has)
}

#[test]
fn a_terminal_shows_which_subject_is_awaited() {
    // Method: each tenth connection never gets a response.
    let bad = server("bad", "mute-tenth --after 50");
    let lines = lines_on_a_terminal(&[&server("good", "none"), &bad, "--timeout", "4s"]);
    let parts = ["waiting for ", " of bad's connections, ", " s of 4"];
    assert!(has_line(&lines, &parts), "{lines:#?}");
}

#[test]
fn a_terminal_shows_whose_first_response_is_awaited() {
    // Method: a server that the test itself runs, so that there is no wait for its start, accepts
    // connections and does not respond.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let bad = format!("bad=http://{}/", silent.local_addr().unwrap());
    let lines = lines_on_a_terminal(&[&bad, &server("good", "none"), "--timeout", "4s"]);
    let parts = ["checking bad's first response, ", " s of 4"];
    assert!(has_line(&lines, &parts), "{lines:#?}");
}

#[test]
fn a_terminal_shows_how_many_connections_are_open() {
    // Method: a rate at which 60 connections take three seconds to open.
    let servers = ["one", "two"].map(|name| server(name, "none"));
    let [first, second] = servers.each_ref();
    let lines = lines_on_a_terminal(&[first, second, "-c", "60", "--open-rate", "20"]);
    let parts = ["opening 60 connections to two: ", " open"];
    assert!(has_line(&lines, &parts), "{lines:#?}");
}
