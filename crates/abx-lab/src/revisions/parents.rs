//! The parents of commits in a list.

use std::collections::HashMap;

use super::repository::Repository;
use super::revision::Revision;
use super::revision_error::RevisionError;

impl Repository {
    /// For each commit of a list, the places of its parents in the list. Parents that are not in it
    /// are left out. The list is an older end and the commits of [`Repository::between`] after it.
    ///
    /// # Errors
    /// [`RevisionError::Git`] if git cannot list them.
    pub fn parents(
        &self,
        revisions: &[Revision],
        first_parent: bool,
    ) -> Result<Vec<Vec<usize>>, RevisionError> {
        let [good, .., bad] = revisions else {
            return Ok(vec![Vec::new(); revisions.len()]);
        };
        let range = format!("{}..{}", good.commit, bad.commit);
        let bytes = self.git().read(&["rev-list", "--parents", &range, "--"])?;
        Ok(parents_in(&bytes, revisions, first_parent))
    }
}

/// The places of the parents that `git rev-list --parents` printed.
pub(super) fn parents_in(
    bytes: &[u8],
    revisions: &[Revision],
    first_parent: bool,
) -> Vec<Vec<usize>> {
    let text = String::from_utf8_lossy(bytes);
    let places: HashMap<&str, usize> = revisions
        .iter()
        .enumerate()
        .filter(|(_, revision)| !revision.is_dirty())
        .map(|(place, revision)| (revision.commit.as_str(), place))
        .collect();
    let mut parents = vec![Vec::new(); revisions.len()];
    for line in text.lines() {
        let mut hashes = line.split(' ');
        let place = hashes.next().and_then(|hash| places.get(hash));
        if let Some(place) = place {
            let most = if first_parent { 1 } else { usize::MAX };
            let known = hashes.take(most).filter_map(|hash| places.get(hash));
            parents[*place] = known.copied().collect();
        }
    }
    if let (Some(bad), Some(last)) = (revisions.last(), parents.last_mut())
        && bad.is_dirty()
    {
        // The parent of a working tree is its commit.
        *last = places.get(&*bad.commit).copied().into_iter().collect();
    }
    parents
}
