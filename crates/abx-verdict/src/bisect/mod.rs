//! The search for the commit that made a server slower or faster: the next trial, and the result.
//! Start at [`BisectRecord::next_task`].

mod conclusion;
mod confirmation;
mod enough;
mod ratios;
mod record;
mod repeat;
mod search;
mod task;

pub use conclusion::BisectConclusion;
pub use confirmation::{BUILDS, BuildPair, Confirmation};
pub use enough::{are_builds_known, are_ends_known};
pub use ratios::{BlockRatios, block_log_ratios};
pub use record::{BisectRecord, CommitRecord, EndsRecord, TrialRecord};
pub use repeat::repeat_command;
pub use search::{CommitSearch, SearchStep, TrialOutcome};
pub use task::BisectTask;
