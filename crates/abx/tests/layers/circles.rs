//! The modules of a crate depend on each other one way too. A folder and its children may use each
//! other, but neighbours, folders or files, may not form a cycle of any length.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{Modules, code, crates, paths, planted, qualified, target};

/// The neighbours that each module uses, itself or through one of its children.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// The uses among the children of each folder.
fn neighbours(modules: &Modules) -> BTreeMap<Vec<String>, Uses> {
    let mut folders: BTreeMap<Vec<String>, Uses> = BTreeMap::new();
    for (user, text) in modules {
        for path in paths(&code(text)) {
            let (used, _) = target(&path, user, modules);
            let depth = user.iter().zip(&used).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (user.get(depth), used.get(depth)) {
                let uses = folders.entry(user[..depth].to_vec()).or_default();
                uses.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    folders
}

/// The modules that lead back to themselves.
fn in_cycles(uses: &Uses) -> Vec<&str> {
    let leads_back = |start: &&String| {
        let mut reached: BTreeSet<&String> = BTreeSet::new();
        let mut next: Vec<&String> = uses[*start].iter().collect();
        while let Some(module) = next.pop() {
            if reached.insert(module) {
                next.extend(uses.get(module).into_iter().flatten());
            }
        }
        reached.contains(start)
    };
    uses.keys().filter(leads_back).map(String::as_str).collect()
}

/// The members of each folder that are in a cycle.
fn cycles(crate_name: &str, modules: &Modules) -> Vec<String> {
    let folders = neighbours(modules);
    let errors = folders.iter().filter_map(|(folder, uses)| {
        let members = in_cycles(uses);
        let place = qualified(crate_name, folder);
        (!members.is_empty()).then(|| format!("{place}: {}", members.join(", ")))
    });
    errors.collect()
}

#[test]
fn modules_use_each_other_one_way() {
    // Method: every path in the source of every crate, except for tests.
    let crates = crates();
    let cycles: Vec<String> = crates
        .iter()
        .flat_map(|(name, modules)| cycles(name, modules))
        .collect();
    assert_eq!(cycles, [""; 0]);
    let count: usize = crates.values().map(BTreeMap::len).sum();
    assert!(count > 200, "{count} modules were read");
}

#[test]
fn a_planted_cycle_is_found() {
    // Method: a cycle of three neighbours, each with its own way to write a path; a folder and its
    // child that use each other; and uses in tests and comments.
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
    assert_eq!(cycles("planted", &modules), ["planted: one, three, two"]);
    let mut broken = modules;
    broken.insert(vec!["two".to_owned()], String::new());
    assert_eq!(cycles("planted", &broken), [""; 0]);
}
