//! Revisions of repositories that the tests make.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

mod builds;
mod cached;
mod found;
mod hostile;
mod parents;
mod working_tree;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use abx_lab::revisions::{BuildCache, Builder, Built, Repository, Revision, RevisionError};
use tempfile::TempDir;

/// A repository, and a cache for its builds.
pub struct TestRepository {
    folder: TempDir,
}

/// Runs git as a user would, without this machine's settings.
pub fn git(folder: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "protocol.file.allow=always", "-C"])
        .arg(folder)
        .args(words)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05+01:00")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {words:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

impl TestRepository {
    /// A repository without commits.
    pub fn empty() -> TestRepository {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("code")).unwrap();
        let repository = TestRepository { folder };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.git(&["config", "user.name", "A. Person"]);
        repository.git(&["config", "user.email", "person@example.org"]);
        repository
    }

    /// A repository with these commits, each of which writes its number into the file `number`.
    pub fn of(titles: &[&str]) -> TestRepository {
        let repository = TestRepository::empty();
        for (number, title) in titles.iter().enumerate() {
            repository.write("number", &format!("{number}\n"));
            repository.commit(title);
        }
        repository
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("code")
    }

    /// A place outside of the repository.
    pub fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn git(&self, words: &[&str]) -> String {
        git(&self.path(), words)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn write_program(&self, name: &str, text: &str) {
        self.write(name, text);
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path().join(name), mode).unwrap();
    }

    /// Commits everything, and returns the hash of the commit.
    pub fn commit(&self, title: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", title]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub fn open(&self) -> Repository {
        Repository::open(&self.path()).unwrap()
    }

    pub fn resolve(&self, text: &str) -> Revision {
        self.open().resolve(text).unwrap()
    }

    pub fn cache(&self) -> BuildCache {
        BuildCache::at(&self.outside("builds"))
    }

    /// Builds a revision by these commands.
    pub fn build(&self, revision: &str, commands: &[&str]) -> Result<Built, RevisionError> {
        let repository = self.open();
        let commands: Vec<String> = commands.iter().map(|&text| text.to_owned()).collect();
        let builder = Builder::new(&repository, &commands, self.cache())?;
        builder.build(&repository.resolve(revision)?, &mut |_| {})
    }
}

/// The folders of builds in a cache, without logs and locks.
pub fn build_folders(cache: &BuildCache) -> Vec<PathBuf> {
    let entries = fs::read_dir(cache.folder()).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_dir()).collect()
}
