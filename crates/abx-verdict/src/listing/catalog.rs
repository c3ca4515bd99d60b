//! The result of checking the subjects of the catalog: which of them start here and respond
//! correctly. The check offers no load, so it shows nothing about speed.

use serde::{Deserialize, Serialize};

use abx_evidence::OutputHead;

/// The checked subjects, in the order of the catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckRecord {
    #[serde(flatten)]
    pub head: OutputHead,
    /// The version of abx that checked.
    pub abx_version: String,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// One per subject of each study.
    pub subjects: Vec<CheckedSubject>,
}

/// A checked subject.
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
    /// Why it is not ready, and the remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Whether a subject can be measured here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectStatus {
    /// It started, responded correctly and was stopped.
    Ready,
    /// Something that it needs is missing and can be provided.
    Missing,
    /// It did not start, or its response was wrong.
    Broken,
    /// It needs a program that only the user can provide.
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
