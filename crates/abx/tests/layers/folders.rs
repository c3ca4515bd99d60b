//! A folder has so few files that they can be seen at a glance.

use std::fs;
use std::path::Path;

/// Files with Rust code in one folder, at most.
const FILES_MAX: usize = 15;

/// Folders that still have more, and how many. The numbers only shrink.
const KNOWN: &[(&str, usize)] = &[
    ("abx-evidence/src/measure", 22),
    ("abx-verdict/src/judge", 17),
    ("abx-verdict/tests/verdict/judge", 29),
];

/// The folders below this one that have more files than `FILES_MAX`, by their paths.
fn full(folder: &Path, path: &str, full_folders: &mut Vec<(String, usize)>) {
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap().path();
        let name = entry.file_name().unwrap().to_str().unwrap();
        if entry.is_dir() {
            full(&entry, &format!("{path}/{name}"), full_folders);
        } else if entry.extension().is_some_and(|ending| ending == "rs") {
            files += 1;
        }
    }
    if files > FILES_MAX {
        full_folders.push((path.to_owned(), files));
    }
}

/// What is wrong with these folders.
fn wrong(full_folders: &[(String, usize)], known: &[(&str, usize)]) -> Vec<String> {
    let limit = |path: &str| {
        let entry = known.iter().find(|(folder, _)| *folder == path);
        entry.map_or(FILES_MAX, |(_, files)| *files)
    };
    let grown = full_folders
        .iter()
        .filter(|(path, files)| *files > limit(path))
        .map(|(path, files)| format!("{path} has {files} files, at most {}", limit(path)));
    let stale = known
        .iter()
        .filter(|(known, _)| full_folders.iter().all(|(path, _)| path != known))
        .map(|(path, _)| format!("{path} is not full: take it off the list"));
    grown.chain(stale).collect()
}

#[test]
fn no_folder_has_more_files_than_can_be_seen_at_a_glance() {
    // Method: the folders of every crate, source and tests.
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut full_folders = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        full(&folder, &name, &mut full_folders);
    }
    assert_eq!(wrong(&full_folders, KNOWN), [""; 0]);
}

#[test]
fn a_full_folder_is_found() {
    // Method: one that grew beyond its number, one that shrank, one that is new, and one
    // that is on the list in vain.
    let full_folders = [("a", 18), ("b", 16), ("c", 16)].map(|(path, n)| (path.to_owned(), n));
    let known = [("a", 17), ("b", 17), ("d", 20)];
    let texts = [
        "a has 18 files, at most 17",
        "c has 16 files, at most 15",
        "d is not full: take it off the list",
    ];
    assert_eq!(wrong(&full_folders, &known), texts);
}
