//! `--why`: which parts of a server's work cost CPU time, with planted causes.

use serde_json::Value;

use crate::support::{ABX, Home, Server, findings, read_json};

const MANY_THREADS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/many_threads.py");

const BACKGROUND_THREAD: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/peers/background_thread.py"
);

/// Takes all capabilities from root, so that abx has the rights of any user.
const UNPRIVILEGED: &str = "if [ $(id -u) = 0 ]; then
    set -- setpriv --bounding-set=-all --inh-caps=-all \"$@\"
fi";

/// The difference between the built-in server and one with this extra cost, in three blocks, by an
/// abx that a shell starts after the commands in `before`. `None` if this machine does not permit
/// sampling, which abx has to report then.
fn compared(home: &Home, before: &str, cost: &str) -> Option<Value> {
    let plain = format!("plain={ABX} serve --port {{port}}");
    let costly = format!("costly={ABX} serve --port {{port}} {cost}");
    let flags = [
        "--why", "--blocks", "3", "--rounds", "2", "--slice", "100ms",
    ];
    let more = [
        "--pilot",
        "brief",
        "--no-ceiling",
        "-c",
        "8",
        "--quiet",
        "--json",
        "r.json",
    ];
    let arguments = [&["compare", &plain, &costly][..], &flags, &more].concat();
    let record = sampled(home, before, &arguments)?;
    let differences = record["conclusions"]["cpu_differences"].as_array().unwrap();
    assert_eq!(differences.len(), 1, "{differences:#?}");
    Some(differences[0].clone())
}

/// The record `r.json` of a comparison that samples; `None` if this machine does not permit it.
fn sampled(home: &Home, before: &str, arguments: &[&str]) -> Option<Value> {
    let ended = home.run(&mut home.abx_after(before, arguments));
    if ended.status.code() == Some(2) {
        assert!(ended.stderr.contains("abx doctor"), "{ended:#?}");
        return None;
    }
    Some(read_json(&home.join("r.json")))
}

/// The arguments of a comparison of these subjects that samples them once.
fn briefly<'a>(subjects: &[&'a str]) -> Vec<&'a str> {
    let flags = "--why --blocks 1 --rounds 2 --slice 50ms --pilot brief --no-ceiling -c 4 --quiet \
                 --json r.json";
    let mut arguments = vec!["compare"];
    arguments.extend(subjects);
    arguments.extend(flags.split_whitespace());
    arguments
}

fn check_sums(difference: &Value) {
    let total = difference["difference_us"]["mean"].as_f64().unwrap();
    for parts in ["lines", "purposes"] {
        let sum = sum(&difference[parts]);
        assert!((sum - total).abs() < 1e-6, "{difference:#}");
    }
}

/// Checks for 100 planted calls, or for none. A machine may not permit counting them.
fn check_calls(difference: &Value, cost: &str) {
    let calls = difference["system_calls"].as_array().unwrap();
    let planted = calls.iter().find(|call| call["name"] == "getppid");
    let more = planted.map(|call| call["difference"]["mean"].as_f64().unwrap());
    if !calls.is_empty() && cost.contains("syscalls") {
        let more = more.unwrap();
        assert!((99.0..101.0).contains(&more), "{difference:#}");
    } else {
        assert_eq!(more, None, "{difference:#}");
    }
}

fn sum(lines: &Value) -> f64 {
    let lines = lines.as_array().unwrap().iter();
    lines
        .map(|line| line["difference_us"]["mean"].as_f64().unwrap())
        .sum()
}

#[test]
fn a_planted_cost_is_the_first_line_of_the_difference() {
    // Method: 100 more system calls, or 40 fresh pages, per response. The ledger lists them first,
    // and its lines add up to the difference that slices counted.
    for (cost, name) in [
        ("--extra-syscalls 100", "system call getppid"),
        ("--touch-pages 40", "page faults"),
    ] {
        let home = Home::new();
        let Some(difference) = compared(&home, "", cost) else {
            return;
        };
        assert_eq!(difference["lines"][0]["name"], name, "{difference:#}");
        check_sums(&difference);
        check_calls(&difference, cost);
        let report = home.run_abx(&["report", "r.json"]).stdout.clone();
        assert!(report.contains("costly uses"), "{report}");
        let folded = home.run_abx(&["report", "r.json", "--folded", "-", "--quiet"]);
        let chains: Vec<&str> = folded.stdout.lines().collect();
        for subject in ["plain;", "costly;"] {
            assert!(
                chains.iter().any(|chain| chain.starts_with(subject)),
                "{folded:#?}"
            );
        }
        for chain in chains {
            let (names, count) = chain.rsplit_once(' ').unwrap();
            assert!(names.split(';').count() > 2, "{chain}");
            assert!(count.parse::<u64>().unwrap() > 0, "{chain}");
        }
    }
}

#[test]
fn the_cpu_time_of_a_background_thread_is_shown_by_its_name() {
    // Method: the built-in server, alone and next to a thread `collector-7` that uses CPU time all
    // the time. Threads add up to the difference, of which this one is the most.
    let home = Home::new();
    let server = format!("{ABX} serve --port {{port}}");
    let plain = format!("plain={server}");
    let busy = format!("busy=python3 {BACKGROUND_THREAD} {server}");
    let Some(record) = sampled(&home, "", &briefly(&[&plain, &busy])) else {
        return;
    };
    let difference = &record["conclusions"]["cpu_differences"][0];
    let threads = difference["threads"].as_array().unwrap();
    if record["blocks"][0]["loads"][0]["ledgers"]["busy"]["without_kernel"] == true {
        assert!(threads.is_empty(), "{difference:#}");
        return;
    }
    assert_eq!(threads[0]["name"], "collector-*", "{difference:#}");
    let means = threads
        .iter()
        .map(|thread| thread["difference"]["mean"].as_f64());
    let sum: f64 = means.map(Option::unwrap).sum();
    let total = difference["difference_us"]["mean"].as_f64().unwrap();
    assert!((sum - total).abs() < 1e-6, "{difference:#}");
    let full = home.run_abx(&["report", "r.json", "--full"]).stdout.clone();
    assert!(full.contains("CPU µs by thread"), "{full}");
}

#[test]
fn segments_and_threads_are_counted_without_privileges() {
    // Method: each response in 5 writes, for an abx without capabilities: 4 more segments; the
    // reference server has one thread that serves.
    let home = Home::new();
    let Some(difference) = compared(&home, UNPRIVILEGED, "--split-writes 5") else {
        return;
    };
    let values = |name: &str| {
        let work = difference["work"].as_array().unwrap().iter();
        let mut known = work.filter(|count| count["name"] == name);
        known.next().map(|count| {
            let value = |side: usize| count["values"][side].as_f64().unwrap();
            [value(0), value(1)]
        })
    };
    // A kernel may have no socket diagnostics.
    if let Some([costly, plain]) = values("segments received") {
        assert!((4.95..5.5).contains(&costly), "{difference:#}");
        assert!((0.95..1.2).contains(&plain), "{difference:#}");
    }
    let [_, threads] = values("threads that ran").unwrap();
    assert!((1.0..3.0).contains(&threads), "{difference:#}");
}

#[test]
fn threads_that_sleep_are_seen_to_wait() {
    // Method: a server whose threads sleep for 5 ms before each response, so that its CPU is idle;
    // each response waits at least this long in the sleep.
    let home = Home::new();
    let server = format!("{ABX} serve --model thread --delay 5ms --port {{port}}");
    let subjects = [format!("one={server}"), format!("other={server}")];
    let Some(record) = sampled(
        &home,
        "",
        &briefly(&subjects.each_ref().map(String::as_str)),
    ) else {
        return;
    };
    for ledger in record["conclusions"]["cpu_ledgers"].as_array().unwrap() {
        let mut waits = ledger["waits"].as_array().unwrap().iter();
        let sleep = waits.find(|wait| wait["name"] == "system call clock_nanosleep");
        // A machine that hides the kernel's functions has no names for waits.
        let is_known = sleep.is_some_and(|wait| wait["value"].as_f64() >= Some(5_000.0));
        assert_eq!(is_known, ledger["is_kernel_split"] == true, "{ledger:#}");
    }
}

#[test]
fn without_privileges_kernel_time_is_one_line() {
    // Method: 100 more system calls per response, for an abx without capabilities. The kernel's
    // single line costs more, and the report states that it is not split.
    let home = Home::new();
    let Some(difference) = compared(&home, UNPRIVILEGED, "--extra-syscalls 100") else {
        return;
    };
    let lines = difference["lines"].as_array().unwrap();
    let names: Vec<&str> = lines
        .iter()
        .map(|line| line["name"].as_str().unwrap())
        .collect();
    // A machine whose settings let every user sample the kernel has the line of the call.
    if !names.contains(&"system call getppid") {
        let kernel = lines
            .iter()
            .find(|line| line["name"] == "kernel, not split");
        let more_us = &kernel.unwrap()["difference_us"]["mean"];
        assert!(more_us.as_f64() > Some(0.0), "{difference:#}");
        assert!(names.contains(&"own code"), "{names:?}");
        assert!(
            !names.iter().any(|name| name.starts_with("system call")),
            "{names:?}"
        );
        let report = home.run_abx(&["report", "r.json"]).stdout.clone();
        assert!(report.contains("The kernel's work is one line"), "{report}");
    }
    check_sums(&difference);
}

#[test]
fn a_running_server_is_sampled_on_its_own_cpus() {
    // Method: a server that runs on CPU 0, and an abx that may use only CPU 1.
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return;
    }
    let home = Home::new();
    let server = Server::start(&[]);
    let pid = server.id().to_string();
    let mut taskset = std::process::Command::new("taskset");
    let bound = taskset.args(["-apc", "0", &pid]).output().unwrap();
    assert!(bound.status.success(), "{bound:#?}");
    let subjects = [
        format!("one={}", server.url),
        format!("other={}", server.url),
    ];
    let arguments = briefly(&[&subjects[0], &subjects[1]]);
    let Some(record) = sampled(&home, "taskset -pc 1 $$ > taskset.txt", &arguments) else {
        return;
    };
    let ledger = &record["blocks"][0]["loads"][0]["ledgers"]["one"];
    assert!(ledger["samples"].as_u64() > Some(0), "{ledger:#}");
}

#[test]
fn a_server_of_thousands_of_threads_is_sampled() {
    // Method: a server with 5,000 threads that wait, and an abx without privileges, which has no
    // room for all of them; a machine that lets every user sample whole CPUs needs none.
    let home = Home::new();
    let threads = format!("threads=python3 {MANY_THREADS} {{port}}");
    let plain = format!("plain={ABX} serve --port {{port}}");
    let mut arguments = briefly(&[&threads, &plain]);
    arguments.extend(["--expect-body", "any"]);
    let Some(record) = sampled(&home, UNPRIVILEGED, &arguments) else {
        return;
    };
    let ledger = &record["blocks"][0]["loads"][0]["ledgers"]["threads"];
    assert_eq!(ledger["failure"], Value::Null, "{ledger:#}");
    let left_out = ledger["threads_left_out"].as_u64().unwrap();
    assert_eq!(
        left_out > 900,
        ledger["without_kernel"] == true,
        "{ledger:#}"
    );
    home.wait_until_empty();
}

#[test]
fn a_server_that_may_not_be_sampled_is_named() {
    // Method: a server that was already running, with all rights of the user of this test, and an
    // abx without capabilities: it has samples of that server, or reports why not.
    let home = Home::new();
    let server = Server::start(&[]);
    let running = format!("running=http://127.0.0.1:{}/", server.port());
    let started = format!("started={ABX} serve --port {{port}}");
    let arguments = briefly(&[&running, &started]);
    let Some(record) = sampled(&home, UNPRIVILEGED, &arguments) else {
        return;
    };
    let ledgers = record["conclusions"]["cpu_ledgers"].as_array().unwrap();
    let has_samples = ledgers.iter().any(|ledger| ledger["subject"] == "running");
    let failures = findings(&record, "not_sampled");
    let is_named = failures
        .iter()
        .any(|finding| finding["subject"] == "running");
    assert!(has_samples != is_named, "{ledgers:#?} {failures:#?}");
}

#[test]
fn no_server_is_sampled_unless_requested() {
    // Method: a comparison without `--why`: its record has no ledgers, and its report does not
    // mention them.
    let home = Home::new();
    let plain = format!("plain={ABX} serve --port {{port}}");
    let flags = [
        "--aa", "--blocks", "1", "--rounds", "2", "--slice", "20ms", "--pilot", "brief",
    ];
    let arguments = [&["compare", &plain][..], &flags, &["--json", "r.json"]].concat();
    let ended = home.run_abx(&arguments);
    assert!(!ended.stdout.contains("Why:"), "{ended:#?}");
    let text = std::fs::read_to_string(home.join("r.json")).unwrap();
    assert!(!text.contains("ledgers\""), "{text}");
    let folded = ["--folded", "stacks.txt"];
    home.run_abx(&[&["report", "r.json"][..], &folded].concat())
        .expect(2, &["r.json has no call chains", "--why"]);
    home.run_abx(&[&["compare", &plain][..], &flags, &folded].concat())
        .expect(2, &["add --why"]);
    assert!(!home.join("stacks.txt").exists());
}
