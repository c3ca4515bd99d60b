//! What a person sees while a study runs: on a terminal, in a log, and nothing
//! when that was asked for.

use std::path::Path;
use std::process::Command;

use crate::support::{ABX, Ended, Home, subject};

/// How often a faulty server is started anew until its first answers are right.
const SEEDS: u32 = 50;

/// A short study of a server of which a tenth of the answers fail, started by
/// `command`, which is given its words.
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
    // Method: a terminal made by `script`; its line must name who failed, how and
    // how often, while a block is under way.
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
    let under_way = |line: &&str| line.contains("round ") && line.contains("bad failed: ");
    let lines = || ended.stdout.split(['\r', '\n']);
    let line = lines()
        .find(under_way)
        .unwrap_or_else(|| panic!("{ended:#?}"));
    assert!(line.contains(" wrong status"), "{line}");
    assert!(
        !lines().any(|line| line.contains("good failed")),
        "{ended:#?}"
    );
}

#[test]
fn a_report_is_as_wide_as_its_terminal() {
    // Method: a saved record on a terminal of 110 columns made by `script`, on one of 300,
    // and in a file with and without what the environment says.
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
fn a_log_gets_a_line_for_each_block() {
    // Method: standard error is a file; the pilot and both blocks have a line each,
    // the last one with what failed.
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
fn quiet_is_quiet() {
    // Method: a study without a word on standard error.
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
