//! The crates depend on each other one way. A dependency that is not in the table below changes
//! the design and has to be added on purpose.

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
    // For tests only: no other crate has them in its list.
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

/// The errors in these dependencies, each given as a crate and the crate that it uses.
fn forbidden<'a>(dependencies: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let allowed = |name: &str| ALLOWED.iter().find(|(crate_name, _)| *crate_name == name);
    dependencies
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
    // Method: cargo's own metadata; dependencies for tests are not restricted.
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1", "--locked"])
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let name = |value: &'_ Value| value["name"].as_str().unwrap().to_owned();
    let members: Vec<String> = packages.iter().map(name).collect();
    let mut pairs = Vec::new();
    for package in packages {
        let used = package["dependencies"].as_array().unwrap().iter();
        let used = used
            .filter(|dependency| dependency["kind"] != "dev")
            .map(name)
            .filter(|dependency| members.contains(dependency));
        pairs.extend(used.map(|dependency| (name(package), dependency)));
    }
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(from, to)| (&**from, &**to)).collect();
    assert_eq!(forbidden(pairs.iter().copied()), [""; 0]);
    // An empty list would pass, and so would that of another workspace.
    assert!(pairs.contains(&("abx-lab", "abx-engine")), "{pairs:?}");
    let is_known = |member: &String| ALLOWED.iter().any(|(name, _)| name == member);
    assert!(members.iter().all(is_known), "{members:?}");
}

#[test]
fn a_forbidden_dependency_is_found() {
    // Method: an invented graph with a correct dependency, a wrong one, and a crate that is not in
    // the table.
    let errors = forbidden([
        ("abx-lab", "abx-sys"),
        ("abx-sys", "abx-lab"),
        ("abx-new", "abx-sys"),
    ]);
    assert_eq!(
        errors,
        ["abx-sys may not use abx-lab", "abx-new is in no table"]
    );
}
