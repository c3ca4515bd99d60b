//! How a study that had ended early was continued, and what had to be unchanged.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::StudyEnd;

/// What must be unchanged to continue a study, in addition to the rest of its record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyIdentity {
    /// The XXH3 hash of abx's own program file; `None` if it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abx_build: Option<String>,
    /// The XXH3 hash per subject and service that abx starts: of its environment, its configuration
    /// files and the files that its command names, including the program.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// The settings of the measurement, by the names of flags and keys, except those that are
    /// elsewhere in the record.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// The kernel's id of this boot of the machine. A study may continue after another boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
}

/// A point at which a study was continued that had ended early.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Continuation {
    /// The number of the first block after it, from zero.
    pub block: u32,
    /// The time at which the study was continued, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// How long the study had taken until then, without pauses, in seconds.
    pub elapsed_s: f64,
    /// The time from the last save of the record until the study was continued, in seconds. For a
    /// study that was killed, it includes an unfinished block.
    pub paused_s: f64,
    /// The reason why the study had ended; `running` if abx was killed.
    pub ended: StudyEnd,
    /// Whether the machine was rebooted in between.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rebooted: bool,
}
