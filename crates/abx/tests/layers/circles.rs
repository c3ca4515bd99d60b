//! Modules inside a crate use each other one way too. A folder and its children may
//! use each other; no two neighbours, folders or files, may, by whatever way around.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The modules of a crate, as paths such as `["stats", "usl"]`, with their text.
type Modules = BTreeMap<Vec<String>, String>;

/// Which neighbours each module uses, itself or by one of its children.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Reads a source folder and all below it.
fn read(folder: &Path, path: &[String], modules: &mut Modules) {
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut own = path.to_vec();
        let is_the_folder = ["mod", "lib", "main"].contains(&name.as_str());
        if file.is_dir() || !is_the_folder {
            own.push(name);
        }
        if file.is_dir() {
            read(&file, &own, modules);
        } else if file.extension().is_some_and(|ending| ending == "rs") {
            modules.insert(own, fs::read_to_string(&file).unwrap());
        }
    }
}

/// The code of a module: without comments, and without the tests at its end.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join(" ")
}

/// Every path in code that begins at the crate or above the module. Groups in
/// braces are taken apart.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (place, _) in code.match_indices(start) {
            let before = code[..place].chars().next_back();
            let is_whole =
                before.is_none_or(|one| !one.is_alphanumeric() && one != '_' && one != ':');
            if is_whole {
                take(
                    &mut code[place..].chars().peekable(),
                    &mut Vec::new(),
                    &mut found,
                );
            }
        }
    }
    found
}

/// Takes one path, or all of a group, off the front of the text.
fn take(
    text: &mut std::iter::Peekable<std::str::Chars>,
    before: &mut Vec<String>,
    found: &mut Vec<Vec<String>>,
) {
    let known = before.len();
    loop {
        while text.next_if(|one| one.is_whitespace()).is_some() {}
        if text.next_if_eq(&'{').is_some() {
            while !matches!(text.peek(), None | Some('}')) {
                take(text, before, found);
                // What a name in a group may be called here is no path.
                while text
                    .next_if(|one| !matches!(one, ',' | '}' | '{'))
                    .is_some()
                {}
                text.next_if_eq(&',');
                while text.next_if(|one| one.is_whitespace()).is_some() {}
            }
            text.next();
            break;
        }
        let mut word = String::new();
        while let Some(one) = text.next_if(|one| one.is_alphanumeric() || *one == '_') {
            word.push(one);
        }
        if !word.is_empty() {
            before.push(word);
        }
        let goes_on = text.next_if_eq(&':').is_some() && text.next_if_eq(&':').is_some();
        if !goes_on {
            found.push(before.clone());
            break;
        }
    }
    before.truncate(known);
}

/// The module that a path leads to from the module `own`: the longest part that is one.
fn target(path: &[String], own: &[String], modules: &Modules) -> Vec<String> {
    let mut base: &[String] = if path[0] == "crate" { &[] } else { own };
    let mut rest = path;
    while let Some(step) = rest.first() {
        match step.as_str() {
            "crate" => {}
            "super" => base = &base[..base.len().saturating_sub(1)],
            _ => break,
        }
        rest = &rest[1..];
    }
    let mut whole = [base, rest].concat();
    while !modules.contains_key(&whole) && !whole.is_empty() {
        whole.pop();
    }
    whole
}

/// Who uses whom among the children of each folder.
fn neighbours(modules: &Modules) -> BTreeMap<Vec<String>, Uses> {
    let mut all: BTreeMap<Vec<String>, Uses> = BTreeMap::new();
    for (own, text) in modules {
        for path in paths(&code(text)) {
            let other = target(&path, own, modules);
            let same = own.iter().zip(&other).take_while(|(one, two)| one == two);
            let depth = same.count();
            if let (Some(from), Some(to)) = (own.get(depth), other.get(depth)) {
                let uses = all.entry(own[..depth].to_vec()).or_default();
                uses.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    all
}

/// The modules that lead back to themselves.
fn in_circles(uses: &Uses) -> Vec<&str> {
    let leads_back = |start: &&String| {
        let mut reached: BTreeSet<&String> = BTreeSet::new();
        let mut next: Vec<&String> = uses[*start].iter().collect();
        while let Some(one) = next.pop() {
            if reached.insert(one) {
                next.extend(uses.get(one).into_iter().flatten());
            }
        }
        reached.contains(start)
    };
    uses.keys().filter(leads_back).map(String::as_str).collect()
}

/// What is wrong with these modules: the neighbours of a folder that are in circles.
fn circles(name: &str, modules: &Modules) -> Vec<String> {
    let all = neighbours(modules);
    let each = all.iter().filter_map(|(folder, uses)| {
        let knot = in_circles(uses);
        let place = [&[name.to_owned()], &folder[..]].concat().join("::");
        (!knot.is_empty()).then(|| format!("{place}: {}", knot.join(", ")))
    });
    each.collect()
}

#[test]
fn modules_use_each_other_one_way() {
    // Method: every path in the source of every crate, but for tests.
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    let mut seen = 0;
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let mut modules = Modules::new();
        read(&folder.join("src"), &[], &mut modules);
        seen += modules.len();
        found.extend(circles(&name, &modules));
    }
    assert_eq!(found, [""; 0]);
    assert!(seen > 200, "{seen} modules were read");
}

#[test]
fn a_planted_circle_is_found() {
    // Method: three neighbours in a circle, each by another way to write a path; a
    // folder and its child that use each other; and what tests and comments use.
    let module = |path: &str, text: &str| {
        let names = path.split("::").filter(|name| !name.is_empty());
        (
            names.map(str::to_owned).collect::<Vec<_>>(),
            text.to_owned(),
        )
    };
    let modules: Modules = [
        module("", "pub use one::One;"),
        module(
            "one",
            "use std::fmt;\nuse crate::{\n    two::{Two, three as four},\n};",
        ),
        module("two", "fn f() { crate::three::inner::g(); }"),
        module("two::three", ""),
        module("three", "use inner::g;\nmod inner;"),
        module(
            "three::inner",
            "use super::super::one::One;\nuse super::Three;",
        ),
        module(
            "free",
            "// use crate::one;\n#[cfg(test)]\nmod tests {\n    use crate::one;\n}",
        ),
    ]
    .into();
    assert_eq!(circles("planted", &modules), ["planted: one, three, two"]);
    let mut broken = modules;
    broken.insert(vec!["two".to_owned()], String::new());
    assert_eq!(circles("planted", &broken), [""; 0]);
}
