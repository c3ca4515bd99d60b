//! A module may use its children, but they may not use items that it defines: an item that both
//! need has its own child module.

use std::collections::BTreeSet;

use super::modules::{Modules, code, crates, paths, planted, qualified, target};

/// Children for tests only.
const OF_TESTS: &[&str] = &["tests", "simulation", "fuzz"];

/// The names of the items that a module defines itself.
fn defined(code: &str) -> BTreeSet<&str> {
    const KINDS: [&str; 8] = [
        "struct", "enum", "union", "trait", "type", "fn", "const", "static",
    ];
    let names = code.lines().filter_map(|line| {
        let is_outer = line.starts_with(|first: char| first.is_ascii_alphabetic());
        if !is_outer || line.starts_with("impl") {
            return None;
        }
        line.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .filter(|word| !word.is_empty())
            .skip_while(|word| !KINDS.contains(word))
            .find(|word| !KINDS.contains(word))
    });
    names.collect()
}

/// The modules that define an item which one of their children uses, each with that child.
fn loops(crate_name: &str, modules: &Modules) -> BTreeSet<(String, String)> {
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
                let place = qualified(crate_name, &parent);
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
    // Method: a child that uses a type of its parent, a grandchild that uses a function, a child
    // that uses an item which the parent only re-exports, and a test.
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
    let expected = [
        ("planted::a", "a::b uses Own"),
        ("planted::a", "a::b::c uses act"),
    ];
    let expected = expected.map(|(parent, child)| (parent.to_owned(), child.to_owned()));
    assert_eq!(loops("planted", &modules), BTreeSet::from(expected));
}
