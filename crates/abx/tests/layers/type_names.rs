//! A type's name has one meaning. Two types that are visible outside their files have different
//! names, even in different crates, unless they stand for the same idea.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Names that are used twice on purpose.
const SAME_IDEA: &[&str] = &[
    // HTTP and WebSocket each have these, and users write `http1::Client`.
    "Client",
    "Event",
    "Fault",
    "Server",
    // A message on the wire, and a message as records describe it.
    "Message",
    "MessageKind",
    // The kernel's data about the machine, and the part that records keep.
    "Machine",
    "Pressure",
    "Quota",
    // With agents, and in a build without them.
    "FleetFlags",
];

/// The names of the visible types in code, without the tests at its end.
fn visible_types(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    code.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("pub")?;
        let rest = match rest.strip_prefix('(') {
            Some(scope) => scope.split_once(')')?.1,
            None => rest,
        };
        let mut words = rest.split_whitespace().skip_while(|word| *word == "unsafe");
        let kind = words.next()?;
        let name = words.next()?;
        if !["struct", "enum", "union", "trait", "type"].contains(&kind) {
            return None;
        }
        name.split(|character: char| !character.is_alphanumeric())
            .next()
            .filter(|name| !name.is_empty())
    })
}

/// The errors in the names in these files.
fn errors(files: &BTreeMap<PathBuf, String>, same_idea: &[&str]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, text) in files {
        for name in visible_types(text) {
            let paths = places.entry(name).or_default();
            paths.push(path.display().to_string());
        }
    }
    let is_repeated = |name: &str| places.get(name).is_some_and(|paths| paths.len() > 1);
    let repeated = places
        .iter()
        .filter(|(name, _)| is_repeated(name) && !same_idea.contains(name))
        .map(|(name, paths)| format!("{name} stands in {}", paths.join(" and ")));
    let stale = same_idea.iter().filter(|name| !is_repeated(name));
    repeated
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
    // Method: every struct, enum, union, trait and alias in the source of every crate that is
    // `pub`, however restricted.
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(crates).unwrap() {
        read(&entry.unwrap().path().join("src"), &mut files);
    }
    assert_eq!(errors(&files, SAME_IDEA), [""; 0]);
    let count: usize = files.values().map(|text| visible_types(text).count()).sum();
    assert!(count > 500, "{count} types were read");
}

#[test]
fn a_type_name_that_is_used_twice_is_found() {
    // Method: two invented files with each kind of type in each visibility, private types, types of
    // tests, and a list with one name too many.
    let first =
        "pub struct A<T>(T);\npub(crate) enum B {\n}\nstruct C;\npub fn d() {}\npub struct E;";
    let second = "pub(in crate::x) trait A: X {}\npub(super) type B = u8;\npub struct C;\n\
                  pub fn d() {}\npub union E {\n}\n\
                  #[cfg(test)]\nmod tests {\n    pub struct F;\n    pub struct C;\n}";
    let files = [("one.rs", first), ("two.rs", second)]
        .map(|(path, text)| (PathBuf::from(path), text.to_owned()))
        .into();
    let expected = [
        "A stands in one.rs and two.rs",
        "B stands in one.rs and two.rs",
        "F stands once: take it off the list",
    ];
    assert_eq!(errors(&files, &["E", "F"]), expected);
}
