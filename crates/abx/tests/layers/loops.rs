//! A module uses its children, and they do not use its own items: a common item is in a child of
//! its own.

use std::collections::BTreeSet;

use super::modules::{Modules, code, crates, paths, planted, target};

/// Children that are for tests alone.
const OF_TESTS: &[&str] = &["tests", "simulation", "fuzz"];

/// The names that a module defines itself, without those of its tests.
fn defined(code: &str) -> BTreeSet<&str> {
    const KINDS: [&str; 8] = [
        "struct", "enum", "union", "trait", "type", "fn", "const", "static",
    ];
    let names = code.lines().filter_map(|line| {
        let words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let is_outer = line.starts_with(|first: char| first.is_ascii_alphabetic());
        let is_item = is_outer && !line.starts_with("impl");
        words
            .filter(|word| is_item && !word.is_empty())
            .skip_while(|word| !KINDS.contains(word))
            .find(|word| !KINDS.contains(word))
    });
    names.collect()
}

/// The modules that define an item for a child of theirs, each with that child.
fn loops(name: &str, modules: &Modules) -> BTreeSet<(String, String)> {
    let mut loops = BTreeSet::new();
    for (child, text) in modules {
        if child.iter().any(|part| OF_TESTS.contains(&part.as_str())) {
            continue;
        }
        for path in paths(&code(text)) {
            let (parent, item) = target(&path, child, modules);
            let is_above = parent.len() < child.len() && child.starts_with(&parent);
            let Some(item) = item.filter(|_| is_above && !parent.is_empty()) else {
                continue;
            };
            if defined(&code(&modules[&parent])).contains(item.as_str()) {
                let place = [&[name.to_owned()], &parent[..]].concat().join("::");
                loops.insert((place, format!("{} uses {item}", child.join("::"))));
            }
        }
    }
    loops
}

#[test]
fn children_use_no_items_of_their_parent() {
    // Method: every path in the source of every crate, except for tests.
    let crates = crates();
    let loops: BTreeSet<(String, String)> = crates
        .iter()
        .flat_map(|(name, modules)| loops(name, modules))
        .collect();
    assert!(loops.is_empty(), "{loops:#?}");
}

#[test]
fn a_planted_loop_is_found() {
    // Method: a child that uses a type of its parent, one that uses a function from two floors
    // below, one that uses an item that the parent only re-exports, and a test.
    let modules = planted(&[
        ("", ""),
        (
            "a",
            "mod b;\npub use b::Handed;\npub(crate) struct Own;\npub const fn act() {}",
        ),
        ("a::b", "use super::Own;\npub struct Handed;"),
        ("a::b::c", "fn f() { crate::a::act() }"),
        ("a::d", "use super::{Handed, b};"),
        ("a::tests", "use super::Own;"),
    ]);
    let pairs = loops("planted", &modules).into_iter();
    let texts: Vec<String> = pairs
        .map(|(parent, child)| format!("{parent}: {child}"))
        .collect();
    assert_eq!(
        texts,
        ["planted::a: a::b uses Own", "planted::a: a::b::c uses act"]
    );
}
