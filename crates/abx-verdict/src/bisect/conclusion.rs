//! The conclusions of a search for a commit.

use serde::{Deserialize, Serialize};

/// The conclusion of a search. Positions are indexes in the list of commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum BisectConclusion {
    /// GOOD and BAD do not differ for certain, or by less than the smallest change that matters.
    NothingToFind,
    /// This commit is the change, confirmed.
    Culprit { position: usize },
    /// The search led to this commit, but it does not differ from its parent for certain.
    NotConfirmed { position: usize },
    /// This commit is like neither end: older and newer commits each have a part in the change.
    Spread { position: usize },
    /// The most blocks do not show which end this commit is like.
    Undecided { position: usize },
    /// The change is in one of these commits, of which all but the last are skipped.
    AllSkipped { suspects: Vec<usize> },
}
