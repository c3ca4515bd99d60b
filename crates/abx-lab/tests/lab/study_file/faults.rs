//! Faults: their meaning, which of them are refused, and which of them stay when loads are left
//! out.

use std::path::Path;
use std::time::Duration;

use abx_lab::study_file::{RunSpec, StudyFile, parse};
use abx_lab::{Fault, Strike};
use abx_sys::process::Signal;

const STUDY: &str = r#"
[[subject]]
name = "one"
command = ["one", "{port}"]
worker = "php-cgi"
reload = "HUP"

[[subject]]
name = "two"
command = ["two", "{port}"]

[[load]]
name = "steady"
connections = [4, 16]
rate = 500
requests = [{ path = "/" }]

[[load]]
name = "full"
requests = [{ path = "/" }]

[[load]]
name = "share"
rate = "25%"
requests = [{ path = "/" }]

[[load]]
name = "sockets"
shape = "echo"
rate = 500
requests = [{ path = "/" }]

"#;

const CRASH: [&str; 7] = [
    "[[fault]]",
    "name = \"crash\"",
    "load = \"steady-c16\"",
    "whom = \"worker\"",
    "signal = \"SEGV\"",
    "at = \"1s\"",
    "within = \"6s\"",
];

fn read(fault: &[&str]) -> Result<StudyFile, String> {
    let text = format!("{STUDY}{}\n", fault.join("\n"));
    let read = parse(&text, Path::new("study.toml"), &|_| Ok(String::new()));
    read.map_err(|error| error.to_string())
}

#[test]
fn a_fault_has_an_action_a_target_and_a_time() {
    // Method: a fault with every key, and one with an action and a load whose rate is a share.
    let study = read(&CRASH).unwrap();
    let crash = Fault {
        name: "crash".to_owned(),
        load: "steady-c16".to_owned(),
        strike: Strike::Signal(Signal::Segv, abx_evidence::record::Whom::Worker),
        at: Duration::from_secs(1),
        within: Duration::from_secs(6),
        delayed_after: Duration::from_millis(100),
    };
    assert_eq!(study.faults, [crash]);
    let RunSpec::Launch(launch) = &study.subjects[0].server.run else {
        panic!("it has a command");
    };
    assert_eq!(
        (launch.worker.as_deref(), launch.reload),
        (Some("php-cgi"), Some(Signal::Hup))
    );
    let action = [
        "[[fault]]\nname = \"again\"\nload = \"share\"",
        "action = \"restart\"\nat = \"1s\"\nwithin = \"2s\"\ndelayed_after = \"20ms\"",
    ];
    let study = read(&action).unwrap();
    let fault = &study.faults[0];
    assert_eq!(
        (fault.strike, fault.delayed_after),
        (Strike::Restart, Duration::from_millis(20))
    );
}

/// A line of a correct fault, its replacement, and the message.
const WRONG: [(usize, &str, &str); 11] = [
    (
        1,
        "name = \"full\"",
        "`full` is already the name of a load, and reports list faults next to loads: give the fault another name",
    ),
    (
        2,
        "load = \"steady\"",
        "`load` is `steady`, and no load has that name",
    ),
    (
        2,
        "load = \"full\"",
        "the load `full` has no fixed rate, so it would offer less while a subject fails: add one to it, such as rate = 500",
    ),
    (
        2,
        "load = \"sockets\"",
        "the load `sockets` is not of shape `request`",
    ),
    (
        3,
        "",
        "`whom` is missing: add it, for example whom = \"worker\"",
    ),
    (
        4,
        "signal = \"SIGSEGV\"",
        "`signal` is `SIGSEGV`, which is unknown; choose from `SEGV`, `KILL`",
    ),
    (
        4,
        "",
        "`signal` is missing: add it, for example signal = \"SEGV\"",
    ),
    (
        4,
        "action = \"restart\"",
        "`action` does not go with `signal` or `whom`: leave out `action`, or the other two",
    ),
    (
        5,
        "at = \"6s\"",
        "`at` is 6s, but the slice ends after 6s (`within`): set an earlier `at`",
    ),
    (5, "", "`at` is missing"),
    (
        6,
        "within = \"6\"",
        "`within` is `6`, which has no unit: write 6s or 6m",
    ),
];

#[test]
fn a_fault_that_cannot_be_done_is_refused_with_its_line() {
    // Method: one line of a correct fault is changed at a time; each message names the line, or the
    // fault's first line if a line is missing.
    let lines_before = STUDY.lines().count();
    for (index, changed, expected) in WRONG {
        let mut fault = CRASH;
        fault[index] = changed;
        let message = read(&fault).expect_err(changed);
        let named = if changed.is_empty() { 0 } else { index };
        let start = format!("study.toml:{}: ", lines_before + named + 1);
        assert!(message.contains(expected), "{message}");
        assert!(message.starts_with(&start), "{start}{message}");
    }
    let without_action = [CRASH[0], CRASH[1], CRASH[2], CRASH[5], CRASH[6]];
    let message = read(&without_action).unwrap_err();
    assert!(
        message.contains("the fault does nothing: add signal ="),
        "{message}"
    );
    let twice = [CRASH, CRASH].concat();
    let message = read(&twice).unwrap_err();
    assert!(
        message.contains("the name `crash` is taken by the fault in line"),
        "{message}"
    );
}

#[test]
fn a_fault_leaves_with_its_load() {
    // Method: the load is kept, and left out, by name; a contrast of the fault leaves with it. If
    // only the first row of each sweep stays, this load stays too, although it is the second row.
    let contrast = "[[contrast]]\nsubject = \"two\"\nbaseline = \"one\"\nloads = [\"crash\"]";
    let with = [&CRASH[..], &[contrast]].concat();
    let study = read(&with).unwrap();
    let counts_after = |cut: &dyn Fn(&mut StudyFile)| {
        let mut study = study.clone();
        cut(&mut study);
        (study.faults.len(), study.contrasts.len())
    };
    let named = |name: &str| [name.to_owned()];
    assert_eq!(
        counts_after(&|study| study.keep_loads(&named("steady-c16")).unwrap()),
        (1, 1)
    );
    assert_eq!(
        counts_after(&|study| study.keep_loads(&named("full")).unwrap()),
        (0, 0)
    );
    assert_eq!(counts_after(&StudyFile::keep_first_positions), (1, 1));
}
