//! Faults on purpose: the action on a subject under load, and its effects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::timeline::Timeline;

/// A fault of a study, which each subject gets once in every block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultRecord {
    /// Its name in this study; no load has it.
    pub name: String,
    /// The load during the fault.
    pub load: String,
    /// The action.
    pub action: FaultAction,
    /// The time of the fault, from the start of the slice.
    pub at_ns: u64,
    /// The length of the slice.
    pub within_ns: u64,
    /// A request whose correct response took longer than this was delayed.
    pub delayed_after_ns: u64,
    /// Subjects that cannot have this fault, or that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// The action of a fault on a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum FaultAction {
    /// It gets a signal.
    Signal {
        /// The signal, without `SIG`.
        signal: String,
        /// The processes that get it.
        whom: Whom,
    },
    /// Its main process gets the signal that makes it reload its configuration.
    Reload,
    /// It is stopped and started again, as at the beginning of a block.
    Restart,
}

/// The processes that get a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Whom {
    /// One of its workers, drawn at random.
    Worker,
    /// The parent of its workers.
    Supervisor,
    /// Every process of the subject.
    Tree,
}

/// A subject without results for a fault, because it cannot have it or failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Its name.
    pub subject: String,
    /// The reason, in words that follow its name.
    pub why: String,
    /// Whether it failed: it did not start, or gave a wrong response before the fault.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// One fault of one subject in one block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultSlice {
    /// The fault's name.
    pub fault: String,
    /// The subject.
    pub subject: String,
    /// The time of the fault, from the start of the slice; `None` if there was none.
    pub struck_ns: Option<u64>,
    /// The processes that got the signal; empty for faults without a signal.
    pub struck: Vec<StruckProcess>,
    /// Processes of the affected kind that ran before the fault.
    pub processes_before: usize,
    /// The same at the end of the slice. Stopped processes do not count.
    pub processes_after: usize,
    /// Requests by the time at which they were due.
    pub timeline: Timeline,
    /// How the subject ended when abx stopped it afterwards.
    pub end: String,
}

/// A process that got the signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StruckProcess {
    /// Its id.
    pub process_id: u32,
    /// Its name.
    pub name: String,
}
