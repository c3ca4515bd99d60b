//! The display while a study runs: on a terminal, in a log, and with `--quiet`.

use std::path::Path;
use std::process::Command;

use crate::support::{ABX, Ended, Home, Server, subject};

/// The most attempts to start a faulty server whose first responses are correct.
const SEEDS: u32 = 50;

/// Runs a short study of a server with a wrong status in a tenth of its responses. `command` makes
/// the command from its words.
fn with_failures(command: impl Fn(&Home, &[&str]) -> Command) -> Ended {
    for seed in 1..=SEEDS {
        let home = Home::new();
        let bad = subject("bad", &format!("--fail 10 --seed {seed}"));
        let words = ["compare", &subject("good", ""), &bad, "--no-ceiling"];
        let words = [
            &words[..],
            &["--blocks", "2", "--slice", "20ms", "--pilot", "brief"],
        ]
        .concat();
        let ended = home.run(&mut command(&home, &words));
        // 2: it failed before the load, and nothing was measured.
        if ended.status.code() != Some(2) {
            return ended;
        }
    }
    panic!("the first answers failed with all {SEEDS} seeds");
}

#[test]
fn a_terminal_shows_failures_as_they_occur() {
    // Method: a terminal made by `script`. While a block is running, its line must name the failing
    // subject, the failure and its count.
    let ended = with_failures(|home, words| {
        let quoted = |word: &&str| format!("\"{}\"", word.replace('"', "\\\""));
        let words: Vec<String> = std::iter::once(&ABX).chain(words).map(quoted).collect();
        let line = format!("stty cols 200; exec {}", words.join(" "));
        let mut command = Command::new("script");
        command.args(["-qec", &line, "typescript"]);
        home.settle(&mut command);
        command.env("SHELL", "/bin/sh").env("TERM", "xterm");
        command
    });
    let has_failure = |line: &&str| line.contains("round ") && line.contains("bad failed: ");
    let lines = || ended.stdout.split(['\r', '\n']);
    let line = lines()
        .find(has_failure)
        .unwrap_or_else(|| panic!("{ended:#?}"));
    assert!(line.contains(" wrong status"), "{line}");
    assert!(
        !lines().any(|line| line.contains("good failed")),
        "{ended:#?}"
    );
}

#[test]
fn a_report_is_as_wide_as_its_terminal() {
    // Method: a saved record on a terminal of 110 columns made by `script`, on one of 300, and in a
    // file with and without columns in the environment.
    let home = Home::new();
    let record =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/records/study-many-metrics.json");
    let record = record.to_str().unwrap();
    let on_terminal = |columns: u32| {
        let line =
            format!("stty rows 40 cols {columns}; exec {ABX} report {record} --full --no-color");
        let mut command = Command::new("script");
        command.args(["-qec", &line, "typescript"]);
        home.settle(&mut command);
        command.env("SHELL", "/bin/sh").env("TERM", "xterm");
        home.run(&mut command)
    };
    let in_file = |columns: Option<&str>| {
        let mut command = Command::new(ABX);
        command.args(["report", record, "--full"]);
        home.settle(&mut command);
        command.envs(columns.map(|columns| ("COLUMNS", columns)));
        home.run(&mut command)
    };
    let widest = |ended: Ended| {
        let lines = ended
            .stdout
            .lines()
            .map(|line| line.trim_end().chars().count());
        lines.max().unwrap_or_else(|| panic!("{ended:#?}"))
    };
    let table = [
        (on_terminal(110), 81..=110),
        (on_terminal(300), 111..=120),
        (in_file(None), 75..=80),
        (in_file(Some("100")), 81..=100),
    ];
    for (ended, expected) in table {
        let widest = widest(ended);
        assert!(
            expected.contains(&widest),
            "{widest} is not in {expected:?}"
        );
    }
}

#[test]
fn a_log_gets_a_line_per_block() {
    // Method: standard error is a file. The pilot and both blocks have a line each, and the last
    // line has the failures.
    let ended = with_failures(|home, words| home.abx(words));
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert!(lines[0].starts_with("pilot"), "{ended:#?}");
    for block in ["block 1 of 2 done", "block 2 of 2 done"] {
        let count = lines.iter().filter(|line| line.starts_with(block)).count();
        assert_eq!(count, 1, "{block}: {ended:#?}");
    }
    let last = lines
        .iter()
        .find(|line| line.starts_with("block 2 of 2 done"));
    assert!(last.unwrap().contains("bad failed: "), "{ended:#?}");
}

#[test]
fn quiet_prints_nothing() {
    // Method: a study that prints nothing to standard error.
    let home = Home::new();
    let short = [
        "--blocks",
        "1",
        "--slice",
        "20ms",
        "--pilot",
        "brief",
        "--no-ceiling",
    ];
    let ended = home.run_abx(&[&["compare", "--quiet"], &short[..]].concat());
    assert_eq!(ended.stderr, "", "{ended:#?}");
}

/// Runs `abx run` on a terminal made by `script`, with `settings` in its environment.
fn run_on_terminal(home: &Home, words: &str, settings: &[(&str, &str)]) -> Ended {
    let line = format!("stty cols 200; exec {ABX} run {words}");
    let mut command = Command::new("script");
    command.args(["-qec", &line, "typescript"]);
    home.settle(&mut command);
    command.env("SHELL", "/bin/sh").env("TERM", "xterm");
    command.env_remove("CI").envs(settings.iter().copied());
    home.run(&mut command)
}

/// The lines that show the progress of a run.
fn live_lines(ended: &Ended) -> Vec<&str> {
    let lines = ended.stdout.split(['\r', '\n']);
    lines
        .filter(|line| line.contains("/s · p50 ") && line.contains(" · no errors · "))
        .collect()
}

#[test]
fn a_terminal_shows_the_progress_of_a_run() {
    // Method: a run of three seconds, and one of as many requests as take about as long. Both show
    // their progress and its goal, and a report afterwards.
    let home = Home::new();
    let server = Server::start(&[]);
    let url = &server.url;
    for (words, place) in [
        (format!("{url} -c 2 -r 500 -d 3"), " of 3 s · "),
        (
            format!("{url} -c 2 -r 500 -n 1500"),
            " of 1,500 requests · ",
        ),
    ] {
        let ended = run_on_terminal(&home, &words, &[]);
        let lines = live_lines(&ended);
        assert!(!lines.is_empty(), "{ended:#?}");
        assert!(lines.iter().all(|line| line.contains(place)), "{lines:?}");
        assert!(ended.stdout.contains("Throughput: "), "{ended:#?}");
    }
}

#[test]
fn progress_of_a_run_is_shown_only_on_a_terminal() {
    // Method: a terminal with --quiet, one in a CI job, and one that cannot redraw a line; then a
    // file, to which only the announcement and the record are printed.
    let home = Home::new();
    let server = Server::start(&[]);
    let words = format!("{} -c 2 -d 1 -r 500", server.url);
    let quiet = format!("{words} --quiet");
    for (words, settings) in [
        (&quiet, &[][..]),
        (&words, &[("CI", "true")][..]),
        (&words, &[("TERM", "dumb")][..]),
    ] {
        let ended = run_on_terminal(&home, words, settings);
        assert_eq!(live_lines(&ended), [""; 0], "{settings:?}");
        assert!(ended.stdout.contains("Throughput: "), "{ended:#?}");
    }
    let ended = home.run_abx(&["run", &server.url, "-c", "2", "-d", "1", "-r", "500"]);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    let [first, .., record, again] = &lines[..] else {
        panic!("{ended:#?}");
    };
    assert!(first.starts_with("Loading "), "{ended:#?}");
    assert!(record.starts_with("Record: ") && again.contains("abx report"));
    assert_eq!(lines.len(), 3, "{ended:#?}");
}
