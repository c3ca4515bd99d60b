//! Complete searches: with a culprit, with nothing to find, interrupted, and refused.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use abx_sys::process::Signal;
use serde_json::Value;

use crate::support::{ABX, Home, read_json};

/// The commit that makes the server three times as slow, and one that does not start.
const CULPRIT: usize = 6;
const BROKEN: usize = 7;

/// Flags that keep a comparison short.
const SHORT: [&str; 11] = [
    "--repo",
    "code",
    "-c",
    "4",
    "--slice",
    "40ms",
    "--rounds",
    "3",
    "--pilot",
    "brief",
    "--no-ceiling",
];

fn git(home: &Home, words: &[&str]) -> String {
    let mut command = Command::new("git");
    home.settle(&mut command);
    let output = command.arg("-C").arg("code").args(words).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {words:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A repository of ten commits, each with a program that becomes the built-in server.
pub fn repository(home: &Home) {
    fs::create_dir(home.join("code")).unwrap();
    git(home, &["init", "--quiet", "--initial-branch=main"]);
    git(home, &["config", "user.name", "A. Person"]);
    git(home, &["config", "user.email", "person@example.org"]);
    for number in 0..10 {
        let work = if number < CULPRIT { 200 } else { 600 };
        let server = match number {
            BROKEN => "echo no such flag; exit 1".to_owned(),
            _ => format!("exec {ABX} serve --port \"$1\" --work {work}us"),
        };
        let path = home.write("code/server", &format!("#!/bin/sh\n# {number}\n{server}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        git(home, &["add", "--all"]);
        git(
            home,
            &[
                "commit",
                "--quiet",
                "--message",
                &format!("Change {number}"),
            ],
        );
    }
}

/// The arguments of a search between two revisions.
fn words<'a>(good: &'a str, bad: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["bisect", good, bad, "./server {port}"], &SHORT[..], more].concat()
}

fn conclusion(home: &Home) -> Value {
    read_json(&home.join("found.json"))["conclusion"].clone()
}

#[test]
fn the_commit_that_made_a_server_slower_is_found() {
    // Method: of ten commits, change 6 triples the server's work and change 7, which the search
    // tries, does not start. The report names the culprit, prints again from the record, and
    // suggests a comparison of the culprit with its parent.
    let home = Home::new();
    repository(&home);
    let more = ["--json", "found.json", "--build", "test -x server"];
    let ended = home.run_abx(&words("HEAD~9", "main", &more));
    let parts = [
        "is like GOOD",
        "is like BAD",
        "is skipped",
        "commits left, about",
        "Confirming",
    ];
    ended.expect(0, &parts);
    let commit = git(&home, &["rev-parse", "HEAD~3"]);
    let parent = git(&home, &["rev-parse", "HEAD~4"]);
    let short = &commit[..9];
    let headline = format!("{short} made the server slower: 0.");
    for part in [&headline, &commit, "Change 6", "skipped", " ended before"] {
        assert!(
            ended.stdout.contains(part),
            "`{part}` is missing: {ended:#?}"
        );
    }
    let pair = format!("{} {short}", &parent[..9]);
    assert!(ended.stdout.contains(&pair), "{ended:#?}");
    let record = read_json(&home.join("found.json"));
    assert_eq!(record["conclusion"]["kind"], "culprit", "{record:#}");
    assert_eq!(record["conclusion"]["position"], CULPRIT);
    assert_eq!(record["confirmation"]["pairs"].as_array().unwrap().len(), 4);
    let printed = home.run_abx(&["report", "found.json"]);
    assert_eq!(printed.stdout, ended.stdout);
    let list = home.run_abx(&["history", "--json", "-", "-q"]).json();
    let mut entries = list["entries"].as_array().unwrap().iter();
    let entry = entries.find(|entry| entry["kind"] == "bisect").unwrap();
    assert_eq!(entry["comparisons"][0]["subject"], short);
    let id = entry["id"].as_str().unwrap();
    assert!(
        ended.stderr.contains(&format!("Record: {id}")),
        "{ended:#?}"
    );
    let by_id = home.run_abx(&["report", id, "--html", "found.html"]);
    assert_eq!(by_id.stdout, ended.stdout);
    let page = fs::read_to_string(home.join("found.html")).unwrap();
    assert!(page.contains(&headline), "{page}");
    // All comparisons of a search run on the same CPUs.
    let cpus = |id: &Value| {
        let words = ["report", id.as_str().unwrap(), "--json", "-", "-q"];
        home.run_abx(&words).json()["settings"]["subject_cpus"].clone()
    };
    let first = cpus(&record["ends"]["record"]);
    assert!(first.is_array(), "{first}");
    assert_eq!(cpus(&record["confirmation"]["record"]), first);
    let id_of_ends = record["ends"]["record"].as_str().unwrap();
    let comparison = home.run_abx(&["report", id_of_ends]);
    assert!(comparison.stdout.contains("slower"), "{comparison:#?}");
}

#[test]
fn the_cause_of_a_change_is_printed_below_it() {
    // Method: a search with `--why` over a single commit, which makes the server work longer. The
    // report compares a build of the commit with one of its parent, and prints the same from the
    // record. A machine may not permit sampling: abx reports that before it compares anything.
    let home = Home::new();
    repository(&home);
    let ended = home.run_abx(&words("HEAD~4", "HEAD~3", &["--why"]));
    if ended.status.code() == Some(2) {
        assert!(ended.stderr.contains("abx doctor"), "{ended:#?}");
        return;
    }
    ended.expect(0, &[]);
    let [commit, parent] = ["HEAD~3", "HEAD~4"].map(|name| {
        let hash = git(&home, &["rev-parse", name]);
        format!("{}-1", &hash[..9])
    });
    let why = format!("Why: {commit} compared with {parent}");
    for part in [&why, "more CPU per response", "own code"] {
        assert!(
            ended.stdout.contains(part),
            "`{part}` is missing: {ended:#?}"
        );
    }
    let id = ended.stderr.split("Record: ").nth(1).unwrap();
    let id = id.split_whitespace().next().unwrap();
    assert_eq!(home.run_abx(&["report", id]).stdout, ended.stdout);
}

#[test]
fn an_interrupted_search_continues() {
    // Method: the same command beside the search, which is refused. Ctrl-C after the first decided
    // commit, then the same command again. It does not compare the ends again, and finds the
    // culprit. At last, a damaged search.
    let home = Home::new();
    repository(&home);
    let more = ["--json", "found.json"];
    let words = words("HEAD~9", "main", &more);
    let mut running = home.start(&mut home.abx(&words));
    running.until("a decided commit", |home| {
        let stderr = fs::read_to_string(home.join("stderr")).ok()?;
        stderr.contains("is like GOOD").then_some(())
    });
    let beside = home.abx(&words).output().unwrap();
    let message = String::from_utf8_lossy(&beside.stderr);
    assert_eq!(beside.status.code(), Some(2), "{message}");
    assert!(message.contains("still measuring"), "{message}");
    running.signal(Signal::Int);
    let stopped = running.wait();
    stopped.expect(130, &[]);
    assert!(stopped.stdout.contains("Unfinished"), "{stopped:#?}");
    assert_eq!(conclusion(&home), Value::Null);
    let before = read_json(&home.join("found.json"));
    let ended = home.run_abx(&words);
    ended.expect(
        0,
        &["Continuing a search that was interrupted after 1 commit"],
    );
    assert_eq!(conclusion(&home)["position"], CULPRIT);
    let after = read_json(&home.join("found.json"));
    assert_eq!(before["ends"], after["ends"]);
    assert_eq!(before["trials"][0], after["trials"][0]);
    let searches = home.records_in("state/abx/bisect");
    fs::write(&searches[0], "{").unwrap();
    home.run_abx(&words).expect(2, &["--restart"]);
}

#[test]
fn equal_ends_end_the_search() {
    // Method: two commits whose servers are equally fast, and a search for a large change.
    let home = Home::new();
    repository(&home);
    let more = ["--by", "50%", "--budget", "60s"];
    let ended = home.run_abx(&words("HEAD~9", "HEAD~5", &more));
    ended.expect(3, &[]);
    for part in [
        "Nothing to find: HEAD~9 and HEAD~5",
        "by 50 % or more",
        "--by",
    ] {
        assert!(
            ended.stdout.contains(part),
            "`{part}` is missing: {ended:#?}"
        );
    }
}

#[test]
fn impossible_searches_are_refused() {
    // Method: a metric that needs a rate, several loads, a relative rate, a running server, equal
    // ends, ends in the wrong order, an end that is skipped, and one that does not start.
    let home = Home::new();
    repository(&home);
    let table: [(&[&str], &str); 8] = [
        (
            &["HEAD~9", "main", "./server {port}", "--metric", "p99"],
            "-r RATE",
        ),
        (
            &["HEAD~9", "main", "./server {port}", "-c", "1,2"],
            "one load",
        ),
        (
            &["HEAD~9", "main", "./server {port}", "-r", "25%"],
            "in requests per second",
        ),
        (&["HEAD~9", "main", "http://127.0.0.1:8080/"], "no {port}"),
        (&["main", "HEAD", "./server {port}"], "same commit"),
        (&["main", "HEAD~9", "./server {port}"], "not an ancestor"),
        (
            &["HEAD~9", "main", "./server {port}", "--skip", "main"],
            "is GOOD or BAD itself",
        ),
        (&["HEAD~2", "main", "./server {port}"], " ended before"),
    ];
    for (arguments, part) in table {
        let arguments = [&["bisect", "--repo", "code"], arguments].concat();
        home.run_abx(&arguments).expect(2, &[part]);
    }
}
