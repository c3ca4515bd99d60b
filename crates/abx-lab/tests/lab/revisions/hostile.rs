//! Reading and checking out a repository runs none of its programs, and changes nothing in it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{TestRepository, git};

/// Every file below a folder with its content and its time.
fn snapshot(folder: &Path) -> Vec<(PathBuf, Vec<u8>, i64)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            if metadata.is_dir() {
                folders.push(path);
            } else {
                let content = fs::read(&path).unwrap_or_default();
                files.push((path, content, metadata.mtime_nsec()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn neither_hooks_nor_filters_run_and_the_repository_stays_unchanged() {
    // Method: a repository whose settings make every hook, filter and monitor leave a trace; its
    // files before and after builds of two commits and of the working tree.
    let repository = TestRepository::of(&["First", "Second"]);
    let trace = repository.outside("trace");
    let script = format!("#!/bin/sh\ntouch '{}'\ncat\n", trace.display());
    for hook in [
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "pre-auto-gc",
        "fsmonitor",
    ] {
        repository.write_program(&format!(".git/hooks/{hook}"), &script);
    }
    let hook = |name: &str| repository.path().join(".git/hooks").join(name);
    repository.write(".gitattributes", "* filter=acts\n");
    repository.git(&["add", "--all"]);
    repository.commit("Third");
    fs::remove_file(&trace).unwrap();
    let monitor = hook("fsmonitor");
    repository.git(&["config", "core.fsmonitor", monitor.to_str().unwrap()]);
    repository.git(&["config", "filter.acts.smudge", monitor.to_str().unwrap()]);
    repository.git(&["config", "filter.acts.process", monitor.to_str().unwrap()]);
    repository.write("new", "new");

    let before = snapshot(&repository.path());
    let mut built = repository.build("HEAD~1", &[]).unwrap();
    assert_eq!(
        fs::read_to_string(built.folder.join("number")).unwrap(),
        "1\n"
    );
    built = repository.build("main", &[]).unwrap();
    assert!(built.folder.join(".gitattributes").exists());
    built = repository.build(".", &[]).unwrap();
    assert!(built.folder.join("new").exists());
    assert!(!trace.exists());
    assert_eq!(snapshot(&repository.path()), before);

    // Later checkouts by the commands of the build do not run the user's hooks either.
    git(&built.folder, &["checkout", "--quiet", "--force", "HEAD~1"]);
    assert!(!trace.exists());
}

#[test]
fn submodules_are_fetched_by_a_step_of_the_build_or_refused() {
    // Method: a submodule whose address is relative to the repository's, as on forges; a build
    // without and with the step that fetches it.
    let repository = TestRepository::of(&["First"]);
    let library = TestRepository::of(&["Library"]);
    let address = repository.outside("library");
    fs::rename(library.path(), &address).unwrap();
    let origin = repository.outside("origin");
    repository.git(&["remote", "add", "origin", origin.to_str().unwrap()]);
    repository.git(&["submodule", "--quiet", "add", "../library", "lib"]);
    repository.commit("Use the library");
    let message = repository.build("main", &[]).unwrap_err().to_string();
    assert!(message.contains("has submodules (lib)"), "{message}");
    assert!(
        message.contains("--build 'git submodule update"),
        "{message}"
    );
    let fetch = "git -c protocol.file.allow=always submodule update --init";
    let fetch = format!("sh -c '# git submodule\n{fetch}'");
    let built = repository.build("main", &[&fetch]).unwrap();
    assert!(built.folder.join("lib/number").exists());
}

#[test]
fn pointers_of_large_files_are_refused_unless_a_step_fetches_them() {
    // Method: a pointer as Git LFS commits it, and the same attribute on a plain file.
    let repository = TestRepository::of(&["First"]);
    repository.write(
        ".gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    );
    repository.write("plain.bin", "not a pointer");
    repository.commit("Plain");
    assert!(repository.build("main", &[]).is_ok());
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
    repository.write("large.bin", pointer);
    repository.commit("Large");
    let message = repository.build("main", &[]).unwrap_err().to_string();
    assert!(message.contains("Git LFS (large.bin)"), "{message}");
    assert!(message.contains("--build 'git lfs pull'"), "{message}");
    assert!(repository.build("main", &["echo git lfs pull"]).is_ok());
}
