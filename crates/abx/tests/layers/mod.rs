//! The arrows between the crates, one way: an arrow that is not in the table below changes the
//! design, and has to be added on purpose.

mod circles;
mod folders;
mod fuzz_targets;
mod loops;
mod modules;
mod printed;
mod type_names;
mod words;

use std::process::Command;

use serde_json::Value;

/// Each crate, and the crates of this workspace that it may use.
const ALLOWED: &[(&str, &[&str])] = &[
    ("abx-sys", &[]),
    ("abx-wire", &[]),
    ("abx-model", &[]),
    ("abx-stats", &[]),
    ("abx-ledger", &[]),
    ("abx-evidence", &["abx-model", "abx-ledger"]),
    (
        "abx-verdict",
        &["abx-model", "abx-stats", "abx-ledger", "abx-evidence"],
    ),
    ("abx-audit", &["abx-evidence", "abx-report"]),
    ("abx-classic", &["abx-evidence"]),
    (
        "abx-engine",
        &["abx-sys", "abx-wire", "abx-model", "abx-evidence"],
    ),
    ("abx-server", &["abx-sys", "abx-wire"]),
    (
        "abx-study",
        &[
            "abx-sys",
            "abx-engine",
            "abx-model",
            "abx-stats",
            "abx-evidence",
        ],
    ),
    (
        "abx-lab",
        &[
            "abx-sys",
            "abx-engine",
            "abx-model",
            "abx-stats",
            "abx-ledger",
            "abx-evidence",
            "abx-verdict",
            "abx-study",
        ],
    ),
    (
        "abx-fleet",
        &["abx-sys", "abx-engine", "abx-model", "abx-evidence"],
    ),
    ("abx-report", &["abx-stats", "abx-evidence", "abx-verdict"]),
    // Measures abx from outside, as a program; no crate has it in its list.
    ("abx-bench", &["abx-wire"]),
    // Of tests only: no other crate has them in its list.
    ("abx-corpus", &[]),
    ("abx-fixtures", &["abx-evidence", "abx-verdict"]),
    ("abx-twin", &["abx-sys", "abx-wire", "abx-engine"]),
    (
        "abx",
        &[
            "abx-sys",
            "abx-wire",
            "abx-model",
            "abx-stats",
            "abx-evidence",
            "abx-verdict",
            "abx-engine",
            "abx-study",
            "abx-fleet",
            "abx-server",
            "abx-lab",
            "abx-audit",
            "abx-report",
            "abx-classic",
        ],
    ),
];

/// The errors in these arrows, each from the crate that uses to the one used.
fn wrong<'a>(arrows: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let allowed = |name: &str| ALLOWED.iter().find(|(crate_name, _)| *crate_name == name);
    arrows
        .into_iter()
        .filter_map(|(from, to)| match allowed(from) {
            None => Some(format!("{from} is in no table")),
            Some((_, may_use)) if may_use.contains(&to) => None,
            Some(_) => Some(format!("{from} may not use {to}")),
        })
        .collect()
}

#[test]
fn crates_use_only_what_the_design_allows() {
    // Method: cargo's own metadata; dependencies of tests are free.
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1", "--locked"])
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let name = |value: &'_ Value| value["name"].as_str().unwrap().to_owned();
    let members: Vec<String> = packages.iter().map(name).collect();
    let mut arrows = Vec::new();
    for package in packages {
        let used = package["dependencies"].as_array().unwrap().iter();
        let used = used
            .filter(|dependency| dependency["kind"] != "dev")
            .map(name);
        let within = used.filter(|dependency| members.contains(dependency));
        arrows.extend(within.map(|dependency| (name(package), dependency)));
    }
    let arrows: Vec<(&str, &str)> = arrows.iter().map(|(from, to)| (&**from, &**to)).collect();
    assert_eq!(wrong(arrows.iter().copied()), [""; 0]);
    // An empty list would pass, and so would one of the wrong workspace.
    assert!(arrows.contains(&("abx-lab", "abx-engine")), "{arrows:?}");
    let known: Vec<&str> = ALLOWED.iter().map(|(name, _)| *name).collect();
    assert!(
        members.iter().all(|name| known.contains(&&**name)),
        "{members:?}"
    );
}

#[test]
fn a_forbidden_dependency_is_found() {
    // Method: an invented graph with a correct arrow, a wrong one, and a crate that is not in the
    // table.
    let texts = wrong([
        ("abx-lab", "abx-sys"),
        ("abx-sys", "abx-lab"),
        ("abx-new", "abx-sys"),
    ]);
    assert_eq!(
        texts,
        ["abx-sys may not use abx-lab", "abx-new is in no table"]
    );
}
