//! Exit code 130: a user stops abx, which keeps everything that it measured and leaves no process
//! behind.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::process::Command;

use abx_sys::process::{Process, ProcessStat, Signal};
use serde_json::Value;

use crate::support::{ABX, Home, Running, Server, is_server, loaded_server, subject, wait_for};

const LONG: [&str; 7] = [
    "compare", "--blocks", "1000", "--slice", "20ms", "--pilot", "brief",
];

fn expect_kept_blocks_after(signal: Signal) {
    let home = Home::new();
    let mut running = home.start(&mut home.abx(&LONG));
    running.in_a_block("");
    running.signal(signal);
    let ended = running.wait();
    ended.expect(130, &["Record: "]);

    let record = home.record();
    let blocks = record["blocks"].as_array().unwrap();
    let (last, before) = blocks.split_last().unwrap();
    assert!(!before.is_empty());
    assert!(before.iter().all(|block| block["complete"] == true));
    assert_eq!(last["complete"], false);
    assert_eq!(record["end"]["reason"], "interrupted");
    assert_eq!(record["comparisons"][0]["blocks"], before.len());
    let path = home.record_path();
    let again = home.run_abx(&["report", path.to_str().unwrap()]);
    assert_eq!(again.expect(130, &[]).stdout, ended.stdout);
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    // Method: SIGINT while a server is loaded, after the first block.
    expect_kept_blocks_after(Signal::Int);
}

#[test]
fn sigterm_keeps_what_was_measured() {
    // Method: the same with SIGTERM.
    expect_kept_blocks_after(Signal::Term);
}

#[test]
fn a_closed_terminal_keeps_what_was_measured() {
    // Method: the same with SIGHUP.
    expect_kept_blocks_after(Signal::Hup);
}

#[test]
fn ctrl_c_in_the_pilot_ends_without_a_report() {
    // Method: SIGINT once the first server runs; the record states why it is empty.
    let home = Home::new();
    let mut running = home.start(&mut home.abx(&LONG));
    running.until("a server", is_serving);
    running.signal(Signal::Int);
    running.wait().expect(130, &["stopped"]);
    let record = home.record();
    assert_eq!(record["end"]["reason"], "interrupted");
    assert_eq!(record["blocks"].as_array().unwrap().len(), 0);
}

#[test]
fn ctrl_c_ends_the_wait_for_a_subject_that_is_not_ready() {
    // Method: SIGINT while a subject sleeps that has an hour to get ready.
    let home = Home::new();
    let slow = "slow=sh -c 'touch begun; exec sleep 600' {port}";
    let compare = ["compare", slow, &subject("b", ""), "--ready-within", "1h"];
    let mut running = home.start(&mut home.abx(&compare));
    running.until("the start", |home| {
        home.join("begun").exists().then_some(())
    });
    running.signal(Signal::Int);
    running.wait().expect(130, &["stopped"]);
}

#[test]
fn ctrl_c_does_not_wait_for_a_response() {
    // Method: SIGINT while abx waits, with an hour to do so, for a response that a server never
    // gives: the first request of a run, the verification of two URLs, and the readiness of a
    // subject.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let receive_byte = || {
        let (mut connection, _) = silent.accept().unwrap();
        assert_eq!(connection.read(&mut [0]).unwrap(), 1);
        connection
    };

    let home = Home::new();
    let running = home.start(&mut home.abx(&["run", &url, "--timeout", "1h"]));
    let connection = receive_byte();
    running.signal(Signal::Int);
    running
        .wait()
        .expect(130, &["stopped before anything was measured"]);
    drop(connection);

    let compare = ["compare", &url, &format!("b={url}"), "--timeout", "1h"];
    let running = home.start(&mut home.abx(&compare));
    let _connection = receive_byte();
    running.signal(Signal::Int);
    running.wait().expect(130, &["stopped"]);
    assert_eq!(home.record()["end"]["reason"], "interrupted");

    let home = Home::new();
    let mute = subject("mute", "--delay 1h");
    let compare = [
        "compare",
        &mute,
        &subject("b", ""),
        "--ready-within",
        "1h",
        "--timeout",
        "1h",
    ];
    let mut running = home.start(&mut home.abx(&compare));
    running.until("a connection to the mute server", |home| {
        let (pid, _) = home
            .processes()
            .into_iter()
            .find(|(_, line)| is_server(line) && line.contains("1h"))?;
        has_connection(pid).then_some(())
    });
    running.signal(Signal::Int);
    running.wait().expect(130, &["stopped"]);
    assert_eq!(home.record()["end"]["reason"], "interrupted");
}

/// Whether a server has a connection besides its listening socket.
fn has_connection(pid: u32) -> bool {
    let links = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    let links = links.filter_map(|link| fs::read_link(link.ok()?.path()).ok());
    links
        .filter(|link| link.to_string_lossy().starts_with("socket:"))
        .count()
        > 1
}

#[test]
fn a_killed_abx_leaves_no_server_behind() {
    // Method: SIGKILL in the pilot and in a block. The keepers notice.
    let in_the_pilot = |running: &mut Running| {
        running.until("a server", is_serving);
    };
    let in_a_block = |running: &mut Running| {
        running.in_a_block("");
    };
    let moments: [&dyn Fn(&mut Running); 2] = [&in_the_pilot, &in_a_block];
    for moment in moments {
        let home = Home::new();
        let mut running = home.start(&mut home.abx(&LONG));
        moment(&mut running);
        running.signal(Signal::Kill);
        assert_eq!(running.wait_alone().status.code(), None);
        home.wait_until_empty();
        assert_eq!(home.scratch(), [""; 0], "left behind");
        // The last record that was saved is intact.
        assert_eq!(home.record()["end"]["reason"], "running");
    }
}

#[test]
fn a_second_ctrl_c_does_not_wait() {
    // Method: a subject that notes SIGTERM and stays until a file appears, with an hour to end:
    // only the second SIGINT can end abx before that. The keeper continues, and ends when the
    // subject does.
    let home = Home::new();
    let stays = format!(
        "stays=sh -c 'trap \"touch told\" TERM; touch trapped; {ABX} serve --port $PORT & \
         while [ ! -e go ]; do sleep 0.1; done' {{port}}"
    );
    let compare = ["compare", &stays, &subject("b", ""), "--stop-within", "1h"];
    let mut running = home.start(&mut home.abx(&compare));
    running.until("a trap for SIGTERM", |home| {
        home.join("trapped").exists().then_some(())
    });
    running.until("a server", is_serving);
    running.signal(Signal::Int);
    running.until("SIGTERM", |home| home.join("told").exists().then_some(()));
    running.signal(Signal::Int);
    assert_eq!(running.wait_alone().status.code(), Some(130));
    fs::write(home.join("go"), "").unwrap();
    home.wait_until_empty();
}

#[test]
fn three_interrupts_at_once_leave_nothing_behind() {
    // Method: SIGINT three times in a row, in the pilot and in a block. The first ends the current
    // work, and the others end abx at once. Its guardian and keepers end the rest.
    for blocks_min in [0, 1] {
        let home = Home::new();
        let mut running = home.start(&mut home.abx(&LONG));
        running.until("a server", is_serving);
        if blocks_min > 0 {
            running.in_a_block("");
        }
        let abx = Process::find(running.id()).unwrap().unwrap();
        for _ in 0..3 {
            // It may have ended after the first.
            let _ = abx.signal(Signal::Int);
        }
        assert_eq!(running.wait_alone().status.code(), Some(130));
        home.wait_until_empty();
        wait_for("an empty folder", || {
            home.scratch().is_empty().then_some(())
        });
        // Before a block has ended, there may be no record yet.
        assert!(blocks_min == 0 || complete(&home).len() >= blocks_min);
    }
}

/// The complete blocks of the only record.
fn complete(home: &Home) -> Vec<Value> {
    let blocks = home.record()["blocks"].as_array().cloned();
    let complete = |block: &Value| block["complete"] == true;
    blocks
        .unwrap_or_default()
        .into_iter()
        .filter(complete)
        .collect()
}

#[test]
fn ctrl_c_in_a_run_reports_what_was_measured() {
    // Method: SIGINT once the server has worked.
    let home = Home::new();
    let server = Server::start(&[]);
    let run = ["run", &server.url, "-d", "1h", "--json", "-"];
    let running = home.start(&mut home.abx(&run));
    server.wait_until_loaded();
    running.signal(Signal::Int);
    let record = running.wait().expect(130, &[]).json();
    assert_eq!(record["end"]["reason"], "interrupted");
    assert!(record["ok"].as_u64() > Some(0));
}

#[test]
fn the_reference_server_ends_on_a_signal() {
    // Method: SIGTERM to `abx serve`. While it runs, the search for leftover processes finds it;
    // otherwise that search could find none anywhere.
    let home = Home::new();
    let mut running = home.start(&mut home.abx(&["serve", "--port", "0"]));
    let path = home.join("stderr");
    running.until("its address", |_| {
        let text = fs::read_to_string(&path).ok()?;
        text.contains("http://127.0.0.1:").then_some(())
    });
    assert_eq!(home.processes().len(), 1);
    running.signal(Signal::Term);
    running.wait();
}

fn is_serving(home: &Home) -> Option<()> {
    let mut processes = home.processes().into_iter();
    processes.find_map(|(_, line)| is_server(&line).then_some(()))
}

#[test]
fn a_lost_keeper_takes_its_server_with_it() {
    // Method: SIGKILL to one keeper in a block. abx notices, reports it, and ends that keeper's
    // processes.
    let home = Home::new();
    expect_a_lost_keeper(&home, &mut home.abx(&LONG));
}

#[test]
fn a_lost_keeper_takes_its_server_with_it_in_a_container() {
    // Method: the same with abx as the first process of a PID namespace. Its session's leader is
    // outside, so the kernel reports session 0.
    let home = Home::new();
    let mut abx = home.abx_apart("pfm", "mount -t proc proc /proc", &LONG);
    expect_a_lost_keeper(&home, &mut abx);
}

fn expect_a_lost_keeper(home: &Home, abx: &mut Command) {
    let mut running = home.start(abx);
    running.in_a_block("--model thread");
    wait_for("the end of abx", || {
        // abx would not notice the loss at the end of a block; then the next keeper is killed.
        if let Some(keeper) = loaded_server(home, "--model thread").and_then(keeper_of) {
            keeper.signal(Signal::Kill).unwrap();
        }
        running.has_ended().then_some(())
    });
    running
        .wait_alone()
        .expect(3, &["thread ended under load", "keeper was killed"]);
    home.wait_until_empty();
}

/// The keeper of a server, if both are running.
fn keeper_of(server: u32) -> Option<Process> {
    let keeper = Process::find(ProcessStat::read(server).unwrap()?.parent).unwrap()?;
    (keeper.name().as_deref() == Some("keeper")).then_some(keeper)
}
