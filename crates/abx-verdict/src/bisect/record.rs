//! The measurements of a search for a commit so far, from which it continues: [`BisectRecord`].

use abx_evidence::OutputHead;
use serde::{Deserialize, Serialize};

use crate::bisect::conclusion::BisectConclusion;
use crate::bisect::confirmation::Confirmation;
use crate::bisect::ratios::BlockRatios;
use crate::bisect::search::TrialOutcome;
use crate::judge::metric::Metric;
use crate::judge::verdict::Verdict;

/// A search for a commit. It is saved after each step, so that an interrupted search can
/// continue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BisectRecord {
    #[serde(flatten)]
    pub head: OutputHead,
    /// The version of abx that measured.
    pub abx_version: String,
    /// When the search began, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// The command line.
    pub command: Vec<String>,
    /// The text that a person gave the record (`--label`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// GOOD and BAD as on the command line.
    pub revisions: [String; 2],
    /// The commands that build a commit.
    pub build: Vec<String>,
    /// The command that starts the server of a commit.
    pub server: String,
    /// The metric by which commits are compared.
    pub metric: Metric,
    /// The smallest change that matters, as a share.
    pub by: f64,
    /// From GOOD to BAD, each after its parents.
    pub commits: Vec<CommitRecord>,
    /// BAD against GOOD; absent before they were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<EndsRecord>,
    /// The commits that were tried, in that order.
    pub trials: Vec<TrialRecord>,
    /// The commit to which the search led against its parent; absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// How it ended; absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<BisectConclusion>,
    /// The time that was spent on it, in s.
    pub elapsed_s: f64,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitRecord {
    /// Its full hash.
    pub commit: String,
    /// When its author wrote it, as git prints it.
    pub author_date: String,
    /// The first line of its message.
    pub subject_line: String,
    /// The indexes of its parents in the list of commits.
    pub parents: Vec<usize>,
}

/// BAD against GOOD.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndsRecord {
    #[serde(flatten)]
    pub ratios: BlockRatios,
    /// The id of the record of their comparison.
    pub record: String,
}

/// One commit against GOOD.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Its index in `commits`.
    pub position: usize,
    pub outcome: TrialOutcome,
    /// Why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(flatten)]
    pub ratios: BlockRatios,
    /// The id of the record of its comparison; absent for a commit that was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
}

impl BisectRecord {
    /// The direction of a change by this ratio, by the metric of the search.
    #[must_use]
    pub fn direction(&self, ratio: f64) -> Verdict {
        Verdict::of_change(ratio, self.metric.sense())
    }
}

impl CommitRecord {
    /// The short hash.
    #[must_use]
    pub fn short(&self) -> &str {
        CommitRecord::shortened(&self.commit)
    }

    /// The short form of a full hash.
    #[must_use]
    pub fn shortened(hash: &str) -> &str {
        hash.get(..SHORT).unwrap_or(hash)
    }
}

/// The length of a short hash.
const SHORT: usize = 9;
