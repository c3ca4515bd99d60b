//! Each fuzz target keeps inputs, and a test replays them.

use std::fs;
use std::path::{Path, PathBuf};

/// Limit for the kept inputs of all targets together.
const KEPT_BYTES_MAX: u64 = 200_000;

/// The parts that these targets lack: inputs, or a test with the target's name.
fn missing(targets: &[String], keeps: impl Fn(&str) -> bool, tests: &[String]) -> Vec<String> {
    let mut missing = Vec::new();
    for target in targets {
        if !keeps(target) {
            missing.push(format!(
                "{target} keeps no input: run scripts/fuzz keep {target}"
            ));
        }
        let name = format!("\"{target}\"");
        if !tests.iter().any(|text| text.contains(&name)) {
            missing.push(format!("no test replays {target}: call abx_corpus::replay"));
        }
    }
    missing
}

/// The Rust files below a folder that replay kept inputs.
fn replaying(folder: &Path, texts: &mut Vec<String>) {
    for path in entries(folder) {
        if path.is_dir() {
            replaying(&path, texts);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            texts.extend(text.contains("abx_corpus::replay").then_some(text));
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[test]
fn each_fuzz_target_keeps_inputs_and_a_test_replays_them() {
    // Method: the targets' files, the folders of kept inputs, and the files of all crates that
    // replay some.
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let fuzz = crates.join("../fuzz");
    let stem = |path: &PathBuf| path.file_stem()?.to_str().map(str::to_owned);
    let targets = entries(&fuzz.join("fuzz_targets"));
    let targets: Vec<String> = targets.iter().filter_map(stem).collect();
    let mut tests = Vec::new();
    replaying(&crates, &mut tests);
    let keeps = |target: &str| !entries(&fuzz.join("kept").join(target)).is_empty();
    assert_eq!(missing(&targets, keeps, &tests), [""; 0]);
    assert!(targets.len() > 20 && tests.len() > 5, "{targets:?}");
}

#[test]
fn kept_inputs_are_few() {
    // Method: the size of all kept inputs, and a target for each folder of them.
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let folders = entries(&fuzz.join("kept"));
    let files = folders.iter().flat_map(|folder| entries(folder));
    let bytes: u64 = files.map(|file| fs::metadata(file).unwrap().len()).sum();
    assert!(bytes <= KEPT_BYTES_MAX, "{bytes} bytes");
    for folder in folders {
        let target = folder.file_name().unwrap().to_str().unwrap();
        let target = fuzz.join("fuzz_targets").join(format!("{target}.rs"));
        assert!(target.exists(), "{} is missing", target.display());
    }
}

#[test]
fn a_target_without_inputs_or_a_test_is_found() {
    // Method: three invented targets: one lacks inputs, one a test.
    let targets = ["a", "b", "c"].map(str::to_owned);
    let tests = ["replay(\"a\", 1, f); replay(\"b\", 1, g)".to_owned()];
    let missing = missing(&targets, |target| target != "b", &tests);
    assert_eq!(missing.len(), 2);
    assert!(missing[0].starts_with("b keeps") && missing[1].ends_with("call abx_corpus::replay"));
}
