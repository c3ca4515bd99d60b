//! Scenario files as the page and the schema for editors describe them.

use std::fs;
use std::path::{Path, PathBuf};

use abx_lab::scenario_file::{parse, read, schema};
use proptest::prelude::*;
use serde_json::Value;

use crate::fuzz;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[test]
fn the_schema_of_scenarios_is_the_one_of_the_types() {
    // Method: the schema is generated again and compared; UPDATE=1 writes it.
    let path = docs().join("scenario.schema.json");
    let generated = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &generated).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == generated,
        "docs/scenario.schema.json is not what the types say; write it anew with: \
         UPDATE=1 cargo test -p abx-lab --test lab schema"
    );
}

/// The keys of a table and of the tables in it, joined by points.
fn keys(table: &Value, prefix: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (key, inner) in table["properties"].as_object().into_iter().flatten() {
        let path = format!("{prefix}{key}");
        for deeper in [inner, &inner["items"], &inner["additionalProperties"]] {
            paths.extend(keys(deeper, &format!("{path}.")));
        }
        paths.push(path);
    }
    paths
}

#[test]
fn every_key_has_its_row_and_the_examples_are_read() {
    // Method: each key of the schema has a row on the page; each TOML block of the page, and the
    // example that the page runs, is a scenario.
    let page = fs::read_to_string(docs().join("guides/scenarios.md")).unwrap();
    let keys = keys(&schema(), "");
    assert!(keys.contains(&"step.extract.json".to_owned()), "{keys:?}");
    let has_row = |key: &String| page.contains(&format!("\n| `{key}` |"));
    let missing: Vec<&String> = keys.iter().filter(|key| !has_row(key)).collect();
    assert!(
        missing.is_empty(),
        "without a row in docs/guides/scenarios.md: {missing:?}"
    );
    let examples: Vec<&str> = page.split("```toml\n").skip(1).collect();
    assert!(!examples.is_empty());
    for example in examples {
        let text = example.split("```").next().unwrap();
        let read = parse(text, Path::new("s.toml"), &|_| Ok(String::new()));
        read.unwrap_or_else(|error| panic!("{error}"));
    }
    read(&docs().join("../examples/scenario/browse.toml")).unwrap();
}

#[test]
fn inputs_that_fuzzing_kept_are_scenarios_or_refused() {
    // Method: the fuzz target's body, on kept inputs and mutations of them.
    abx_corpus::replay_text("scenario_file", 1_000, fuzz::any_scenario);
}

proptest! {
    #[test]
    fn any_text_is_a_scenario_or_refused_with_its_line(
        place in 0_usize..300,
        length in 0_usize..40,
        instead in "[a-z{}\\[\\]\"=., \n0-9\u{e9}\u{0}]{0,12}",
    ) {
        // Method: a piece of the example is replaced by characters that have a meaning.
        let example = docs().join("../examples/scenario/browse.toml");
        let mut text = fs::read_to_string(example).unwrap();
        let end = (place + length).min(text.len());
        text.replace_range(place..end, &instead);
        fuzz::any_scenario(&text);
    }
}
