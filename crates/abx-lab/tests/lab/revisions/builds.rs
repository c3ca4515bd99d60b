//! Each revision is built once, completely or not at all.

use std::fs;
use std::path::Path;
use std::time::Duration;

use abx_lab::Launch;
use abx_lab::revisions::{Builder, RevisionError};

use super::{TestRepository, build_folders};

/// A command that logs each of its runs in a file outside of the repository.
fn noting(notes: &Path) -> String {
    format!(
        "sh -c 'cat number >> \"{}\"; cp number out'",
        notes.display()
    )
}

#[test]
fn each_commit_is_built_once_by_the_same_commands() {
    // Method: a command that logs its runs; the same commit by another name, another revision,
    // another command, and another copy.
    let repository = TestRepository::of(&["First", "Second"]);
    repository.git(&["tag", "v1", "HEAD~1"]);
    let notes = repository.outside("notes");
    let command = noting(&notes);
    let first = repository.build("v1", &[&command]).unwrap();
    assert!(first.is_new);
    assert_eq!(fs::read_to_string(first.folder.join("out")).unwrap(), "0\n");
    assert!(fs::read_to_string(&first.log).unwrap().contains("$ sh -c"));
    let again = repository.build("main~1", &[&command]).unwrap();
    assert!(!again.is_new);
    assert_eq!(again.folder, first.folder);
    assert!(repository.build("main", &[&command]).unwrap().is_new);
    assert_eq!(fs::read_to_string(&notes).unwrap(), "0\n1\n");
    assert!(repository.build("v1", &[&command, "true"]).unwrap().is_new);
    let opened = repository.open();
    let builder = Builder::new(&opened, &[command], repository.cache()).unwrap();
    let copy = builder.build_copy(&first.revision, 1, &mut |_| {}).unwrap();
    assert!(copy.is_new && copy.folder != first.folder);
}

#[test]
fn commands_run_in_the_opened_folder_and_know_their_commit() {
    // Method: a repository that is opened at a folder inside, with a command that queries git for
    // its commit; and a revision that lacks this folder.
    let repository = TestRepository::of(&["First"]);
    repository.write("server/main.c", "");
    let commit = repository.commit("Second");
    let opened = abx_lab::revisions::Repository::open(&repository.path().join("server")).unwrap();
    let command = "sh -c 'git rev-parse HEAD > head; git describe --all > name; pwd'".to_owned();
    let builder = Builder::new(&opened, &[command], repository.cache()).unwrap();
    let build = |text: &str| builder.build(&opened.resolve(text).unwrap(), &mut |_| {});
    let built = build("main").unwrap();
    assert!(built.folder.ends_with("source/server"));
    assert!(built.folder.join("main.c").exists());
    let head = fs::read_to_string(built.folder.join("head")).unwrap();
    assert_eq!(head.trim(), commit);
    let message = build("HEAD~1").unwrap_err().to_string();
    assert!(message.contains("has no folder server"), "{message}");
}

#[test]
fn a_failed_build_shows_its_last_lines_and_leaves_no_build() {
    // Method: a command that prints 30 lines and fails; then the same build succeeds.
    let repository = TestRepository::of(&["First"]);
    let marker = repository.outside("marker");
    let command = format!("sh -c 'seq 100 129; test -e {}'", marker.display());
    let error = repository.build("main", &[&command]).unwrap_err();
    let RevisionError::Build(failed) = &error else {
        panic!("{error}");
    };
    let lines: Vec<&str> = failed.output.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[19]), (20, "110", "129"));
    assert!(fs::read_to_string(&failed.log).unwrap().contains("\n100\n"));
    let message = error.to_string();
    for part in [
        "main (",
        "sh -c",
        "exit status: 1",
        "\n129\n",
        "All of its output: /",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(build_folders(&repository.cache()).is_empty());
    fs::write(marker, "").unwrap();
    assert!(repository.build("main", &[&command]).unwrap().is_new);
}

#[test]
fn a_build_that_takes_too_long_is_ended() {
    // Method: a command that sleeps, and may take no time at all.
    let repository = TestRepository::of(&["First"]);
    let opened = repository.open();
    let commands = ["sleep 600".to_owned()];
    let builder = Builder::new(&opened, &commands, repository.cache()).unwrap();
    let builder = builder.within(Duration::ZERO);
    let result = builder.build(&repository.resolve("main"), &mut |_| {});
    let message = result.unwrap_err().to_string();
    assert!(message.contains("too long"), "{message}");
    assert!(message.contains("--build-within"), "{message}");
    assert!(build_folders(&repository.cache()).is_empty());
}

#[test]
fn a_program_that_is_missing_in_the_build_is_named() {
    // Method: a server command whose program exists, and one whose program does not; and a build
    // command without its program.
    let repository = TestRepository::of(&["First"]);
    repository.write_program("server", "#!/bin/sh\n");
    repository.commit("Second");
    let built = repository.build("main", &[]).unwrap();
    let launch = |program: &str| {
        let words = [program, "--port", "{port}"].map(str::to_owned);
        built.launch(Launch::new(words.to_vec()))
    };
    let started = launch("./server").unwrap();
    assert_eq!(started.start_folder(), built.folder);
    let message = launch("./other").unwrap_err().to_string();
    assert!(message.contains("no program `./other`"), "{message}");
    assert!(message.contains("--build"), "{message}");
    let error = repository.build("main", &["abx-has-no-such-program x"]);
    let message = error.unwrap_err().to_string();
    assert!(
        message.contains("`abx-has-no-such-program` is not on PATH"),
        "{message}"
    );
}

#[test]
fn an_incomplete_build_is_made_again() {
    // Method: the mark of a complete build is removed, as if abx had been killed before.
    let repository = TestRepository::of(&["First"]);
    let notes = repository.outside("notes");
    let command = noting(&notes);
    let folder = repository.build("main", &[&command]).unwrap().folder;
    fs::remove_file(folder.join("../.abx-complete")).unwrap();
    fs::write(folder.join("left-over"), "").unwrap();
    let again = repository.build("main", &[&command]).unwrap();
    assert!(again.is_new && again.folder == folder);
    assert!(!folder.join("left-over").exists());
    assert_eq!(fs::read_to_string(&notes).unwrap(), "0\n0\n");
}

#[test]
fn simultaneous_builds_of_a_revision_run_only_once() {
    // Method: four threads, each with its own locks, as in four programs.
    let repository = TestRepository::of(&["First"]);
    let notes = repository.outside("notes");
    let command = noting(&notes);
    let new = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| repository.build("main", &[&command]).unwrap().is_new))
            .collect();
        let results = threads.into_iter().map(|thread| thread.join().unwrap());
        results.filter(|new| *new).count()
    });
    assert_eq!(new, 1);
    assert_eq!(fs::read_to_string(&notes).unwrap(), "0\n");
}

#[test]
fn a_commit_without_a_branch_is_built_from_a_shallow_clone_too() {
    // Method: a shallow clone with its own commit, which its branch then no longer contains.
    let repository = TestRepository::of(&["First", "Second"]);
    let shallow = TestRepository::empty();
    let source = format!("file://{}", repository.path().display());
    shallow.git(&["fetch", "--quiet", "--depth=1", &source, "main"]);
    shallow.git(&["reset", "--quiet", "--hard", "FETCH_HEAD"]);
    shallow.write("number", "left\n");
    let left = shallow.commit("Left");
    shallow.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let built = shallow.build(&left, &[]).unwrap();
    assert_eq!(
        fs::read_to_string(built.folder.join("number")).unwrap(),
        "left\n"
    );
}
