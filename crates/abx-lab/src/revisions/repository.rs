//! A repository of the user, in which abx finds revisions and changes nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::changes::Changes;
use super::git::Git;
use super::revision::{Revision, WORKING_TREE};
use super::revision_error::RevisionError;
use crate::process::log_tail::harmless;

/// A git repository.
#[derive(Debug, Clone)]
pub struct Repository {
    git: Git,
    /// The folder of git itself, such as `.git`, which working trees share.
    store: PathBuf,
    /// The top of the working tree; `None` for a bare repository.
    top: Option<PathBuf>,
    /// The folder at which the repository was opened, relative to the top.
    prefix: PathBuf,
}

impl Repository {
    /// The repository that a folder is in.
    ///
    /// # Errors
    /// [`RevisionError::NotARepository`], also if git does not trust the folder's owner.
    pub fn open(folder: &Path) -> Result<Repository, RevisionError> {
        let git = Git::at(folder);
        let inside = git.call(&["rev-parse", "--is-inside-work-tree"])?;
        if !inside.is_success {
            return Err(RevisionError::NotARepository {
                folder: std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()),
                message: inside.message,
            });
        }
        let path = |option: &str| git.path(&["rev-parse", "--path-format=absolute", option]);
        let store = path("--git-common-dir")?;
        // An older git prints the option, too.
        if !store.is_absolute() {
            return Err(RevisionError::OldGit);
        }
        let is_inside = inside.bytes.starts_with(b"true");
        let top = is_inside.then(|| path("--show-toplevel")).transpose()?;
        let prefix = match top {
            // Git ends it with a slash.
            Some(_) => git
                .path(&["rev-parse", "--show-prefix"])?
                .components()
                .collect(),
            None => PathBuf::new(),
        };
        let root = top.as_deref().unwrap_or(&store);
        Ok(Repository {
            git: git.moved(root),
            store,
            top,
            prefix,
        })
    }

    /// The top of its working tree, or the repository itself if it has none.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.top.as_deref().unwrap_or(&self.store)
    }

    /// The folder in which builds run and servers start, relative to the top.
    pub(super) fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// Where its objects and branches are.
    pub(super) fn store(&self) -> &Path {
        &self.store
    }

    pub(super) fn git(&self) -> &Git {
        &self.git
    }

    /// The revision that a text names: a branch, a tag, a hash, any expression of git's for a
    /// commit, such as `HEAD~3`, `A...B` for the merge base of two (`HEAD` for an omitted one),
    /// or `.` for the working tree with its changes.
    ///
    /// # Errors
    /// [`RevisionError`] if the text names no commit, or the working tree cannot be copied.
    pub fn resolve(&self, text: &str) -> Result<Revision, RevisionError> {
        if text == "." {
            return self.working_tree();
        }
        check(text)?;
        let commit = match text.split_once("...") {
            Some((first, second)) => self.merge_base(or_head(first), or_head(second))?,
            None => self.commit(text)?,
        };
        let mut revisions = self.described(&["-n1", &commit])?;
        let revision = revisions.pop().ok_or_else(|| self.unknown(text))?;
        Ok(Revision {
            name: text.to_owned(),
            ..revision
        })
    }

    /// The commits after `good` up to `bad`, oldest first. With `first_parent`, commits of
    /// merged branches are left out.
    ///
    /// # Errors
    /// [`RevisionError::NotAnAncestor`] if `bad` does not descend from `good`.
    pub fn between(
        &self,
        good: &Revision,
        bad: &Revision,
        first_parent: bool,
    ) -> Result<Vec<Revision>, RevisionError> {
        let is_ancestor = ["merge-base", "--is-ancestor", &good.commit, &bad.commit];
        if good.is_dirty() || !self.git.call(&is_ancestor)?.is_success {
            return Err(RevisionError::NotAnAncestor {
                good: good.to_string(),
                bad: bad.to_string(),
                good_name: good.name.clone(),
                bad_name: bad.name.clone(),
            });
        }
        let range = format!("{}..{}", good.commit, bad.commit);
        let mut words = vec!["--reverse", "--topo-order", &range];
        if first_parent {
            words.insert(0, "--first-parent");
        }
        let mut revisions = self.described(&words)?;
        if bad.is_dirty() {
            revisions.push(bad.clone());
        }
        Ok(revisions)
    }

    /// The first parent of a commit, `None` for a root commit. The parent of a working tree with
    /// changes is its commit.
    ///
    /// # Errors
    /// [`RevisionError::NoParent`] if a shallow clone lacks it.
    pub fn parent(&self, revision: &Revision) -> Result<Option<Revision>, RevisionError> {
        if revision.is_dirty() {
            return Ok(self.described(&["-n1", &revision.commit])?.pop());
        }
        let parent = self.hash(&format!("{}^1", revision.commit))?;
        match parent {
            Some(parent) => Ok(self.described(&["-n1", &parent])?.pop()),
            None if self.is_shallow()? => Err(RevisionError::NoParent(revision.to_string())),
            None => Ok(None),
        }
    }

    /// The working tree as a revision. Without changes, it is the same as its commit.
    fn working_tree(&self) -> Result<Revision, RevisionError> {
        let top = self.working_tree_folder()?;
        let head = self.hash("HEAD")?;
        let head = head.ok_or_else(|| RevisionError::NoCommit(self.root().to_owned()))?;
        let changes = Changes::of(&self.git)?.digest(top)?;
        let mut revisions = self.described(&["-n1", &head])?;
        let revision = revisions.pop().ok_or_else(|| self.unknown("HEAD"))?;
        Ok(Revision {
            name: WORKING_TREE.to_owned(),
            changes,
            ..revision
        })
    }

    /// The top of the working tree.
    pub(super) fn working_tree_folder(&self) -> Result<&Path, RevisionError> {
        let top = self.top.as_deref();
        top.ok_or_else(|| RevisionError::NoWorkingTree(self.store.clone()))
    }

    fn merge_base(&self, first: &str, second: &str) -> Result<String, RevisionError> {
        let commits = [self.commit(first)?, self.commit(second)?];
        let output = self.git.call(&["merge-base", &commits[0], &commits[1]])?;
        let text = String::from_utf8_lossy(&output.bytes);
        match text.lines().next() {
            Some(hash) if output.is_success => Ok(hash.to_owned()),
            _ => Err(RevisionError::NoMergeBase {
                first: first.to_owned(),
                second: second.to_owned(),
            }),
        }
    }

    /// The hash of the commit that a text names.
    fn commit(&self, text: &str) -> Result<String, RevisionError> {
        check(text)?;
        let Some(object) = self.hash(text)? else {
            return Err(if text == "HEAD" {
                RevisionError::NoCommit(self.root().to_owned())
            } else {
                self.unknown(text)
            });
        };
        // The suffix follows the hash: in a text such as `:/words` it would be one of the words.
        if let Some(commit) = self.hash(&format!("{object}^{{commit}}"))? {
            return Ok(commit);
        }
        let is_there = self.git.call(&["cat-file", "-e", &object])?.is_success;
        if is_there {
            let name = text.to_owned();
            return Err(RevisionError::NotACommit { name });
        }
        Err(self.unknown(text))
    }

    /// The hash of the object that a text names, if it names exactly one.
    fn hash(&self, text: &str) -> Result<Option<String>, RevisionError> {
        let words = ["rev-parse", "--verify", "--quiet", "--end-of-options", text];
        let output = self.git.call(&words)?;
        Ok(hash_in(&output.bytes).filter(|_| output.is_success))
    }

    fn unknown(&self, name: &str) -> RevisionError {
        RevisionError::Unknown {
            name: name.to_owned(),
            repository: self.root().to_owned(),
            is_shallow: self.is_shallow().unwrap_or(false),
        }
    }

    fn is_shallow(&self) -> Result<bool, RevisionError> {
        let line = self.git.line(&["rev-parse", "--is-shallow-repository"])?;
        Ok(line == "true")
    }

    /// The commits that `git rev-list` prints for these words, named by their short hashes.
    fn described(&self, words: &[&str]) -> Result<Vec<Revision>, RevisionError> {
        let format = ["rev-list", "--format=%H%x00%aI%x00%s"];
        let words: Vec<&str> = format.iter().chain(words).copied().chain(["--"]).collect();
        Ok(revisions_in(&self.git.read(&words)?))
    }

    /// The address of its first remote, as a fresh clone would have it.
    pub(super) fn origin(&self) -> Result<Option<OsString>, RevisionError> {
        let words = ["config", "--get", "remote.origin.url"];
        let output = self.git.call(&words)?;
        if !output.is_success {
            return Ok(None);
        }
        let url = String::from_utf8_lossy(&output.bytes).trim_end().to_owned();
        if url.starts_with("./") || url.starts_with("../") {
            return Ok(Some(self.root().join(url).into_os_string()));
        }
        Ok(Some(OsString::from(url)))
    }
}

fn or_head(text: &str) -> &str {
    if text.is_empty() { "HEAD" } else { text }
}

/// Refuses texts that git would not take for a revision.
fn check(text: &str) -> Result<(), RevisionError> {
    let why = if text.is_empty() {
        "is empty: give a branch, a tag or a hash"
    } else if text.starts_with('-') {
        "begins with `-`, as options do: give a branch, a tag or a hash"
    } else if text.chars().any(char::is_control) {
        "has a line break or another control character: give a branch, a tag or a hash"
    } else if text.contains("..") && !text.contains("...") {
        "is a range: give its two ends separately"
    } else {
        return Ok(());
    };
    let name = text.to_owned();
    Err(RevisionError::Name { name, why })
}

/// The hash that `git rev-parse` printed. `^main` excludes a commit and names none.
pub(super) fn hash_in(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let hash = text.trim_end();
    is_hash(hash).then(|| hash.to_owned())
}

/// The revisions that `git rev-list` printed.
pub(super) fn revisions_in(bytes: &[u8]) -> Vec<Revision> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().filter_map(read_line).collect()
}

/// Reads a line of `rev-list`: hash, date and subject line, separated by NUL. Other lines come in
/// between, which have no NUL.
fn read_line(line: &str) -> Option<Revision> {
    let mut parts = line.splitn(3, '\0');
    let commit = parts.next().filter(|hash| is_hash(hash))?.to_owned();
    let author_date = harmless(parts.next()?);
    let title = harmless(parts.next()?);
    let revision = Revision {
        name: String::new(),
        commit,
        title,
        author_date,
        changes: None,
    };
    Some(Revision {
        name: revision.short().to_owned(),
        ..revision
    })
}

fn is_hash(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
