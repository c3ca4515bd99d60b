//! Records are kept, listed and found again.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Home, Server, in_five_looks, read_json, subject};

#[rustfmt::skip]
const SIX: [&str; 11] = [
    "--blocks", "6", "--rounds", "4", "--slice", "20ms", "--pilot", "brief", "--wait", "asleep",
    "--no-ceiling",
];

/// Measures six blocks of the built-in pair, until a study has a verdict about throughput. A plan
/// cannot use other records.
fn compare_the_pair(home: &Home) {
    in_five_looks(|| {
        let before = home.records_in("state/abx");
        let ended = home.run_abx(&[&["compare"], &SIX[..]].concat());
        let mut new = home.records_in("state/abx");
        new.retain(|path| !before.contains(path));
        let has_verdict = |path: &PathBuf| {
            let record = read_json(path);
            let mut comparisons = record["comparisons"].as_array().unwrap().iter();
            comparisons.any(|value| value["role"] == "primary" && value["metric"] == "throughput")
        };
        if ended.status.success() && new.iter().all(has_verdict) {
            return Ok(());
        }
        new.iter().for_each(|path| fs::remove_file(path).unwrap());
        Err(ended.stdout)
    });
}

/// The list as JSON.
fn history(home: &Home, words: &[&str]) -> Value {
    let words = [&["history", "--json", "-", "--quiet"], words].concat();
    let ended = home.run_abx(&words);
    assert_eq!(ended.expect(0, &[]).stderr, "");
    ended.json()
}

fn entries(history: &Value) -> &Vec<Value> {
    history["entries"].as_array().unwrap()
}

#[test]
fn studies_and_runs_are_listed_and_named_by_id() {
    // Method: a study of the built-in server and a run. The list is read in both forms and
    // filtered, and both records are printed again by their ids.
    let home = Home::new();
    let short = [
        "--blocks", "1", "--slice", "20ms", "--pilot", "brief", "--seed", "7",
    ];
    let study = home.run_abx(&[&["compare"], &short[..]].concat());
    let server = Server::start(&[]);
    let run = home.run_abx(&["run", &server.url, "-n", "99", "-c", "3"]);
    run.expect(0, &["Record: ", "abx report"]);
    let total = history(&home, &[]);
    assert_eq!(
        (&total["schema"], &total["kind"]),
        (&"abx.output/1".into(), &"history".into())
    );
    assert_eq!(total["left_out"], 0);
    let [newest, oldest] = &entries(&total)[..] else {
        panic!("two records: {total}");
    };
    assert_eq!(
        (&newest["kind"], &oldest["kind"]),
        (&"run".into(), &"study".into())
    );
    assert_eq!(newest["subjects"][0]["name"], server.url);
    assert_eq!(oldest["subjects"][1]["name"], "thread");
    assert_eq!((&oldest["seed"], &oldest["blocks"]), (&7.into(), &1.into()));
    assert_eq!(oldest["comparisons"][0]["subject"], "thread");
    assert!(oldest["machine"]["kernel"].is_string());
    for (entry, printed, place) in [(newest, &run, "last"), (oldest, &study, "last~1")] {
        let id = entry["id"].as_str().unwrap();
        printed.expect(
            printed.status.code().unwrap(),
            &[&format!("abx report {id}\n")],
        );
        for word in [id, place] {
            let again = home.run_abx(&["report", word]);
            assert_eq!(again.stdout, printed.stdout);
            assert_eq!(again.status, printed.status);
        }
    }
    home.run_abx(&["report", "last~2"])
        .expect(2, &["only 2 are kept"]);
    // A server that does not start leaves no measurement.
    let gone = subject("gone", "--no-such-flag");
    home.run_abx(&["compare", &subject("one", ""), &gone])
        .expect(3, &["gone"]);
    assert_eq!(history(&home, &[])["entries"], total["entries"]);
    assert_eq!(history(&home, &[])["unmeasured"], 1);
    assert_eq!(entries(&history(&home, &["--all"])).len(), 3);
    let ended = home.run_abx(&["history"]);
    assert!(ended.stdout.contains("1 study failed before"), "{ended:#?}");
    let list = home.run_abx(&["history"]);
    for part in [
        "when (UTC)",
        "event, thread",
        "c50",
        "c3",
        newest["file"].as_str().unwrap(),
    ] {
        assert!(list.stdout.contains(part), "{part}: {list:#?}");
    }
    assert!(list.stdout.lines().all(|line| line.chars().count() <= 80));
    assert_eq!(
        entries(&history(&home, &["THREAD"])),
        std::slice::from_ref(oldest)
    );
    let limited = history(&home, &["--limit", "1", "--rebuild"]);
    assert_eq!(
        (entries(&limited).len(), &limited["left_out"]),
        (1, &1.into())
    );
}

#[test]
fn a_plan_shows_what_the_budget_can_find_and_measures_nothing() {
    // Method: plans in a new home for existing and missing programs and for a study of the catalog;
    // then six blocks of the built-in pair, and plans for it, for other subjects, and for a budget
    // too short for a verdict.
    let home = Home::new();
    let plan = |words: &[&str]| {
        let ended = home.run_abx(&[&["compare", "--plan"], words].concat());
        ended.expect(0, &[]);
        let words: Vec<&str> = ended.stdout.split_whitespace().collect();
        words.join(" ")
    };
    let touches = |name: &str| format!("{name}=sh -c 'touch started' {{port}}");
    let [one, other, third] = ["one", "other", "third"].map(touches);
    let message = plan(&[&one, &other, "--budget", "3m"]);
    assert!(
        message.contains("abx does not know the spread"),
        "{message}"
    );
    assert!(message.contains("a budget of 3min"), "{message}");
    for spread in ["1 %", "2 %", "5 %"] {
        assert!(message.contains(spread), "{message}");
    }
    home.write(
        "study.toml",
        "[[subject]]\nname = \"a\"\ncommand = [\"./not-built\", \"{port}\"]\n\
         [[subject]]\nname = \"b\"\ncommand = [\"not-installed\", \"{port}\"]\n\
         from = { bring = { program = \"not-installed\", how = \"build it\" } }\n\
         [[load]]\nname = \"l\"\nconnections = 1\nrequests = [{ path = \"/\" }]\n",
    );
    assert!(plan(&["study.toml"]).contains("abx does not know the spread"));
    let study = home.run_abx(&["study", "run", "tls", "--plan"]);
    study.expect(0, &[]);
    let study = study.stdout.split_whitespace().collect::<Vec<_>>();
    assert!(study.join(" ").contains("abx does not know the spread"));
    assert!(!home.join("state/abx").exists(), "a record of nothing");

    compare_the_pair(&home);
    let count = home.records_in("state/abx").len();
    // A budget in which even slow blocks are enough for a verdict.
    let same = plan(&["--budget", "5h"]);
    assert!(same.contains("1 earlier study of these subjects"), "{same}");
    assert!(same.contains("abx would find a difference of"), "{same}");
    let others = plan(&[&one, &other, &third]);
    assert!(
        others.contains("1 earlier study of other subjects"),
        "{others}"
    );
    assert!(others.contains("the hardest of 2 comparisons"), "{others}");
    let short = plan(&["--blocks", "3"]);
    assert!(
        short.contains("3 blocks, abx would find no") && short.contains("A verdict needs"),
        "{short}"
    );
    assert_eq!(home.records_in("state/abx").len(), count);
    assert!(!home.join("started").exists());
}

#[test]
fn concurrent_commands_share_one_index() {
    // Method: eight commands at a time with a damaged index. Some list records, and some are runs
    // that add records.
    let home = Home::new();
    let server = Server::start(&[]);
    let run = ["run", &server.url, "-n", "9", "-c", "1", "--seed", "3"];
    home.run_abx(&run).expect(0, &[]);
    for round in 0..4 {
        fs::write(home.join("state/abx/history.sqlite3"), "no index").unwrap();
        let words = |place: usize| match place {
            0..2 => &run[..],
            2 => &["history", "--rebuild"],
            _ => &["history"],
        };
        let children: Vec<_> = (0..8)
            .map(|place| {
                let mut command = home.abx(words(place));
                command.stdout(std::process::Stdio::piped());
                command.stderr(std::process::Stdio::piped());
                command.spawn().unwrap()
            })
            .collect();
        for (place, child) in children.into_iter().enumerate() {
            let output = child.wait_with_output().unwrap();
            let [message, list] =
                [&output.stderr, &output.stdout].map(|text| String::from_utf8_lossy(text));
            let is_listed = list.contains(&server.url);
            assert!(
                place < 2 || is_listed,
                "what was there is always seen: {list}"
            );
            assert_eq!(output.status.code(), Some(0), "{message}");
            assert!(!message.contains("index"), "{message}");
        }
        let count = entries(&history(&home, &[])).len();
        assert_eq!(count, 1 + 2 * (round + 1), "each run has its record");
    }
}

#[test]
fn an_index_that_cannot_be_written_loses_no_measurement() {
    // Method: space for the record but not for the index; then a read-only folder, which is listed
    // all the same.
    let home = Home::new();
    let server = Server::start(&[]);
    let run = ["run", &server.url, "-n", "9"];
    let full = "mount -t tmpfs -o size=16k none state";
    let ended = home.run(&mut home.abx_apart("m", full, &run));
    ended.expect(0, &["cannot keep the index", "make room", "Record: "]);
    let lines = ended.stderr.lines();
    assert_eq!(lines.filter(|line| line.starts_with("abx: ")).count(), 1);

    home.run_abx(&run).expect(0, &[]);
    fs::remove_file(home.join("state/abx/history.sqlite3")).unwrap();
    let read_only = "mount --bind state state\nmount -o remount,ro,bind state";
    let list = home.run(&mut home.abx_apart("m", read_only, &["history"]));
    list.expect(0, &["cannot keep the index", "XDG_STATE_HOME"]);
    assert!(list.stdout.contains(&server.url), "{list:#?}");
    let ended = home.run(&mut home.abx_apart("m", read_only, &run));
    ended.expect(0, &["cannot save the record", "Record: ", "tmp/"]);
}

#[test]
fn an_empty_history_creates_no_files() {
    // Method: the list before any measurement.
    let home = Home::new();
    let list = home.run_abx(&["history"]);
    assert!(list.expect(0, &[]).stdout.contains("No matching record"));
    assert!(!home.join("state/abx").exists());
}

/// A run of a few requests with this label; its record as JSON.
fn labelled_run(home: &Home, label: &str) -> Value {
    let server = Server::start(&[]);
    let words = ["run", &server.url, "-n", "99", "-c", "3", "--label", label];
    let words = [&words[..], &["--json", "run.json"]].concat();
    home.run_abx(&words).expect(0, &["Record: "]);
    read_json(&home.join("run.json"))
}

#[test]
fn a_record_is_found_by_its_label() {
    // Method: the label of a run in its record, its report and the list, where a part of it in
    // another case finds the run; then labels that are refused before any load.
    let home = Home::new();
    let record = labelled_run(&home, "Nightly <7>");
    assert_eq!(record["label"], "Nightly <7>");
    let filtered = history(&home, &["nightly"]);
    assert_eq!(entries(&filtered).len(), 1);
    assert_eq!(entries(&filtered)[0]["label"], "Nightly <7>");
    let list = home.run_abx(&["history"]);
    assert!(list.stdout.contains("\"Nightly <7>\""), "{list:#?}");
    let report = home.run_abx(&["report", "last", "--full"]);
    assert!(report.stdout.contains("Label: Nightly <7>"), "{report:#?}");
    let long = "a".repeat(81);
    for (label, part) in [
        ("", "empty"),
        ("a\nb", "control character"),
        (&long, "at most 80"),
    ] {
        let words = ["run", "http://127.0.0.1:9/", "--label", label];
        home.run_abx(&words).expect(2, &["--label", part]);
    }
}

#[test]
fn records_from_elsewhere_are_added_and_listed() {
    // Method: a record from another home, compressed and not; then a file that is no record, the
    // output of a list, and a missing file.
    let other = Home::new();
    labelled_run(&other, "from CI");
    other.run_abx(&["report", "run.json", "--json", "run.json.zst"]);
    other.run_abx(&["history", "--json", "list.json"]);
    let home = Home::new();
    let at = |name: &str| other.join(name).display().to_string();
    let [plain, packed, list] = ["run.json", "run.json.zst", "list.json"].map(at);
    home.write("notes.json", "{}");
    let added = home.run_abx(&["history", "add", &plain, &packed, &plain]);
    added.expect(0, &[]);
    assert_eq!(added.stdout.matches(": added as ").count(), 1, "{added:#?}");
    assert_eq!(
        added.stdout.matches(": already there as ").count(),
        2,
        "{added:#?}"
    );
    let refused = home.run_abx(&["history", "add", "notes.json", &list, "gone.json", &plain]);
    refused.expect(2, &["notes.json", "list.json", "gone.json"]);
    assert!(refused.stdout.contains("already there"), "{refused:#?}");
    let total = history(&home, &[]);
    assert_eq!(entries(&total).len(), 1);
    let id = entries(&total)[0]["id"].as_str().unwrap();
    assert!(added.stdout.contains(id), "{added:#?} {id}");
    home.run_abx(&["report", id]).expect(0, &[]);
    home.run_abx(&["history", "add"]).expect(2, &["FILE"]);
}

#[test]
fn a_trend_shows_where_a_server_became_slower() {
    // Method: thirty records made from a run, with a ripple of 1 %, of which the last ten have a
    // tenth less throughput; four of another machine; and a study without records.
    let home = Home::new();
    let mut record = labelled_run(&home, "nightly");
    let url = record["subjects"][0]["name"].as_str().unwrap().to_owned();
    let state = home.join("state/abx");
    for path in home.records_in("state/abx") {
        fs::remove_file(state.join(path)).unwrap();
    }
    for number in 0..34_u64 {
        let ripple = 1.0 + 0.002 * (number * 7 % 11) as f64;
        let level = if number < 20 { 1_000.0 } else { 900.0 };
        record["started_unix_ms"] = (1_750_000_000_000 + 86_400_000 * number).into();
        record["label"] = format!("night {number}").into();
        record["conclusions"]["summaries"][0]["throughput_per_s"] = (level * ripple).into();
        if number >= 30 {
            record["machine"]["cpu_model"] = "Another".into();
        }
        fs::write(state.join(format!("run-{number}.json")), record.to_string()).unwrap();
    }
    let words = [
        "history",
        "--trend",
        &url,
        "--html",
        "trend.html",
        "--markdown",
        "trend.md",
    ];
    let trend = home.run_abx(&words);
    trend.expect(0, &[]);
    for part in [
        "became slower",
        "\"night 20\"",
        "\"night 19\"",
        "2 kinds of machine",
        "fewer than 8",
    ] {
        assert!(
            trend.stdout.contains(part),
            "`{part}` is missing: {trend:#?}"
        );
    }
    let json = home
        .run_abx(&["history", "--trend", &url, "--json", "-", "-q"])
        .json();
    assert_eq!(json["kind"], "trend");
    let change = &json["series"][0]["changes"][0];
    assert_eq!(
        (&change["at"], &change["verdict"]),
        (&20.into(), &"slower".into())
    );
    let ratio = change["ratio"].as_f64().unwrap();
    assert!((ratio - 0.9).abs() < 0.01, "{change}");
    for file in ["trend.html", "trend.md"] {
        let text = fs::read_to_string(home.join(file)).unwrap();
        assert!(
            text.contains("became slower") && text.contains("night 33"),
            "{text}"
        );
    }
    home.run_abx(&["history", "--trend", "nginx-sendfile"])
        .expect(2, &["nginx-sendfile"]);
    home.run_abx(&["history", "--trend", &url, "--html", "x", "--markdown", "x"])
        .expect(2, &["both write"]);
}
