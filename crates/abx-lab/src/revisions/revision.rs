//! One state of a repository that can be built.

use std::fmt::{self, Display, Formatter};

use abx_study::units::is_name;

use super::revision_error::RevisionError;

/// A commit, or the working tree with its changes over one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// As the user wrote it, such as `main` or `HEAD~3`; for `.` it is `working tree`.
    pub name: String,
    /// The hash of its commit; for a working tree, that of its `HEAD`.
    pub commit: String,
    /// The subject line of the commit.
    pub title: String,
    /// When its author made the commit, as in `2026-11-28T03:12:21+01:00`.
    pub author_date: String,
    /// A hash of a working tree's changes over its commit; `None` for the commit itself.
    pub changes: Option<String>,
}

/// The name of `.` in tables.
pub const WORKING_TREE: &str = "working tree";
/// Digits of a short hash: enough for half a million commits, mostly.
const SHORT_DIGITS: usize = 9;

impl Revision {
    /// The first digits of the commit's hash.
    #[must_use]
    pub fn short(&self) -> &str {
        Revision::shortened(&self.commit)
    }

    /// The first digits of a hash.
    #[must_use]
    pub fn shortened(hash: &str) -> &str {
        hash.get(..SHORT_DIGITS).unwrap_or(hash)
    }

    /// Whether it is a working tree that differs from its commit.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        self.changes.is_some()
    }

    /// Whether both have the same content, whatever they are called.
    #[must_use]
    pub fn is_same(&self, other: &Revision) -> bool {
        (&self.commit, &self.changes) == (&other.commit, &other.changes)
    }

    /// Its name if it fits into tables, files and scripts. A `/` or a space becomes `-`.
    fn plain_name(&self) -> Option<String> {
        let name = self.name.replace(['/', ' '], "-");
        is_name(&name).then_some(name)
    }
}

impl Display for Revision {
    /// As messages name it: `main (3fa9c1d20)`.
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        let with_changes = if self.is_dirty() { " with changes" } else { "" };
        if self.name == self.short() {
            return formatter.write_str(&self.name);
        }
        write!(formatter, "{} ({}{with_changes})", self.name, self.short())
    }
}

/// The name of each revision as a subject: its plain name, or its short hash if it has no plain
/// name or another revision has the same.
#[must_use]
pub fn subject_names(revisions: &[Revision]) -> Vec<String> {
    let names: Vec<Option<String>> = revisions.iter().map(Revision::plain_name).collect();
    let is_unique = |name: &Option<String>| names.iter().filter(|other| *other == name).count() < 2;
    revisions
        .iter()
        .zip(&names)
        .map(|(revision, name)| match name {
            Some(plain) if is_unique(name) => plain.clone(),
            _ => revision.short().to_owned(),
        })
        .collect()
}

/// Whether all revisions differ in content.
///
/// # Errors
/// [`RevisionError::Same`] with the first two that do not.
pub fn distinct(revisions: &[Revision]) -> Result<(), RevisionError> {
    for (place, revision) in revisions.iter().enumerate() {
        let mut before = revisions[..place].iter();
        if let Some(first) = before.find(|other| other.is_same(revision)) {
            return Err(RevisionError::Same {
                first: first.name.clone(),
                second: revision.name.clone(),
                commit: first.short().to_owned(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision(name: &str, commit: &str) -> Revision {
        Revision {
            name: name.to_owned(),
            commit: commit.repeat(40),
            title: String::new(),
            author_date: String::new(),
            changes: None,
        }
    }

    #[test]
    fn subjects_are_named_after_their_revisions() {
        // Method: a branch, a branch with a slash, the working tree, an expression, and two
        // names that become one.
        let names = ["main", "fix/a", WORKING_TREE, "HEAD~3", "a/b", "a-b"];
        let commits = ["1", "2", "3", "4", "5", "6"];
        let revisions: Vec<Revision> = names
            .iter()
            .zip(commits)
            .map(|(name, commit)| revision(name, commit))
            .collect();
        assert_eq!(
            subject_names(&revisions),
            [
                "main",
                "fix-a",
                "working-tree",
                "444444444",
                "555555555",
                "666666666"
            ]
        );
    }

    #[test]
    fn two_revisions_of_the_same_content_are_refused() {
        // Method: two names of one commit, and a working tree with changes over it.
        let (first, second) = (revision("main", "1"), revision("v1", "1"));
        let tree = Revision {
            changes: Some("c".to_owned()),
            ..revision(WORKING_TREE, "1")
        };
        assert!(distinct(&[first.clone(), tree.clone()]).is_ok());
        let message = distinct(&[first, tree, second]).unwrap_err().to_string();
        assert!(message.contains("`main` and `v1`"), "{message}");
    }
}
