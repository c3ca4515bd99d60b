//! Faults on purpose: what is done to a subject under load, and what came of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::timeline::Timeline;

/// One fault of a study: done to each subject once in every block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultRecord {
    /// Its name in this study; no load has it.
    pub name: String,
    /// The load that is offered meanwhile.
    pub load: String,
    /// What is done.
    pub action: FaultAction,
    /// When, from the start of the slice.
    pub at_ns: u64,
    /// The length of the slice.
    pub within_ns: u64,
    /// A request whose correct response took longer than this was delayed.
    pub delayed_after_ns: u64,
    /// Subjects to which it cannot be done, or that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// What is done to a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum FaultAction {
    /// A signal is sent.
    Signal {
        /// The signal, without `SIG`.
        signal: String,
        /// To whom.
        whom: Whom,
    },
    /// Its main process gets the signal by which it takes its configuration anew.
    Reload,
    /// It is stopped and started again, as at the beginning of a block.
    Restart,
}

/// Who gets a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Whom {
    /// One of its workers, drawn at random.
    Worker,
    /// The parent of its workers.
    Supervisor,
    /// Every process that it has.
    Tree,
}

/// A subject to which a fault cannot be done, or that failed so that nothing is said of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Its name.
    pub subject: String,
    /// Why, in words that follow it.
    pub why: String,
    /// Whether it failed: it did not start, or answered wrongly before the fault was done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// One fault that one subject had in one block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultSlice {
    /// The fault's name.
    pub fault: String,
    /// Who had it.
    pub subject: String,
    /// When it was done, from the start of the slice; `None` when it was not.
    pub struck_ns: Option<u64>,
    /// To whom; empty for what is no signal.
    pub struck: Vec<StruckProcess>,
    /// Processes of the kind that was struck that ran before it.
    pub processes_before: usize,
    /// The same at the end of the slice; those that are stopped do not run.
    pub processes_after: usize,
    /// Requests by when they were due.
    pub timeline: Timeline,
    /// How the subject ended when it was stopped afterwards.
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
