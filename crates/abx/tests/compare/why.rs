//! `--why`: which parts of a server's work cost CPU time, where the answer is planted.

use serde_json::Value;

use crate::support::{ABX, Home};

/// Compares the reference server with itself and this extra cost, in three blocks; `None` if
/// this machine lets nobody sample, which abx has to say then.
fn compared(home: &Home, cost: &str) -> Option<Value> {
    let plain = format!("plain={ABX} serve --port {{port}}");
    let costly = format!("costly={ABX} serve --port {{port}} {cost}");
    let flags = [
        "--why", "--blocks", "3", "--rounds", "4", "--slice", "100ms",
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
    let ended = home.run_abx(&arguments);
    if ended.status.code() == Some(2) {
        assert!(
            ended.stderr.contains("kernel.perf_event_paranoid"),
            "{ended:#?}"
        );
        return None;
    }
    let text = std::fs::read_to_string(home.join("r.json")).unwrap();
    let record: Value = serde_json::from_str(&text).unwrap();
    let differences = record["conclusions"]["cpu_differences"].as_array().unwrap();
    assert_eq!(differences.len(), 1, "{ended:#?}");
    Some(differences[0].clone())
}

fn sum(lines: &Value) -> f64 {
    let lines = lines.as_array().unwrap().iter();
    lines
        .map(|line| line["difference_us"]["mean"].as_f64().unwrap())
        .sum()
}

#[test]
fn a_planted_cost_is_the_first_line_of_the_difference() {
    // Method: 100 more system calls, or 40 fresh pages, per response; the ledger puts them first,
    // and its lines add up to the difference that slices counted.
    for (cost, name) in [
        ("--extra-syscalls 100", "system call getppid"),
        ("--touch-pages 40", "page faults"),
    ] {
        let home = Home::new();
        let Some(difference) = compared(&home, cost) else {
            return;
        };
        assert_eq!(difference["lines"][0]["name"], name, "{difference:#}");
        let whole = difference["difference_us"]["mean"].as_f64().unwrap();
        for parts in ["lines", "purposes"] {
            assert!(
                (sum(&difference[parts]) - whole).abs() < 1e-6,
                "{difference:#}"
            );
        }
        let report = home.run_abx(&["report", "r.json"]).stdout.clone();
        assert!(report.contains("costly uses"), "{report}");
    }
}

#[test]
fn nobody_is_sampled_unless_asked() {
    // Method: the same comparison without the flag: its record has no ledgers, and its report
    // no word of them.
    let home = Home::new();
    let plain = format!("plain={ABX} serve --port {{port}}");
    let flags = [
        "--aa", "--blocks", "1", "--rounds", "2", "--slice", "20ms", "--pilot", "brief",
    ];
    let arguments = [&["compare", &plain][..], &flags, &["--json", "r.json"]].concat();
    let ended = home.run_abx(&arguments);
    assert!(!ended.stdout.contains("Why:"), "{ended:#?}");
    let text = std::fs::read_to_string(home.join("r.json")).unwrap();
    assert!(!text.contains("ledger"), "{text}");
}
