//! A folder has few enough files to be seen at a glance.

use std::fs;
use std::path::Path;

/// Files with Rust code in one folder, at most.
const FILES_MAX: usize = 15;

/// Collects this folder and all below it that have more than `FILES_MAX` files, with the count.
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

fn errors(full_folders: &[(String, usize)]) -> Vec<String> {
    full_folders
        .iter()
        .map(|(path, files)| format!("{path} has {files} files, at most {FILES_MAX}"))
        .collect()
}

#[test]
fn no_folder_has_too_many_files() {
    // Method: the folders of every crate, sources and tests.
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut full_folders = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        full(&folder, &name, &mut full_folders);
    }
    assert_eq!(errors(&full_folders), [""; 0]);
}

#[test]
fn a_full_folder_is_found() {
    // Method: a folder at the limit, which has a file in another language too, and below it a
    // folder with one file too many.
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
    assert_eq!(
        errors(&full_folders),
        ["crate/a/b has 16 files, at most 15"]
    );
}
