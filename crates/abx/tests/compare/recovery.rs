//! Faults of a study: servers are struck under load, and their own logs are the reference.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Ended, Home, findings, in_five_looks};

/// A server that starts its worker again at once, and one that does so after a second.
const SUPERVISED: &str = r#"
wait = "asleep"
[[subject]]
name = "at-once"
command = ["python3", "SUPERVISOR", "{port}", "0", "LOGS"]

[[subject]]
name = "later"
command = ["python3", "SUPERVISOR", "{port}", "1", "LOGS"]

[[load]]
name = "steady"
connections = 4
rate = 50
requests = [{ path = "/" }]
expect = { body = "any" }
"#;

const RATE: f64 = 50.0;
const DELAYED_AFTER_S: f64 = 0.9;

fn conduct(home: &Home, text: &str, blocks: &str) -> Ended {
    let supervisor = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/supervisor.py");
    let logs = home.join("logs");
    // Process ids repeat: the logs of an earlier look do not belong to this one.
    let _ = fs::remove_dir_all(&logs);
    fs::create_dir_all(&logs).unwrap();
    let text = text
        .replace("SUPERVISOR", supervisor.to_str().unwrap())
        .replace("LOGS", logs.to_str().unwrap());
    let study = home.write("study.toml", &text);
    let flags = [
        "--pilot",
        "brief",
        "--rounds",
        "1",
        "--slice",
        "100ms",
        "--no-ceiling",
    ];
    let words = [
        &["compare", &study, "--blocks", blocks, "--json", "-"],
        &flags[..],
    ]
    .concat();
    home.run_abx(&words)
}

/// The slices of all faults and subjects.
fn all_slices(record: &Value) -> impl Iterator<Item = &Value> {
    let blocks = record["blocks"].as_array().unwrap().iter();
    blocks.flat_map(|block| block["faults"].as_array().unwrap())
}

/// The slices of one fault and subject.
fn slices<'a>(record: &'a Value, fault: &str, subject: &str) -> Vec<&'a Value> {
    all_slices(record)
        .filter(|slice| slice["fault"] == fault && slice["subject"] == subject)
        .collect()
}

fn counts(slice: &Value, what: &str) -> Vec<u64> {
    let list = slice["timeline"][what].as_array().unwrap().iter();
    list.map(|value| value.as_u64().unwrap()).collect()
}

/// Whether any fault struck late or not at all.
fn has_late(record: &Value) -> bool {
    all_slices(record).any(|slice| {
        slice["struck_ns"]
            .as_u64()
            .is_none_or(|at| at > 500_000_000)
    })
}

/// Asserts that each request after a fault is either lost or has a response in the server's log,
/// except for a few that were under way at the fault or at the end.
fn assert_agrees_with_log(home: &Home, slice: &Value) {
    const UNCERTAIN: i64 = 8;
    let struck_ns = slice["struck_ns"].as_u64().unwrap();
    let bucket_ns = slice["timeline"]["bucket_ns"].as_u64().unwrap();
    let struck = usize::try_from(struck_ns / bucket_ns).unwrap();
    let after = |what| counts(slice, what)[struck..].iter().sum::<u64>() as i64;
    let [sent, lost] = [after("due"), after("failed")];
    let responded = around_end(home, slice).1.len() as i64;
    assert!(
        (sent - responded - lost).abs() <= UNCERTAIN,
        "{lost} lost of {sent}, and {responded} in the log: {slice}"
    );
}

/// For how long the server did not respond: from the last response of the struck worker to the
/// first response of its successor.
fn gap_s(home: &Home, slice: &Value) -> f64 {
    let (last, after) = around_end(home, slice);
    (*after.iter().min().unwrap() - last) as f64 / 1e9
}

/// The time of the struck worker's last response, and of all later responses of its server.
fn around_end(home: &Home, slice: &Value) -> (u64, Vec<u64>) {
    let struck = slice["struck"][0]["process_id"]
        .as_u64()
        .unwrap()
        .to_string();
    let mut logs: Vec<(String, String, Vec<u64>)> = Vec::new();
    for entry in fs::read_dir(home.join("logs")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let (supervisor, worker) = name.split_once('-').unwrap();
        let text = fs::read_to_string(entry.path()).unwrap();
        let responded = text.lines().map(|line| line.parse().unwrap());
        logs.push((
            supervisor.to_owned(),
            worker.to_owned(),
            responded.collect(),
        ));
    }
    let (supervisor, _, before) = logs.iter().find(|log| log.1 == struck).unwrap();
    let last = *before.last().unwrap();
    let of_server = logs.iter().filter(|log| log.0 == *supervisor);
    let times = of_server.flat_map(|log| log.2.iter().copied());
    (last, times.filter(|time| *time > last).collect())
}

#[test]
fn the_faster_recovery_is_found_and_agrees_with_the_servers_log() {
    // Method: the only worker is killed; one supervisor waits for a second before it starts the
    // next one. Requests that were due during the gap in the server's log cannot have had a
    // response in time, except for the last of them.
    let home = Home::new();
    let crash = r#"
[[fault]]
name = "crash"
load = "steady"
whom = "worker"
signal = "KILL"
at = "300ms"
within = "2500ms"
delayed_after = "900ms"
"#;
    let text = format!("{SUPERVISED}{crash}");
    // A busy machine may disturb a slice until its end.
    let (record, value) = in_five_looks(|| {
        let record = conduct(&home, &text, "6").json();
        let comparisons = record["comparisons"].as_array().unwrap();
        let result = comparisons
            .iter()
            .find(|comparison| comparison["metric"] == "recovery");
        let settled = result
            .cloned()
            .filter(|value| value["verdict"] != "inconclusive");
        match settled.filter(|_| !has_late(&record)) {
            Some(value) => Ok((record, value)),
            None => Err(format!("{}", record["validity"])),
        }
    });
    assert_eq!(
        (&value["subject"], &value["load"]),
        (&"later".into(), &"crash".into())
    );
    assert_eq!(value["verdict"], "slower", "{value}");
    let lost = &record["conclusions"]["lost_to_faults"][0];
    assert_eq!(
        (&lost["subject"], &lost["verdict"]),
        (&"later".into(), &"more".into())
    );
    for subject in ["at-once", "later"] {
        let values = slices(&record, "crash", subject);
        assert_eq!(values.len(), 6);
        for slice in values {
            assert_eq!(slice["processes_before"], 1);
            assert_eq!(
                slice["processes_after"], 1,
                "{subject} was not brought back"
            );
            let gap_s = gap_s(&home, slice);
            assert!(subject == "at-once" || gap_s >= 1.0, "{gap_s}");
            assert_agrees_with_log(&home, slice);
            let certain = (gap_s - DELAYED_AFTER_S) * RATE - 2.0;
            let disturbed = [counts(slice, "failed"), counts(slice, "delayed")].concat();
            let disturbed: u64 = disturbed.iter().sum();
            assert!(
                disturbed as f64 >= certain,
                "{disturbed} of {certain} in {gap_s} s"
            );
        }
    }
    home.wait_until_empty();
}

/// A server of two workers under a master.
const NGINX: &str = r#"
[[subject]]
name = "nginx"
command = ["nginx", "-c", "{dir}/nginx.conf", "-e", "stderr"]
templates = { "nginx.conf" = "nginx.conf.in" }
from = { packages = ["nginx-light"] }
reload = "HUP"
"#;

const NGINX_CONF: &str = "worker_processes 2; daemon off; pid {dir}/pid; error_log stderr;
events {}
http {
  access_log off; client_body_temp_path {dir}; proxy_temp_path {dir}; fastcgi_temp_path {dir};
  uwsgi_temp_path {dir}; scgi_temp_path {dir};
  server { listen 127.0.0.1:{port}; location / { return 200 hello; } }
}
";

fn fault(name: &str, what: &str) -> String {
    format!(
        "[[fault]]\nname = \"{name}\"\nload = \"steady\"\n{what}\nat = \"200ms\"\nwithin = \"900ms\"\n"
    )
}

#[test]
fn each_fault_is_injected_where_it_applies() {
    // Method: every kind of fault, in one block, to nginx with two workers and to a server of one
    // process. Omitted faults are named, and no process is left.
    let home = Home::new();
    home.write("nginx.conf.in", NGINX_CONF);
    let alone =
        "[[subject]]\nname = \"alone\"\ncommand = [\"{abx}\", \"serve\", \"--port\", \"{port}\"]\n";
    let load = "[[load]]\nname = \"steady\"\nconnections = 8\nrate = 200\nrequests = [{ path = \"/\" }]\nexpect = { body = \"any\" }\n";
    let faults = [
        fault("hang", "whom = \"worker\"\nsignal = \"STOP\""),
        fault("headless", "whom = \"supervisor\"\nsignal = \"KILL\""),
        fault("end", "whom = \"tree\"\nsignal = \"KILL\""),
        fault("again", "action = \"restart\""),
        fault("anew", "action = \"reload\""),
    ];
    let text = format!("wait = \"asleep\"\n{NGINX}{alone}{load}{}", faults.concat());
    // A fault that came when the slice was nearly over shows nothing.
    let record = in_five_looks(|| {
        let record = conduct(&home, &text, "1").json();
        if has_late(&record) {
            Err(format!("{}", record["validity"]))
        } else {
            Ok(record)
        }
    });
    let only = |fault: &str, subject: &str| slices(&record, fault, subject)[0].clone();
    let processes = |slice: &Value| {
        [&slice["processes_before"], &slice["processes_after"]].map(|value| value.as_u64().unwrap())
    };
    assert_eq!(processes(&only("hang", "nginx")), [2, 1]);
    // Workers continue without their master, and abx does not end them.
    let headless = only("headless", "nginx");
    assert_eq!(processes(&headless), [1, 0]);
    assert_eq!(headless["struck"][0]["name"], "nginx");
    for subject in ["nginx", "alone"] {
        let end = only("end", subject);
        assert_eq!(processes(&end)[1], 0);
        let struck = (end["struck_ns"].as_u64().unwrap() / 10_000_000) as usize;
        // A connection that was in use may still report its end.
        let due: u64 = counts(&end, "due")[struck + 20..].iter().sum();
        let failed: u64 = counts(&end, "failed")[struck + 20..].iter().sum();
        assert_eq!(failed, due, "no process is there to respond");
        assert!(due > 0 && only("again", subject)["struck_ns"].is_number());
    }
    assert_eq!(only("anew", "nginx")["struck"].as_array().unwrap().len(), 1);
    assert_eq!(
        findings(&record, "fault_left_out").len(),
        3,
        "hang, headless and anew of `alone`"
    );
    let lost = findings(&record, "not_recovered");
    assert!(
        lost.iter()
            .any(|value| value["subject"] == "alone" && value["load"] == "end")
    );
    home.wait_until_empty();
}

/// A server that responds at once and starts its second worker later.
const LATE_WORKER: &str = r#"
wait = "asleep"
[[subject]]
name = "late"
worker = "sleep"
command = ["python3", "-c", """
import subprocess, sys, time
server = subprocess.Popen([sys.argv[1], 'serve', '--port', sys.argv[2]])
subprocess.Popen(['sleep', '98'])
time.sleep(0.3)
subprocess.Popen(['sleep', '98'])
server.wait()
""", "{abx}", "{port}"]

[[subject]]
name = "other"
command = ["{abx}", "serve", "--port", "{port}"]

[[load]]
name = "steady"
connections = 4
rate = 50
requests = [{ path = "/" }]

[[fault]]
name = "crash"
load = "steady"
whom = "worker"
signal = "KILL"
at = "1500ms"
within = "2s"
"#;

#[test]
fn workers_that_start_after_the_first_response_are_counted() {
    // Method: the second of two workers starts after the server is ready; one of them is killed and
    // not started again.
    let home = Home::new();
    let record = conduct(&home, LATE_WORKER, "1").json();
    let slice = &slices(&record, "crash", "late")[0];
    assert_eq!(
        [&slice["processes_before"], &slice["processes_after"]],
        [2, 1]
    );
    home.wait_until_empty();
}

#[test]
fn a_subject_that_fails_before_a_fault_is_void_and_others_continue() {
    // Method: a server whose third start fails, which is that for its fault in the first block; the
    // starts before are those of the pilot and the block. The other server has its fault in both
    // blocks.
    let home = Home::new();
    let starts = home.join("starts");
    let starts = starts.to_str().unwrap();
    let third = format!(
        "echo start >> {starts}; [ $(wc -l < {starts}) -ne 3 ] || {{ echo no more; exit 3; }}; \
         exec \"$0\" serve --port \"$1\""
    );
    let text = format!(
        "wait = \"asleep\"\n[[subject]]\nname = \"sound\"\ncommand = [\"{{abx}}\", \"serve\", \"--port\", \"{{port}}\"]\n\
         [[subject]]\nname = \"weak\"\ncommand = [\"sh\", \"-c\", '''{third}''', \"{{abx}}\", \"{{port}}\"]\n\
         [[load]]\nname = \"steady\"\nconnections = 4\nrate = 100\nrequests = [{{ path = \"/\" }}]\n\
         {}",
        fault("again", "action = \"restart\"")
    );
    let ended = conduct(&home, &text, "2");
    let record = ended.json();
    assert_eq!(slices(&record, "again", "sound").len(), 2);
    assert_eq!(slices(&record, "again", "weak").len(), 0);
    assert_eq!(record["blocks"].as_array().unwrap().len(), 2);
    let values = findings(&record, "fault_failed");
    assert_eq!(values.len(), 1, "{record}");
    let message = values[0]["message"].as_str().unwrap();
    assert!(
        message.contains("weak is left out of again: it failed in block 1"),
        "{message}"
    );
    assert!(message.contains("no more"), "{message}");
    home.wait_until_empty();
}
