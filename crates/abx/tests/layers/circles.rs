//! Modules inside a crate use each other one way too. A folder and its children may
//! use each other; no two neighbours, folders or files, may, by whatever way around.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{Modules, code, crates, paths, planted, target};

/// Which neighbours each module uses, itself or by one of its children.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// The uses among the children of each folder.
fn neighbours(modules: &Modules) -> BTreeMap<Vec<String>, Uses> {
    let mut texts: BTreeMap<Vec<String>, Uses> = BTreeMap::new();
    for (own_texts, text) in modules {
        for path in paths(&code(text)) {
            let (other, _) = target(&path, own_texts, modules);
            let same = own_texts
                .iter()
                .zip(&other)
                .take_while(|(text, two)| text == two);
            let depth = same.count();
            if let (Some(from), Some(to)) = (own_texts.get(depth), other.get(depth)) {
                let uses = texts.entry(own_texts[..depth].to_vec()).or_default();
                uses.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    texts
}

/// The modules that lead back to themselves.
fn in_circles(uses: &Uses) -> Vec<&str> {
    let leads_back = |start: &&String| {
        let mut reached: BTreeSet<&String> = BTreeSet::new();
        let mut next: Vec<&String> = uses[*start].iter().collect();
        while let Some(text) = next.pop() {
            if reached.insert(text) {
                next.extend(uses.get(text).into_iter().flatten());
            }
        }
        reached.contains(start)
    };
    uses.keys().filter(leads_back).map(String::as_str).collect()
}

/// The errors in these modules: the neighbours of a folder that are in circles.
fn circles(name: &str, modules: &Modules) -> Vec<String> {
    let texts = neighbours(modules);
    let errors = texts.iter().filter_map(|(folder, uses)| {
        let members = in_circles(uses);
        let place = [&[name.to_owned()], &folder[..]].concat().join("::");
        (!members.is_empty()).then(|| format!("{place}: {}", members.join(", ")))
    });
    errors.collect()
}

#[test]
fn modules_use_each_other_one_way() {
    // Method: every path in the source of every crate, except for tests.
    let crates = crates();
    let texts: Vec<String> = crates
        .iter()
        .flat_map(|(name, modules)| circles(name, modules))
        .collect();
    let seen: usize = crates.values().map(BTreeMap::len).sum();
    assert_eq!(texts, [""; 0]);
    assert!(seen > 200, "{seen} modules were read");
}

#[test]
fn a_planted_cycle_is_found() {
    // Method: three neighbours in a circle, each by another way to write a path; a folder and its
    // child that use each other; and uses of tests and comments.
    let modules = planted(&[
        ("", "pub use one::One;"),
        (
            "one",
            "use std::fmt;\nuse crate::{\n    two::{Two, three as four},\n};",
        ),
        ("two", "fn f() { crate::three::inner::g(); }"),
        ("two::three", ""),
        ("three", "use inner::g;\nmod inner;"),
        (
            "three::inner",
            "use super::super::one::One;\nuse super::Three;",
        ),
        (
            "free",
            "// use crate::one;\n#[cfg(test)]\nmod tests {\n    use crate::one;\n}",
        ),
    ]);
    assert_eq!(circles("planted", &modules), ["planted: one, three, two"]);
    let mut broken = modules;
    broken.insert(vec!["two".to_owned()], String::new());
    assert_eq!(circles("planted", &broken), [""; 0]);
}
