//! A folder has so few files that they can be seen at a glance.

use std::fs;
use std::path::Path;

/// Files with Rust code in one folder, at most.
const FILES_MAX: usize = 15;

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

/// The errors in these folders.
fn wrong(full_folders: &[(String, usize)]) -> Vec<String> {
    full_folders
        .iter()
        .map(|(path, files)| format!("{path} has {files} files, at most {FILES_MAX}"))
        .collect()
}

#[test]
fn no_folder_has_too_many_files() {
    // Method: the folders of every crate, source and tests.
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut full_folders = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        full(&folder, &name, &mut full_folders);
    }
    assert_eq!(wrong(&full_folders), [""; 0]);
}

#[test]
fn a_full_folder_is_found() {
    // Method: a folder with a file more than the limit below one with as many as it, and files
    // in another language.
    let root = tempfile::tempdir().unwrap();
    let fill = |folder: &str, ending: &str, files: usize| {
        let folder = root.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        for number in 0..files {
            fs::write(folder.join(format!("{number}.{ending}")), "").unwrap();
        }
    };
    fill("a", "rs", FILES_MAX);
    fill("a", "txt", 1);
    fill("a/b", "rs", FILES_MAX + 1);
    let mut full_folders = Vec::new();
    full(root.path(), "crate", &mut full_folders);
    assert_eq!(wrong(&full_folders), ["crate/a/b has 16 files, at most 15"]);
}
