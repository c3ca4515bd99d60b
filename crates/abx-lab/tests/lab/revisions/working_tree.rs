//! The working tree with its changes.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use abx_lab::revisions::RevisionError;

use super::{TestRepository, git};

#[test]
fn a_working_tree_without_changes_is_its_commit() {
    // Method: a working tree that differs only by an ignored file, and builds of tree and commit.
    let repository = TestRepository::of(&["First"]);
    repository.write(".gitignore", "*.o\n");
    repository.commit("Second");
    repository.write("a.o", "");
    let (tree, head) = (repository.resolve("."), repository.resolve("HEAD"));
    assert!(tree.is_same(&head) && !tree.is_dirty());
    assert_eq!((&*tree.name, &*tree.title), ("working tree", "Second"));
    let built = repository.build(".", &[]).unwrap();
    assert!(!repository.build("main", &[]).unwrap().is_new);
    assert!(!built.folder.join("a.o").exists());
}

#[test]
fn a_build_has_only_the_files_of_the_working_tree() {
    // Method: every kind of change that a file can have, some of them staged, also in unusual
    // names; then git's status of the build is compared with that of the tree.
    let repository = TestRepository::of(&["First"]);
    for name in ["same", "changed", "gone", "file-to-folder", "folder/file"] {
        repository.write(name, name);
    }
    repository.write(".gitignore", "*.o\n");
    symlink("same", repository.path().join("link")).unwrap();
    repository.commit("Second");
    let at = |name: &str| repository.path().join(name);
    repository.write("changed", "otherwise");
    fs::remove_file(at("gone")).unwrap();
    fs::remove_file(at("link")).unwrap();
    symlink("changed", at("link")).unwrap();
    fs::remove_file(at("file-to-folder")).unwrap();
    repository.write("file-to-folder/inside", "");
    fs::remove_dir_all(at("folder")).unwrap();
    repository.write("folder", "now a file");
    repository.write_program("new/program", "#!/bin/sh\n");
    repository.write("-option\n \"name\"", "");
    let odd = Path::new(std::ffi::OsStr::from_bytes(b"\xff")).to_owned();
    fs::write(repository.path().join(&odd), "").unwrap();
    repository.git(&["add", "new"]);
    repository.write("ignored.o", "");

    let tree = repository.resolve(".");
    assert!(tree.is_dirty());
    let built = repository.build(".", &[]).unwrap();
    let words = ["status", "--porcelain", "--untracked-files=all", "-z"];
    let unstaged = repository.git(&["reset", "--quiet"]);
    assert_eq!(unstaged, "");
    assert_eq!(git(&built.folder, &words), repository.git(&words));
    let in_build = |name: &str| built.folder.join(name);
    assert_eq!(
        fs::read_to_string(in_build("changed")).unwrap(),
        "otherwise"
    );
    assert_eq!(
        fs::read_link(in_build("link")).unwrap(),
        Path::new("changed")
    );
    assert_eq!(
        fs::read_to_string(in_build("folder")).unwrap(),
        "now a file"
    );
    let mode = fs::metadata(in_build("new/program")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o111, 0o111);
    assert!(in_build("-option\n \"name\"").exists());
    assert!(built.folder.join(odd).exists());
    assert!(!in_build("gone").exists() && !in_build("ignored.o").exists());
}

#[test]
fn every_change_has_its_own_build() {
    // Method: one change after another, each resolved; the last one is undone.
    let repository = TestRepository::of(&["First"]);
    let mut hashes = vec![repository.resolve(".").changes];
    let mut note = || hashes.push(repository.resolve(".").changes);
    repository.write("number", "1");
    note();
    repository.write("number", "2");
    note();
    repository.write("new", "");
    note();
    repository.write_program("new", "");
    note();
    let before_removal = repository.resolve(".");
    fs::remove_file(repository.path().join("number")).unwrap();
    note();
    let count = hashes.len();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), count);
    assert_eq!(hashes[0], None);
    repository.write("number", "2");
    assert!(repository.resolve(".").is_same(&before_removal));
    assert!(repository.build(".", &[]).unwrap().is_new);
    assert!(!repository.build(".", &[]).unwrap().is_new);
}

#[test]
fn a_working_tree_that_cannot_be_copied_is_refused() {
    // Method: a nested repository that is not a submodule, and a submodule with a change.
    let inner = TestRepository::of(&["Inner"]);
    let repository = TestRepository::of(&["First"]);
    let source = inner.path();
    let nested = repository.path().join("nested");
    let words = ["clone", "--quiet", source.to_str().unwrap()];
    git(
        &repository.path(),
        &[&words[..], &[nested.to_str().unwrap()]].concat(),
    );
    let opened = repository.open();
    let error = opened.resolve(".").unwrap_err();
    assert!(
        matches!(error, RevisionError::NestedRepository(_)),
        "{error}"
    );
    assert!(error.to_string().contains("nested/ in the working tree"));
    fs::remove_dir_all(nested).unwrap();
    let words = [
        "submodule",
        "--quiet",
        "add",
        source.to_str().unwrap(),
        "lib",
    ];
    repository.git(&words);
    repository.commit("Second");
    assert!(opened.resolve(".").is_ok());
    repository.write("lib/number", "changed");
    let message = opened.resolve(".").unwrap_err().to_string();
    assert!(message.contains("submodule lib"), "{message}");
}
