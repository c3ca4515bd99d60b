//! The result of a look at the subjects of the catalog: which of them start here
//! and respond correctly. Nothing is loaded, so nothing is known of speed.

use serde::{Deserialize, Serialize};

use abx_evidence::OutputHead;

/// The subjects that were looked at, in the order of the catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckRecord {
    #[serde(flatten)]
    pub head: OutputHead,
    /// The version of abx that looked.
    pub abx_version: String,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// One for each subject of each study.
    pub subjects: Vec<CheckedSubject>,
}

/// A subject that was looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckedSubject {
    /// The study that it belongs to.
    pub study: String,
    pub subject: String,
    pub status: SubjectStatus,
    /// From its start to its first correct response, in seconds.
    pub ready_s: Option<f64>,
    /// Memory of its processes together, once it had responded.
    pub rss_bytes: Option<u64>,
    /// Why it is not ready, and what changes that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Whether a subject can be measured here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectStatus {
    /// It started, responded correctly and was stopped.
    Ready,
    /// Something that it needs is not there and can be had.
    Missing,
    /// It did not start, or its response was wrong.
    Broken,
    /// It needs a program that only the user can bring.
    Skipped,
}

impl SubjectStatus {
    /// The word for it, as in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            SubjectStatus::Ready => "ready",
            SubjectStatus::Missing => "missing",
            SubjectStatus::Broken => "broken",
            SubjectStatus::Skipped => "skipped",
        }
    }
}
