//! A type's name has one meaning: two types that are seen outside of their file have two names, in
//! whichever crates they are, unless they are the same idea.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Names that stand twice on purpose.
const SAME_IDEA: &[&str] = &[
    // HTTP and WebSocket each have these, and users write `http1::Client`.
    "Client",
    "Event",
    "Fault",
    "Server",
    // A message on the wire, and a message as records describe it.
    "Message",
    "MessageKind",
    // The kernel's data about the machine, and the part of it that records keep.
    "Machine",
    "Pressure",
    "Quota",
    // With agents, and in a build without them.
    "FleetFlags",
];

/// The names of the types that code lets others see, without the tests at its end.
fn visible_types(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    code.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("pub")?;
        let rest = match rest.strip_prefix('(') {
            Some(degree) => degree.split_once(')')?.1,
            None => rest,
        };
        let mut words = rest.split_whitespace().skip_while(|word| *word == "unsafe");
        let kind = words.next()?;
        let name = words.next()?;
        ["struct", "enum", "union", "trait", "type"]
            .contains(&kind)
            .then(|| {
                name.split(|character: char| !character.is_alphanumeric())
                    .next()
            })?
            .filter(|name| !name.is_empty())
    })
}

/// The errors in the names in these files.
fn wrong(files: &BTreeMap<PathBuf, String>, same_idea: &[&str]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, text) in files {
        for name in visible_types(text) {
            let texts = places.entry(name).or_default();
            texts.push(path.display().to_string());
        }
    }
    let twice = |name: &str| places.get(name).is_some_and(|texts| texts.len() > 1);
    let result = places
        .iter()
        .filter(|(name, _)| twice(name) && !same_idea.contains(name))
        .map(|(name, texts)| format!("{name} stands in {}", texts.join(" and ")));
    let stale = same_idea.iter().filter(|name| !twice(name));
    result
        .chain(stale.map(|name| format!("{name} stands once: take it off the list")))
        .collect()
}

/// Reads a source folder and all below it.
fn read(folder: &Path, files: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            files.insert(path, text);
        }
    }
}

#[test]
fn a_type_name_has_one_meaning() {
    // Method: every struct, enum, union, trait and alias in the source of every crate
    // that is `pub` in any degree.
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(crates).unwrap() {
        read(&entry.unwrap().path().join("src"), &mut files);
    }
    assert_eq!(wrong(&files, SAME_IDEA), [""; 0]);
    let seen: usize = files.values().map(|text| visible_types(text).count()).sum();
    assert!(seen > 500, "{seen} types were read");
}

#[test]
fn a_type_name_that_is_used_twice_is_found() {
    // Method: two invented files with each kind of type in each degree of visibility,
    // with private types, types of tests, and a list with a name too many.
    let this_text =
        "pub struct A<T>(T);\npub(crate) enum B {\n}\nstruct C;\npub fn d() {}\npub struct E;";
    let two = "pub(in crate::x) trait A: X {}\npub(super) type B = u8;\npub struct C;\npub fn d() {}\n\
               pub union E {\n}\n#[cfg(test)]\nmod tests {\n    pub struct F;\n    pub struct C;\n}";
    let files = [("one.rs", this_text), ("two.rs", two)]
        .map(|(path, text)| (PathBuf::from(path), text.to_owned()))
        .into();
    let texts = [
        "A stands in one.rs and two.rs",
        "B stands in one.rs and two.rs",
        "F stands once: take it off the list",
    ];
    assert_eq!(wrong(&files, &["E", "F"]), texts);
}
