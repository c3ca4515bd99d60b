//! `abx doctor`: whether this machine can measure, whatever machine it is.

use std::fs;

use abx_sys::process::Signal;
use serde_json::Value;

use crate::support::{Ended, Home, is_server, read_json};

const SHORT: [&str; 4] = ["doctor", "--quick", "--noise-for", "1s"];

/// The check of this name.
fn check<'a>(record: &'a Value, id: &str) -> &'a Value {
    let mut checks = record["checks"].as_array().unwrap().iter();
    checks.find(|check| check["id"] == id).unwrap()
}

#[test]
fn a_doctor_measures_and_leaves_nothing_behind() {
    // Method: the shortest examination. Values depend on the machine, so only their presence and
    // their consequences are checked.
    let home = Home::new();
    let ended = home.run_abx(&[&SHORT[..], &["--json", "-"]].concat());
    let record = ended.expect(0, &["comparisons here", "stops: "]).json();
    assert_eq!(
        (&record["schema"], &record["kind"]),
        (&"abx.output/1".into(), &"doctor".into())
    );
    assert_eq!(record["interrupted"], false);
    assert_eq!(record["refusal"], Value::Null);
    assert!(record["elapsed_s"].as_f64() > Some(0.0));

    let readings = &record["readings"];
    assert!(readings["descriptors_hard"].as_u64() > Some(0));
    assert!(readings["clock_reading_ns"].as_f64() > Some(0.0));
    assert!(!readings["cpus"].as_array().unwrap().is_empty());
    assert!(!readings["generator_cpus"].as_array().unwrap().is_empty());
    let reach = readings["sampling"]["reach"].as_str().unwrap();
    assert!(["all", "own_code", "nothing"].contains(&reach), "{reach}");
    assert!(check(&record, "why")["message"].is_string());

    let noise = &record["noise"];
    let has_spread = noise["blocks"].as_u64() >= Some(2);
    assert!(noise["blocks"].as_u64() >= Some(1));
    assert_eq!(noise["spread"].is_number(), has_spread);
    assert_eq!(noise["detectable"].is_number(), has_spread);

    let ceilings = record["ceilings"].as_array().unwrap();
    let keep_alive: Vec<_> = ceilings
        .iter()
        .map(|ceiling| &ceiling["keep_alive"])
        .collect();
    assert_eq!(keep_alive, [true, false]);
    for ceiling in ceilings {
        // There may be no response in half a second if other processes use the CPUs.
        assert_eq!(
            ceiling["throughput_per_s"].is_number(),
            ceiling["ok"] != 0,
            "{ceiling}"
        );
        assert!(ceiling["generator_busy"].as_f64() > Some(0.0), "{ceiling}");
        assert_eq!(ceiling["connections"], 50);
        assert_eq!(ceiling["failed"], 0);
    }
    assert!(record["elsewhere"]["foreign"].is_number());
}

#[test]
fn a_saved_doctor_record_is_printed_again() {
    // Method: the printed text compared with that of its record.
    let home = Home::new();
    let first = home.run_abx(&[&SHORT[..], &["--json", "doctor.json", "--quiet"]].concat());
    assert_eq!(first.expect(0, &[]).stderr, "");
    let again = home.run_abx(&["report", "doctor.json"]);
    assert_eq!(again.expect(0, &[]).stdout, first.stdout);
}

#[test]
fn too_few_descriptors_are_reported() {
    // Method: a hard limit of 64 descriptors, too few for a comparison at 50 connections.
    let home = Home::new();
    let doctor = [&SHORT[..], &["--json", "-"]].concat();
    let ended = home.run(&mut home.abx_after("ulimit -n 64", &doctor));
    let record = ended
        .expect(0, &["prevent comparisons", "ulimit -n 65536"])
        .json();
    assert_eq!(record["noise"], Value::Null);
    assert_eq!(check(&record, "refused")["status"], "stops");
    assert_eq!(check(&record, "descriptors")["status"], "stops");
}

/// Interrupts an examination once a server runs and `message` was printed.
fn interrupted_after(message: &str) -> (Home, Ended) {
    let home = Home::new();
    let ended = {
        let doctor = ["doctor", "--noise-for", "2s", "--json", "doctor.json"];
        let mut running = home.start(&mut home.abx(&doctor));
        running.until(message, |home| {
            let text = fs::read_to_string(home.join("stderr")).ok()?;
            let mut processes = home.processes().into_iter();
            let serves = processes.any(|(_, line)| is_server(&line));
            (text.contains(message) && serves).then_some(())
        });
        running.signal(Signal::Int);
        running.wait()
    };
    (home, ended)
}

#[test]
fn ctrl_c_ends_the_study_of_noise() {
    // Method: SIGINT once a server runs.
    let (home, ended) = interrupted_after("with itself");
    ended.expect(130, &[]);
    assert!(ended.stdout.contains("Interrupted"));
    let record = read_json(&home.join("doctor.json"));
    assert_eq!(record["interrupted"], true);
    assert_eq!(record["ceilings"].as_array().unwrap().len(), 0);
}

#[test]
fn ctrl_c_at_the_ceiling_keeps_the_noise() {
    // Method: SIGINT once the second part has its server. The signal must stop the engine of that
    // part, not that of the first part, which has ended.
    let (home, ended) = interrupted_after("as hard as");
    ended.expect(130, &[]);
    let record = read_json(&home.join("doctor.json"));
    assert_eq!(record["interrupted"], true);
    assert!(record["noise"]["blocks"].as_u64() >= Some(1));
}

#[test]
fn invalid_times_are_refused() {
    // Method: one wrong word for each message.
    let home = Home::new();
    let cases: [(&[&str], &str); 3] = [
        (&["doctor", "--noise-for", "11m"], "10m"),
        (&["doctor", "--noise-for", "0s"], "above zero"),
        (&["doctor", "--noise-fr"], "--noise-for"),
    ];
    for (words, message) in cases {
        home.run_abx(words).expect(2, &[message]);
    }
    assert!(!home.join("state/abx").exists(), "a record of nothing");
}
