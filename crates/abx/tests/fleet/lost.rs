//! Failures while several machines load: of an agent, the bus, the controller and a disk. The
//! server's log or the counts of the agents are the reference, to the last request.

use std::fs;
use std::path::PathBuf;

use abx_sys::process::Signal;
use serde_json::{Value, json};

use crate::fleet::agents::{Agent, Bus, LoggingServer, losses};
use crate::support::{ABX, Ended, Home, Running, Server, findings, read_json, wait_for};

/// A load that takes some seconds.
const LONG: &str = "-n 30000 -c 9 --think 1ms";
/// A load that no test waits for.
const ENDLESS: &str = "-d 600s -c 9 --think 10ms";

/// Starts this load by three agents.
fn start<'a>(home: &'a Home, url: &str, bus: &Bus, load: &str) -> Running<'a> {
    let mut words = vec!["run", url, "--agents", "3", "--bus", &bus.url];
    words.extend(load.split(' '));
    home.start(&mut home.abx(&words))
}

/// Waits until this many requests were logged.
fn until_logged(server: &LoggingServer, requests: usize) {
    wait_for("load", || (server.requests() > requests).then_some(()));
}

#[test]
fn the_others_continue_without_a_lost_agent_on_request() {
    // Method: SIGKILL of one of three agents in the middle of 30,000 requests, which nine
    // connections share equally. The other agents count exactly their part, and the record states
    // which part is missing.
    let server = LoggingServer::start();
    let bus = Bus::start();
    let agents = Agent::three(&bus);
    let home = Home::new();
    let load = format!("{LONG} --on-loss continue");
    let running = start(&home, &server.url, &bus, &load);
    until_logged(&server, 300);
    agents[1].signal(Signal::Kill);
    let ended = running.wait();
    ended.expect(0, &["agent a2 (2 of 3) was lost"]);
    let record = home.record();
    assert_eq!(record["ok"], 20_001);
    assert_eq!(record["sent"], 20_001, "{record}");
    assert!((20_001..30_000).contains(&server.requests()));
    assert_eq!(losses(&record), [false, true, false]);
    let fleet = &record["fleet"];
    assert_eq!(fleet["partial"], true);
    assert_eq!(fleet["on_loss"], "continue");
    assert!(fleet["agents"][1]["lost_unix_ms"].is_u64());
    let lost = findings(&record, "agent_lost");
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert_eq!(lost[0]["level"], "bound");
    let message = lost[0]["message"].as_str().unwrap();
    for part in [
        "a2 (2 of 3)",
        "s after the start",
        "3 of 9 connections",
        "9999 of 30000",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let printed = ended
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(printed.contains("3 of 9 connections"), "{printed}");
    // The slice has the clocks of the six remaining connections, not of all nine.
    let slices = &record["blocks"][0]["loads"][0]["slices"];
    assert!(slices.to_string().contains("6"), "{slices}");
}

#[test]
fn a_comparison_continues_with_the_remaining_load() {
    // Method: SIGKILL of one of two agents while two servers are compared. All judged blocks have
    // the same load, and the block in which the agent was lost is not judged.
    let servers = [Server::start(&[]), Server::start(&["--model", "thread"])];
    let bus = Bus::start();
    let agents = [1, 2].map(|slot| {
        let words = format!("--allow-target 127.0.0.0/8 --name a{slot} --slot {slot} -t 1");
        Agent::start(&bus, &words)
    });
    let home = Home::new();
    let named = [0, 1].map(|index| format!("s{index}={}", servers[index].url));
    let flags = "--blocks 2 --rounds 2 --slice 100ms --pilot brief -c 6 --on-loss continue \
                 --agents 2 --bus";
    let mut words = vec!["compare", &named[0], &named[1]];
    words.extend(flags.split_whitespace());
    words.push(&bus.url);
    let running = home.start(&mut home.abx(&words));
    servers[0].wait_until_loaded();
    agents[1].signal(Signal::Kill);
    let ended = running.wait();
    let record = home.record();
    ended.expect_measured(&record);
    let blocks = record["blocks"].as_array().unwrap();
    let complete = blocks.iter().filter(|block| block["complete"] == true);
    let missing: Vec<&Value> = complete.map(|block| &block["missing_agents"]).collect();
    // One block may have been complete before the loss.
    let with_all = missing.len() - 2;
    assert!(with_all < 2 && missing[..with_all].iter().all(|value| value.is_null()));
    assert_eq!(missing[with_all..], [&json!([2]), &json!([2])]);
    assert_eq!(record["comparisons"][0]["blocks"], 2);
    let lost = findings(&record, "agent_lost");
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0]["level"], "note");
    let message = lost[0]["message"].as_str().unwrap();
    for part in ["agent a2 (2 of 2)", "3 of 6 connections", "smaller load"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(record["fleet"]["partial"], true);
}

/// Runs `abx collect` over these files.
fn collect(home: &Home, files: &[&PathBuf]) -> Ended {
    let mut words = vec!["collect", "--json", "-", "--quiet"];
    words.extend(files.iter().map(|file| file.to_str().unwrap()));
    home.run_abx(&words)
}

#[test]
fn the_counts_of_agents_outlive_the_controller() {
    // Method: SIGKILL of the controller in the middle of ten minutes. The agents end by themselves
    // and report where their counts are. Together the counts match the server's log, except for
    // requests under way. Files that do not belong together are refused by name.
    let server = LoggingServer::start();
    let bus = Bus::start();
    let agents = Agent::three(&bus);
    let home = Home::new();
    let running = start(&home, &server.url, &bus, ENDLESS);
    until_logged(&server, 300);
    running.signal(Signal::Kill);
    running.wait_alone();
    agents.iter().for_each(|agent| agent.says("abx collect "));
    let logged = server.requests() as u64;
    let [first, second, third] = agents.map(|agent| {
        let copy = home.join(agent.saved().file_name().unwrap().to_str().unwrap());
        fs::copy(agent.saved(), &copy).unwrap();
        copy
    });

    let ended = collect(&home, &[&first, &second, &third, &first]);
    let record = ended.expect(130, &[]).json();
    let sent = record["sent"].as_u64().unwrap();
    // The log also has the requests before the load, and may have requests whose response came too
    // late for the load.
    assert!(sent <= logged && logged - sent < 30, "{sent} {logged}");
    assert!(sent - record["ok"].as_u64().unwrap() < 30, "{record:#}");
    assert_eq!(losses(&record), [false; 3]);
    let fleet = &record["fleet"];
    assert_eq!(
        (&fleet["collected"], &fleet["partial"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(record["end"]["reason"], "interrupted");
    assert_eq!(findings(&record, "collected").len(), 1);
    let shown = home.run_abx(&["report", "last", "--full"]);
    shown.expect(130, &[]);
    assert!(shown.stdout.contains("collected"), "{}", shown.stdout);

    let fewer = collect(&home, &[&first, &third]).expect(130, &[]).json();
    assert_eq!(losses(&fewer), [false, true, false]);
    let sent_by_two = fewer["sent"].as_u64().unwrap();
    assert!(sent_by_two < sent, "{sent_by_two} {sent}");
    let message = findings(&fewer, "agent_lost")[0]["message"].to_string();
    assert!(
        message.contains("a2 (2 of 3)") && message.contains("3 of 9 connections"),
        "{message}"
    );

    for (key, message) in [
        ("run", "collect one run at a time"),
        ("build", "use the same program everywhere"),
        ("plan_sha256", "parts of different loads"),
        ("saved_twice", "are both part 2 of 3"),
        ("schema", "is not a file that `abx agent` saved"),
    ] {
        let mut other = read_json(&second);
        match key {
            "saved_twice" => other["counted"]["late_ns"] = json!(u64::from(u32::MAX)),
            "plan_sha256" => other["counted"][key] = json!("another"),
            "schema" => other[key] = json!("another"),
            key => other["author"][key] = json!("another"),
        }
        let name = home.write("other.final.json", &other.to_string());
        let ended = collect(&home, &[&first, &second, &PathBuf::from(name)]);
        ended.expect(2, &[message, "other.final.json"]);
    }
}

#[test]
fn a_full_disk_does_not_end_a_load() {
    // Method: an agent saves its counts on a file system of a single page.
    let home = Home::new();
    fs::create_dir(home.join("bin")).unwrap();
    std::os::unix::fs::symlink(ABX, home.join("bin/abx")).unwrap();
    let script = r#"
ip link set lo up
mkdir small
mount -t tmpfs -o size=4k none small
all=""
finish() { kill $all 2>/dev/null || true; wait; }
trap finish EXIT
listens() {
    until grep -q ":$1 00000000:0000 0A" /proc/net/tcp; do
        kill -0 $2
        sleep 0.02
    done
}
nats-server --addr 127.0.0.1 --port 4222 >nats.log 2>&1 &
all="$!"
listens 107E $!
abx serve --port 8080 >served 2>&1 &
all="$all $!"
listens 1F90 $!
abx agent --bus nats://127.0.0.1:4222 --allow-target 127.0.0.1 --finals small >said.agent 2>&1 &
all="$all $!"
abx run http://127.0.0.1:8080/ -n 1000 -c 2 --bus nats://127.0.0.1:4222 --agents 1 \
    --json record.json --quiet >report 2>said || { cat said said.agent; exit 1; }
until grep -q "The load is over" said.agent; do sleep 0.02; done
ls -A small >left
"#;
    let ended = home.run(&mut home.shell_apart("nm", script));
    ended.expect(0, &[]);
    assert_eq!(read_json(&home.join("record.json"))["ok"], 1_000);
    let message = fs::read_to_string(home.join("said.agent")).unwrap();
    assert!(message.contains("cannot save the counts here"), "{message}");
    assert!(message.contains("No space left on device"), "{message}");
    assert_eq!(fs::read_to_string(home.join("left")).unwrap(), "");
}

#[test]
fn an_agent_that_is_paused_for_a_while_continues() {
    // Method: SIGSTOP of one of three agents until the controller reports its silence, then
    // SIGCONT. All 30,000 requests are made and counted.
    let server = LoggingServer::start();
    let bus = Bus::start();
    let agents = Agent::three(&bus);
    let home = Home::new();
    let mut running = start(&home, &server.url, &bus, LONG);
    until_logged(&server, 300);
    agents[1].signal(Signal::Stop);
    running.until("a message about its silence", |home| {
        let messages = fs::read_to_string(home.join("stderr")).ok()?;
        let is_reported = messages.contains("agent a2 (2 of 3) is silent");
        is_reported.then_some(())
    });
    agents[1].signal(Signal::Cont);
    running
        .wait()
        .expect(0, &["agent a2 (2 of 3) responds again"]);
    let record = home.record();
    assert_eq!(record["ok"], 30_000);
    assert!((30_000..30_010).contains(&server.requests()));
    assert_eq!(losses(&record), [false; 3]);
}

#[test]
fn an_agent_that_is_paused_for_good_is_lost_and_does_not_return() {
    // Method: SIGSTOP of one of three agents in ten minutes of load until the run has ended without
    // it, then SIGCONT: the agent ends its load by itself.
    let server = Server::start(&[]);
    let bus = Bus::start();
    let agents = Agent::three(&bus);
    let home = Home::new();
    let running = start(&home, &server.url, &bus, ENDLESS);
    server.wait_until_loaded();
    agents[1].signal(Signal::Stop);
    running
        .wait()
        .expect(3, &["agent a2 (2 of 3) was lost: it was silent"]);
    agents[1].signal(Signal::Cont);
    agents[1].says("ended its load");
    let record = home.record();
    assert_eq!(losses(&record), [false, true, false]);
    assert_eq!(findings(&record, "agent_lost")[0]["level"], "void");
}

#[test]
fn a_bus_that_is_restarted_loses_nothing() {
    // Method: SIGKILL of the bus while three agents load, and a new bus on the same port. All
    // 30,000 requests are made and counted.
    let server = LoggingServer::start();
    let mut bus = Bus::start();
    let _agents = Agent::three(&bus);
    let home = Home::new();
    let running = start(&home, &server.url, &bus, LONG);
    until_logged(&server, 300);
    bus.restart();
    running.wait().expect(0, &[]);
    let record = home.record();
    assert_eq!(record["ok"], 30_000);
    assert!((30_000..30_010).contains(&server.requests()));
    assert_eq!(losses(&record), [false; 3]);
}

#[test]
fn a_busy_agent_informs_a_second_controller() {
    // Method: an agent that loads for one controller, and a second controller that requests it.
    let server = Server::start(&[]);
    let bus = Bus::start();
    let agent = Agent::start(&bus, "--allow-target 127.0.0.0/8 --name busy -t 1");
    let home = Home::new();
    let run = ["run", &server.url, "--agents", "1", "--bus", &bus.url];
    let first = [&run[..], &["-d", "600s", "-c", "9", "--think", "10ms"]].concat();
    let running = home.start(&mut home.abx(&first));
    agent.says("Joined");
    server.wait_until_loaded();
    let second = [&run[..], &["--agents-within", "2s"]].concat();
    let elsewhere = Home::new();
    elsewhere.run_abx(&second).expect(
        3,
        &[
            "agent busy generates load for another controller, and may be free later",
            "0 of 1 agents joined within 2 s (agent busy generates load for another controller)",
        ],
    );
    running.signal(Signal::Int);
    running.wait().expect(130, &[]);
    assert_eq!(losses(&home.record()), [false]);
}
