//! Subjects that do not start, that end under load, or that do not stop, and what that costs.

use std::fs;

use abx_sys::process::Signal;
use serde_json::Value;

use crate::support::{
    ABX, Home, Server, assert_honest, findings, only_slice, read_json, send, subject, wait_for,
};

#[rustfmt::skip]
const SHORT: [&str; 11] = [
    "--blocks", "1", "--rounds", "4", "--slice", "20ms", "--pilot", "brief", "--wait", "asleep",
    "--no-ceiling",
];

#[test]
fn a_subject_that_ends_at_its_start_is_reported_with_its_end() {
    // Method: a script that complains and exits with 7.
    let home = Home::new();
    let bad = "bad=sh -c 'echo no configuration >&2; exit 7' {port}";
    home.run_abx(&["compare", &subject("good", ""), bad])
        .expect(
            3,
            &[
                "bad ended before it was ready",
                "exit code 7",
                "no configuration",
            ],
        );
}

#[test]
fn a_subject_that_never_listens_is_reported_with_a_remedy() {
    // Method: a program that prints something and then only sleeps.
    let home = Home::new();
    let deaf = "deaf=sh -c 'echo starting; exec sleep 600' {port}";
    let good = subject("good", "");
    let texts = ["deaf was not ready within 5 s", "{port}", "starting"];
    home.run_abx(&["compare", &good, deaf, "--ready-within", "5s"])
        .expect(3, &texts);
}

#[test]
fn a_subject_that_dies_in_a_block_leaves_the_blocks_before() {
    // Method: SIGKILL of a subject under load once a block is on disk.
    let home = Home::new();
    let (stays, dies) = (subject("stays", ""), subject("dies", "--seed 4711"));
    let compare = [
        "compare", &stays, &dies, "--blocks", "1000", "--slice", "20ms", "--pilot", "brief",
    ];
    let mut running = home.start(&mut home.abx(&compare));
    let pid = running.in_a_block("--seed 4711");
    send(pid, Signal::Kill);
    running
        .wait()
        .expect(3, &["dies ended under load", "signal 9"]);

    let record = home.record();
    let blocks = record["blocks"].as_array().unwrap();
    let (last, before) = blocks.split_last().unwrap();
    assert!(!before.is_empty());
    assert!(before.iter().all(|block| block["complete"] == true));
    assert_eq!(last["complete"], false);
    assert_eq!(last["subjects"]["dies"]["died"], true);
    assert_eq!(last["subjects"]["stays"]["died"], false);
    assert_eq!(record["end"]["reason"], "subject_failed");
    assert_eq!(record["end"]["subject"], "dies");
    assert_eq!(record["comparisons"][0]["verdict"], "invalid");
    assert_eq!(record["comparisons"][0]["ratio"], Value::Null);
    assert_eq!(findings(&record, "subject_failed")[0]["subject"], "dies");
}

#[test]
fn a_subject_that_responds_differently_from_its_third_start_on_ends_the_study() {
    // Method: in the pilot and the first block the subject serves the same page as the other one,
    // in the second block a longer page. The first block is kept.
    let home = Home::new();
    let changes = format!(
        "changes=sh -c 'echo >>starts; [ $(wc -l <starts) -lt 3 ] || more=\"--page-bytes 88\"; \
         exec {ABX} serve --port $PORT $more' {{port}}"
    );
    let same = subject("same", "");
    let compare = ["compare", &same, &changes, "--blocks", "9"];
    home.run_abx(&[&compare[..], &["--slice", "20ms", "--pilot", "brief"]].concat())
        .expect(3, &["same", "changes", "different bodies", "Record: "]);
    let record = home.record();
    assert_eq!(record["blocks"].as_array().unwrap().len(), 1);
    assert_eq!(record["blocks"][0]["complete"], true);
    assert_eq!(record["end"]["reason"], "failed");
}

#[test]
fn a_subject_that_ignores_the_stop_signal_is_killed() {
    // Method: a server that ignores SIGTERM and has three seconds to stop, in one block.
    let home = Home::new();
    let stubborn =
        format!("stubborn=sh -c 'trap \"\" TERM; exec {ABX} serve --port $PORT' {{port}}");
    let willing = subject("willing", "");
    let compare = ["compare", &willing, &stubborn, "--stop-within", "3s"];
    let ended = home.run_abx(&[&compare[..], &SHORT].concat());
    let record = home.record();
    ended.expect_measured(&record);
    let end = |name: &str| {
        record["blocks"][0]["subjects"][name]["end"]
            .as_str()
            .unwrap()
    };
    assert!(end("stubborn").contains("did not end in time"), "{record}");
    assert!(end("willing").contains("when told"), "{record}");
}

#[test]
fn children_of_a_subject_end_with_it() {
    // Method: a shell that starts the server and two sleepers, one of them in its own session, and
    // waits. The run checks that no process is left.
    let home = Home::new();
    let forks = format!(
        "forks=sh -c 'setsid sleep 600 & sleep 600 & {ABX} serve --port $PORT & wait' {{port}}"
    );
    let plain = subject("plain", "");
    home.run_abx(&[&["compare", &plain, &forks], &SHORT[..]].concat())
        .expect_measured(&home.record());
}

#[test]
fn another_program_on_a_subject_s_port_is_not_measured() {
    // Method: a subject that writes its port to a file and does not listen there. The test starts
    // another server on this port.
    let home = Home::new();
    let idle = "idle=sh -c 'echo $PORT >port.new; mv port.new port; exec sleep 600' {port}";
    let good = subject("good", "");
    let running = home.start(&mut home.abx(&["compare", &good, idle]));
    let port = wait_for("the port", || fs::read_to_string(home.join("port")).ok());
    let _stranger = Server::start_on(port.trim(), &[]);
    running
        .wait()
        .expect(3, &["idle: another program", "its port", port.trim()]);
}

#[test]
fn a_full_disk_in_the_middle_costs_no_measurement() {
    // Method: a state folder that has room for the first save and not for the first block.
    let home = Home::new();
    let before = "mount -t tmpfs -o size=16k none state";
    let compare = [&["compare", "--quiet"], &SHORT[..]].concat();
    let ended = home.run(&mut home.abx_apart("m", before, &compare));
    let records = home.records_in("tmp");
    assert_eq!(records.len(), 1, "{ended:#?}");
    let record = read_json(&records[0]);
    ended.expect_measured(&record);
    assert_eq!(record["blocks"][0]["complete"], true);
    let path = records[0].to_str().unwrap();
    for message in ["No space left", "XDG_STATE_HOME", path] {
        assert!(ended.stderr.contains(message), "{message}: {ended:#?}");
    }
    assert!(ended.stdout.contains("thread"), "{ended:#?}");
}

#[test]
fn a_run_whose_server_dies_makes_no_claim() {
    // Method: SIGKILL of the server once it is under load.
    let home = Home::new();
    let server = Server::start(&[]);
    let run = [
        "run",
        &server.url,
        "-d",
        "60s",
        "--timeout",
        "5s",
        "--json",
        "-",
    ];
    let running = home.start(&mut home.abx(&run));
    server.wait_until_loaded();
    send(server.id(), Signal::Kill);
    let ended = running.wait();
    let record = ended.expect(3, &[]).json();
    let slice = only_slice(&record);
    assert_honest(&slice);
    assert!(slice["ok"].as_u64() > Some(0), "{slice}");
    assert!(slice["ok"].as_u64() < slice["sent"].as_u64(), "{slice}");
    assert_eq!(findings(&record, "stopped_answering").len(), 1, "{record}");
}
