//! `abx timer`: the markers of a command, and commands that fail, hang or are stopped.

use std::fs;

use abx_sys::process::Signal;

use crate::support::{Home, read_json};

/// The words of `abx timer` for a shell script.
fn words<'a>(before: &[&'a str], script: &'a str) -> Vec<&'a str> {
    let command = ["--", "sh", "-c", script];
    [&["timer"], before, &command].concat()
}

#[test]
fn markers_of_both_outputs_become_a_table() {
    // Method: markers on standard output and standard error around other output, in two runs. One
    // marker comes twice, and one comes in the second run only.
    let home = Home::new();
    let script = "echo marker connect; echo hello; echo 'marker get row' >&2; echo oh >&2; \
                  echo marker connect; if [ -e again ]; then echo marker only; fi; touch again; \
                  printf 'the end'";
    let ended = home.run_abx(&words(&["-n", "2", "--json", "times.json"], script));
    ended.expect(0, &["hello\noh\nthe end", "hello\noh\nthe endhello"]);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(lines[0].starts_with("sh -c "), "{ended:#?}");
    let names = [
        "marker ",
        "start ",
        "connect ",
        "get row ",
        "connect #2 ",
        "only ",
        "end ",
    ];
    let from = lines
        .iter()
        .position(|line| line.starts_with("marker "))
        .unwrap();
    for (line, name) in lines[from..].iter().zip(names) {
        assert!(line.starts_with(name), "{name}: {ended:#?}");
    }
    assert!(lines[from + 7].starts_with("whole run "), "{ended:#?}");
    let text = ended
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        text.contains("Not in every one of 2 runs: only in 1."),
        "{text}"
    );
    assert!(lines[from..].iter().all(|line| !line.contains("hello")));
    let record = read_json(&home.join("times.json"));
    assert_eq!(
        (&record["schema"], &record["kind"]),
        (&"abx.output/1".into(), &"timer".into())
    );
    assert_eq!(record["runs"].as_array().unwrap().len(), 2);
    let markers = record["markers"].as_array().unwrap();
    let shares = markers.iter().chain([&record["rest"]]);
    let sum: f64 = shares.map(|share| share["share"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{record}");
    for run in record["runs"].as_array().unwrap() {
        let times = run["markers"].as_array().unwrap().iter();
        let mut times: Vec<u64> = times.map(|time| time["at_ns"].as_u64().unwrap()).collect();
        times.push(run["end_ns"].as_u64().unwrap());
        assert!(times.is_sorted(), "{run}");
    }
    assert!(record["total"]["us"]["low"].as_f64().is_some());
}

#[test]
fn saved_times_are_judged_and_printed_again() {
    // Method: two saved runs. The table from the file equals the printed one, even if the file's
    // conclusions were changed. Flags for loads and a file without runs are refused.
    let home = Home::new();
    let script = "echo marker connect; echo marker done";
    let measured = home.run_abx(&words(&["-n", "2", "--json", "times.json"], script));
    measured.expect(0, &[]);
    let report = |arguments: &[&str]| home.run_abx(&[&["report"], arguments].concat());
    assert_eq!(
        report(&["times.json"]).expect(0, &[]).stdout,
        measured.stdout
    );
    let saved = read_json(&home.join("times.json"));
    assert_eq!(report(&["times.json", "--json", "-", "-q"]).json(), saved);
    let mut changed = saved.clone();
    changed["markers"] = serde_json::json!([]);
    home.write("changed.json", &changed.to_string());
    assert_eq!(
        report(&["changed.json"]).expect(0, &[]).stdout,
        measured.stdout
    );

    report(&["times.json", "--html", "x.html"]).expect(2, &["abx timer", "--html"]);
    report(&["times.json", "changed.json"]).expect(2, &["not a record of `abx compare`"]);
    changed["runs"] = serde_json::json!([]);
    home.write("none.json", &changed.to_string());
    report(&["none.json"]).expect(2, &["it has no run"]);
}

#[test]
fn buffered_output_is_reported() {
    // Method: two markers in one write, as from a program that does not flush. -q leaves out other
    // output.
    let home = Home::new();
    let ended = home.run_abx(&words(
        &["--quiet"],
        "printf 'marker a\\nmarker b\\nhello\\n'",
    ));
    assert_eq!(ended.expect(0, &[]).stderr, "");
    assert!(
        ended.stdout.contains("1 marker came in one piece"),
        "{ended:#?}"
    );
    assert!(ended.stdout.contains("-n 30"), "{ended:#?}");
}

#[test]
fn a_command_without_times_fails_with_a_reason() {
    // Method: a missing command, a file that is no program, a failure in the second run, no marker,
    // an end by a signal, endless markers, and missing words.
    let home = Home::new();
    home.write("text", "no program");
    let run = |arguments: &[&str]| home.run_abx(&[&["timer"], arguments].concat());
    run(&["--", "./none"]).expect(2, &["command `./none` not found"]);
    run(&["--", "./text"]).expect(2, &["`./text` may not be executed"]);
    run(&["true"]).expect(2, &["--"]);
    run(&["-n", "0", "--", "true"]).expect(2, &["number from 1 to 100000", "such as 30"]);
    run(&["--", "true"]).expect(3, &["`true` printed no marker", "echo 'marker connect'"]);
    let second = "echo marker a; echo oh; test ! -e again || exit 7; touch again";
    let failed = home.run_abx(&words(&["-n", "3"], second));
    failed.expect(3, &["oh\noh\n", "run 2 of 3", "exit code 7"]);
    assert_eq!(failed.stdout, "");
    home.run_abx(&words(&[], "echo marker a; kill -9 $$"))
        .expect(3, &["run 1 of 1", "signal 9"]);
    home.run_abx(&words(&[], "yes marker a"))
        .expect(3, &["more than 10000 markers"]);
}

#[test]
fn a_run_that_takes_too_long_is_killed_with_its_children() {
    // Method: a command that ignores SIGTERM, with a background child in its own session. No
    // process may be left.
    let home = Home::new();
    let script = "trap '' TERM; echo marker a; setsid sleep 600 & while :; do sleep 1; done";
    home.run_abx(&words(&["--timeout", "300ms"], script))
        .expect(3, &["did not end within 0.3 s", "--timeout"]);
}

#[test]
fn ctrl_c_ends_the_command_and_prints_complete_runs() {
    // Method: SIGINT in the third run, which waits for its end; then in the first.
    let home = Home::new();
    let script = "echo x >>runs; echo marker a; test $(wc -l <runs) -lt 3 || { echo >stuck; \
                  setsid sleep 600 & wait; }";
    let arguments = words(&["-n", "5"], script);
    let mut running = home.start(&mut home.abx(&arguments));
    running.until("the third run", |home| {
        fs::metadata(home.join("stuck")).ok()
    });
    running.signal(Signal::Int);
    let ended = running.wait();
    ended.expect(130, &[]);
    assert!(
        ended.stdout.contains("2 runs of 5 before it was stopped"),
        "{ended:#?}"
    );

    fs::remove_file(home.join("stuck")).unwrap();
    let mut running = home.start(&mut home.abx(&arguments));
    running.until("a run that waits", |home| {
        fs::metadata(home.join("stuck")).ok()
    });
    running.signal(Signal::Int);
    let ended = running.wait();
    ended.expect(130, &["stopped before anything was measured"]);
    assert_eq!(ended.stdout, "");
}

#[test]
fn nothing_of_a_command_outlives_abx() {
    // Method: SIGKILL for abx while its command waits for a child in another session.
    let home = Home::new();
    let script = "setsid sleep 600 & echo marker a; echo >waits; wait";
    let mut running = home.start(&mut home.abx(&words(&[], script)));
    running.until("the command", |home| fs::metadata(home.join("waits")).ok());
    running.signal(Signal::Kill);
    running.wait_alone();
    home.wait_until_empty();
}
