//! `abx compare --rev`: subjects that are revisions of a git repository.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::{ABX, Home};

#[rustfmt::skip]
const SHORT: [&str; 11] = [
    "--blocks", "1", "--rounds", "4", "--slice", "20ms", "--pilot", "brief", "--wait", "asleep",
    "--no-ceiling",
];
/// The flags for the commands that build the server, and the command that starts it.
const BUILD: [&str; 4] = [
    "--build",
    "cp server.sh server",
    "--build",
    "chmod +x server",
];
const SERVER: &str = "./server {port}";

/// Runs git in the folder `code`.
fn git(home: &Home, words: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(home.join("code"))
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args(words)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {words:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Writes the source of a server with these additional arguments.
fn write_server(home: &Home, arguments: &str) {
    let text = format!("#!/bin/sh\nexec '{ABX}' serve --port \"$1\" {arguments}\n");
    home.write("code/server.sh", &text);
}

/// A home with the repository `code`: two commits, of which the first has the tag v1.
fn home() -> Home {
    let home = Home::new();
    fs::create_dir(home.join("code")).unwrap();
    git(&home, &["init", "--quiet", "--initial-branch=main"]);
    for (title, arguments) in [("Serve", ""), ("Serve with another seed", "--seed 7")] {
        write_server(&home, arguments);
        git(&home, &["add", "--all"]);
        git(&home, &["commit", "--quiet", "--message", title]);
    }
    git(&home, &["tag", "v1", "HEAD~1"]);
    home
}

/// The arguments of a short comparison of these revisions.
fn compare<'a>(revisions: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let flags = revisions.iter().flat_map(|revision| ["--rev", revision]);
    let first = ["compare", "--repo", "code"].into_iter();
    first.chain(flags).chain(more.iter().copied()).collect()
}

fn revision(record: &Value, index: usize) -> &Value {
    &record["subjects"][index]["revision"]
}

#[test]
fn revisions_are_built_and_compared_by_name() {
    // Method: a tag, a branch and the working tree with a change, started by one command; the
    // record, the report, and a second comparison, which builds nothing. The variables that git
    // sets for a hook point to another repository.
    let home = home();
    write_server(&home, "--seed 8");
    let words = [&BUILD[..], &[SERVER], &SHORT].concat();
    let words = compare(&["v1", "main", "."], &words);
    let mut command = home.abx(&words);
    command
        .env("GIT_DIR", "/nowhere")
        .env("GIT_INDEX_FILE", "/nowhere");
    let ended = home.run(&mut command);
    let record = home.record();
    ended.expect_measured(&record);
    for part in ["building v1 (", "): cp server.sh server"] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
    let names = record["subjects"].as_array().unwrap().iter();
    let names: Vec<&str> = names
        .map(|subject| subject["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["v1", "main", "working-tree"]);
    assert_eq!(revision(&record, 0)["name"], "v1");
    assert_eq!(revision(&record, 0)["title"], "Serve");
    let head = git(&home, &["rev-parse", "main"]);
    assert_eq!(revision(&record, 1)["commit"], head.as_str());
    assert_eq!(revision(&record, 1)["changes"], Value::Null);
    assert_eq!(
        revision(&record, 1)["build"],
        serde_json::json!([BUILD[1], BUILD[3]])
    );
    assert_eq!(revision(&record, 2)["commit"], head.as_str());
    assert!(revision(&record, 2)["changes"].is_string());
    let date = git(&home, &["show", "--no-patch", "--format=%aI", "main"]);
    assert_eq!(revision(&record, 1)["author_date"], date.as_str());
    let report = home.run_abx(&["report", "last", "--full"]).stdout;
    assert!(report.contains("Revisions: v1 is "), "{report}");
    let page = home.run_abx(&["report", "last", "--html", "-"]).stdout;
    for part in [
        "author date",
        "Serve with another seed",
        "with changes",
        "then chmod",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let again = home.run_abx(&words);
    assert_eq!(home.records_in("state/abx").len(), 2);
    assert!(!again.stderr.contains("building"), "{}", again.stderr);
}

#[test]
fn builds_are_listed_and_removed() {
    // Method: a list without builds, then one of two, whose JSON has commit, commands and size.
    // Builds are removed by age, which matches none, and then all of them.
    let home = home();
    let listed = home.run_abx(&["cache", "list"]);
    assert!(listed.stdout.contains("No builds in "), "{}", listed.stdout);
    // The first revision is built before it turns out to have no program.
    let pair = ["v1", "main"];
    let words = compare(&pair, &["--build", "cp server.sh other", SERVER]);
    home.run_abx(&words).expect(2, &["no program `./server`"]);
    let words = compare(&pair, &[&BUILD[..], &["./other {port}"]].concat());
    home.run_abx(&words).expect(2, &["no program `./other`"]);
    let list = home.run_abx(&["cache", "list", "--json", "-"]).json();
    let list = list.as_array().unwrap();
    assert_eq!(list.len(), 2);
    let commit = git(&home, &["rev-parse", "v1"]);
    for build in list {
        assert_eq!(build["commit"], commit.as_str());
        assert!(build["bytes"].as_u64().unwrap() > 0);
    }
    assert_eq!(list[0]["build"], serde_json::json!([BUILD[1], BUILD[3]]));
    let text = home.run_abx(&["cache", "list"]).stdout;
    for part in ["cp server.sh other", "2 builds", &commit[..9]] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let clean = |more: &[&str]| home.run_abx(&[&["cache", "clean"], more].concat()).stdout;
    let by_age = clean(&["--older-than", "1d"]);
    assert!(by_age.contains("Removed 0 builds"), "{by_age}");
    let all = clean(&[]);
    assert!(all.contains("Removed 2 builds"), "{all}");
}

#[test]
fn a_study_file_may_take_subjects_from_revisions() {
    // Method: a study in the repository, whose subjects are a tag and the working tree, one of them
    // started from {build}; and four study files that are refused.
    let home = home();
    let study = |from: &str, more: &str| {
        let text = format!(
            "[[subject]]\nname = \"old\"\nfrom = {{ git = {{ rev = \"v1\", build = [\"cp server.sh \
             server\"] }} }}\ncommand = [\"sh\", \"./server\", \"{{port}}\"]\n\n\
             [[subject]]\nname = \"new\"\nfrom = {{ git = {from} {more} }}\n\
             command = [\"sh\", \"{{build}}/server.sh\", \"{{port}}\"]\n\n\
             [[load]]\nname = \"c2\"\nconnections = 2\nrequests = [{{ path = \"/\" }}]\n"
        );
        home.write("code/study.toml", &text)
    };
    let path = study("{ repo = \".\", rev = \".\" }", "");
    let ended = home.run_abx(&[&["compare", &path][..], &SHORT].concat());
    let record = home.record();
    ended.expect_measured(&record);
    assert!(ended.stderr.contains("building v1 ("), "{}", ended.stderr);
    assert_eq!(revision(&record, 0)["name"], "v1");
    assert_eq!(revision(&record, 1)["name"], "working tree");
    for (from, more, part) in [
        ("{ rev = \"nope\" }", "", "no revision `nope`"),
        ("{ rev = \" \" }", "", "`from.git.rev`"),
        (
            "{ rev = \"v1\" }",
            ", build = { command = [\"make\"] }",
            "both `from.git`",
        ),
        ("{ rev = \"v1\" }", ", image = \"x\"", "`from.git`"),
    ] {
        let path = study(from, more);
        let words = ["compare", &path];
        home.run_abx(&words)
            .expect(2, &["study.toml:", part, "subject \"new\""]);
    }
    let words = ["compare", &path, "--rev", "v1"];
    home.run_abx(&words).expect(2, &["server command"]);
}

#[test]
fn one_revision_is_compared_with_the_working_tree() {
    // Method: one tag, without a build; the program is in the checkout.
    let home = home();
    let words = compare(&["v1"], &[&["sh ./server.sh {port}"][..], &SHORT].concat());
    let ended = home.run_abx(&words);
    let record = home.record();
    ended.expect_measured(&record);
    let part = "comparing v1 with the working tree";
    assert!(ended.stderr.contains(part), "{}", ended.stderr);
    assert_eq!(record["subjects"][1]["name"], "working-tree");
}

#[test]
fn revisions_that_cannot_be_compared_are_refused_with_their_remedy() {
    // Method: one mistake per row, each with the required part of its message.
    let home = home();
    let pair = ["v1", "main"];
    let with = |more: &[&'static str]| compare(&pair, more);
    for (words, texts) in [
        (
            compare(&["v1", "nope"], &[SERVER]),
            ["no revision `nope`", "git log"],
        ),
        (
            with(&["--rev=--all", SERVER]),
            ["begins with `-`", "give a branch"],
        ),
        (
            compare(&["v1", "v1^{}"], &[SERVER]),
            ["are the same commit", "--aa"],
        ),
        (
            compare(&["main", "."], &[SERVER]),
            ["are the same commit", "without changes"],
        ),
        (
            compare(&["."], &[SERVER]),
            ["the only revision", "--rev main --rev ."],
        ),
        (with(&[]), ["--rev needs the command", "{port}"]),
        (
            with(&["./a {port}", "./b {port}"]),
            ["you gave 2", "give one"],
        ),
        (with(&["./server"]), ["has no {port}", "`./server`"]),
        (with(&["./none {port}"]), ["no program `./none`", "--build"]),
        (
            with(&["--build", "a && b", SERVER]),
            ["only a shell", "its own --build"],
        ),
        (
            with(&["--build", "sh -c 'echo no >&2; exit 3'", SERVER]),
            ["exit status: 3", "\nno\n"],
        ),
        (
            vec!["compare", "--rev", "a", "--rev", "b", SERVER],
            ["not in a git", "--repo"],
        ),
        (
            vec!["compare", "--build", "make", "a=./a {port}"],
            ["--build is for", "add --rev"],
        ),
    ] {
        home.run_abx(&words).expect(2, &texts);
    }
    let words = with(&[SERVER]);
    let mut command = home.abx(&words);
    command.env("PATH", home.join("nothing"));
    home.run(&mut command)
        .expect(2, &["`git` is not on PATH", "install git"]);
}

/// A file of the repository.
macro_rules! file {
    ($path:literal) => {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../", $path)
    };
}

#[test]
fn the_script_for_ci_fails_on_a_certain_slowdown_and_names_the_commits() {
    // Method: the script that the workflows call, over a repository of ten commits, of which the
    // seventh triples the server's work: the head compared with the first commit, and then with its
    // parent. The job's page has the summary, and the script keeps its results.
    let home = Home::new();
    fs::create_dir(home.join("code")).unwrap();
    git(&home, &["init", "--quiet", "--initial-branch=main"]);
    for number in 0..10 {
        let work = if number < 6 { 200 } else { 600 };
        write_server(&home, &format!("--work {work}us # {number}"));
        git(&home, &["add", "--all"]);
        let title = format!("Change {number}");
        git(&home, &["commit", "--quiet", "--message", &title]);
    }
    let script = file!("examples/ci/compare-revisions");
    let run = |base: &str, results: &str| {
        let call =
            "cd code && exec \"$EXAMPLE\" \"$BASE\" 'cp server.sh server' 'sh server {port}'";
        let mut command = home.abx_after(&format!("{call} {results}"), &[]);
        command
            .env("EXAMPLE", script)
            .env("BASE", base)
            .env("ABX", ABX)
            .env(
                "MORE",
                "--blocks 7 --rounds 4 --slice 20ms --pilot brief -c 4",
            )
            .env("GITHUB_STEP_SUMMARY", home.join("page.md"));
        home.run(&mut command)
    };
    let base = git(&home, &["rev-parse", "HEAD~9"]);
    let ended = run(&base, "slower");
    ended.expect(1, &["HEAD is certainly slower than"]);
    let page = fs::read_to_string(home.join("page.md")).unwrap();
    assert!(page.contains(&base[..7]) && page.contains("HEAD"), "{page}");
    let junit = fs::read_to_string(home.join("code/slower/junit.xml")).unwrap();
    assert!(junit.contains("<failure"), "{junit}");
    for name in ["record.json", "report.html", "summary.md"] {
        assert!(home.join("code/slower").join(name).exists(), "{name}");
    }
    let ended = run("HEAD~1", "equal");
    assert_ne!(ended.status.code(), Some(1), "{ended:#?}");
}

#[test]
fn the_action_calls_the_script_with_inputs_that_it_declares() {
    // Method: every input that a step uses is declared and has a description. The example sets only
    // declared inputs, and every required one. The Python of `make setup` reads YAML.
    let check = r#"
import re, sys, yaml
action = yaml.safe_load(open(sys.argv[1]))
inputs, runs = action["inputs"], action["runs"]
assert set(action) == {"name", "description", "inputs", "runs"}, action
assert runs["using"] == "composite", runs
for step in runs["steps"]:
    assert ("run" in step) == ("shell" in step) != ("uses" in step), step
for name, given in inputs.items():
    assert set(given) <= {"description", "required", "default"} and given["description"], name
    assert ("default" in given) != given.get("required", False), name
used = set(re.findall(r"inputs\.(\w+)", open(sys.argv[1]).read()))
assert used == set(inputs), used ^ set(inputs)
steps = yaml.safe_load(open(sys.argv[2]))["jobs"]["compare"]["steps"]
given = set(steps[-1]["with"])
required = {name for name, given in inputs.items() if given.get("required")}
assert required <= given <= set(inputs), given
assert "compare-revisions" in " ".join(yaml.safe_load(open(sys.argv[3]))["speed"]["script"])
"#;
    let mut python = Command::new(file!("target/test-tools/python/bin/python"));
    python.args(["-c", check, file!("action.yml")]);
    python.args([
        file!("examples/ci/github.yml"),
        file!("examples/ci/gitlab.yml"),
    ]);
    let output = python.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}
