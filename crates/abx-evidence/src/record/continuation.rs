//! How a study that had ended early went on, and what it had to find unchanged.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::StudyEnd;

/// What a study that goes on must find as it was, beyond what the rest of its record shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyIdentity {
    /// The XXH3 hash of abx's own program file; `None` if it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abx_build: Option<String>,
    /// By subject and service that abx starts: the XXH3 hash of its environment, of its configuration files
    /// and of the files that its command names, the program among them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// How it measures, by the names of flags and keys; those that stand elsewhere in the record
    /// are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// What the kernel calls this boot of the machine. A study may go on after another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
}

/// A point at which a study went on that had ended early.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Continuation {
    /// The number of the first block after it, from zero.
    pub block: u32,
    /// When the study went on, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// How long the study had taken until then, without pauses, in seconds.
    pub elapsed_s: f64,
    /// From the last save of the record until the study went on, in seconds: of a study that was
    /// killed, an unfinished block is a part of it.
    pub paused_s: f64,
    /// Why the study had ended; `running` if abx was killed.
    pub ended: StudyEnd,
    /// Whether the machine was started again in between.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rebooted: bool,
}
