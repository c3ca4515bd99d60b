//! Properties of any output of git, checked by the fuzz target and by tests.

use std::path::{Component, Path};

use crate::revisions::changes::Changes;
use crate::revisions::parents::parents_in;
use crate::revisions::repository::{hash_in, revisions_in};
use crate::revisions::revision::{Revision, subject_names};

/// Reads bytes as each output of git that abx reads. Titles and dates have no control characters,
/// parents are in the list, and no changed path leads out of the working tree.
///
/// # Panics
/// If a promise is broken.
pub fn any_output(bytes: &[u8]) {
    let mut revisions = revisions_in(bytes);
    for revision in &revisions {
        assert!(!revision.to_string().is_empty());
        for text in [&revision.commit, &revision.title, &revision.author_date] {
            assert!(!text.contains(char::is_control), "{text:?}");
        }
    }
    assert_eq!(subject_names(&revisions).len(), revisions.len());
    check_parents(bytes, &revisions);
    if let Some(last) = revisions.last_mut() {
        last.changes = Some("a".to_owned());
        check_parents(bytes, &revisions);
    }
    if let Some(hash) = hash_in(bytes) {
        assert!(
            hash.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{hash:?}"
        );
    }
    if let Ok(changes) = Changes::read(bytes) {
        assert!(changes.paths().is_sorted());
        assert!(changes.paths().iter().all(|path| is_inside(path)));
    }
}

fn check_parents(bytes: &[u8], revisions: &[Revision]) {
    for first_parent in [false, true] {
        let parents = parents_in(bytes, revisions, first_parent);
        assert_eq!(parents.len(), revisions.len());
        for places in parents {
            assert!(
                places.iter().all(|place| *place < revisions.len()),
                "{places:?}"
            );
            assert!(!first_parent || places.len() <= 1, "{places:?}");
        }
    }
}

/// Whether a path, from a folder, leads to something below it.
fn is_inside(path: &Path) -> bool {
    let mut depth = 0_i32;
    for part in path.components() {
        depth += match part {
            Component::Normal(_) => 1,
            Component::CurDir => 0,
            Component::ParentDir => -1,
            Component::RootDir | Component::Prefix(_) => return false,
        };
        if depth < 0 {
            return false;
        }
    }
    depth > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fuzzing_kept_is_read_or_refused() {
        // Method: the fuzz target's body, on kept inputs and changes of them.
        abx_corpus::replay("git_output", 2_000, any_output);
    }

    #[test]
    fn no_changed_path_leads_out_of_the_working_tree() {
        // Method: entries of `git status` whose path is absolute, above the tree, or missing.
        for entry in [
            "? /etc/passwd",
            "? ../a",
            "? a/../../b",
            "? .",
            "?",
            "1 .M N... 1 2 3 4 5",
        ] {
            let read = Changes::read(entry.as_bytes());
            let message = read.err().map(|error| error.to_string());
            let message = message.unwrap_or_default();
            assert!(
                message.contains("names no path in the working tree"),
                "{entry}: {message}"
            );
        }
        let read = Changes::read(b"? a/b\0? c d").ok();
        let paths = read.map(|changes| changes.paths().to_vec());
        assert_eq!(paths.unwrap(), [Path::new("a/b"), Path::new("c d")]);
    }
}
