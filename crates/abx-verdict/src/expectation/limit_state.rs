//! Whether a study has settled its limits, which decide when it ends.

use super::result::{Doubt, ExpectationResult, Standing};
use super::results::results_at;
use super::statement::Expectation;
use crate::file::study::StudyRecord;
use abx_stats::student::Confidence;

/// The state of a study's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitState {
    /// More blocks may settle one of them.
    Open,
    /// Each interval lies on one side of its limit.
    Settled,
    /// There is no limit, or one that no number of blocks settles.
    OutOfReach,
}

/// The state of the limits after the blocks so far. Pure.
///
/// Method: each interval has the confidence [`Confidence::CERTAIN`] instead of that of the report,
/// because a study looks after every block, and each look may err.
/// Source: docs/explain/statistics/stopping.md, "A limit".
#[must_use]
pub fn limit_state(record: &StudyRecord, expectations: &[Expectation]) -> LimitState {
    state(&results(record, expectations))
}

/// As [`limit_state`], for the limits under loads of these names. Pure.
#[must_use]
pub fn limit_state_under(
    record: &StudyRecord,
    expectations: &[Expectation],
    loads: &[String],
) -> LimitState {
    let mut results = results(record, expectations);
    let has_name = |name: &str| {
        let mut of_group = record.measured.loads.iter();
        of_group.any(|load| {
            loads.contains(&load.name) && (load.name == name || load.name_of_grid() == name)
        })
    };
    results.retain(|result| has_name(&result.load));
    state(&results)
}

/// The results that blocks settle. A threshold has no interval, and holds or fails after one block.
fn results(record: &StudyRecord, expectations: &[Expectation]) -> Vec<ExpectationResult> {
    let has_interval =
        |expectation: &&Expectation| !matches!(expectation, Expectation::Threshold(_));
    let expectations: Vec<Expectation> =
        expectations.iter().filter(has_interval).cloned().collect();
    results_at(record, &expectations, Confidence::CERTAIN)
}

fn state(results: &[ExpectationResult]) -> LimitState {
    let is_settled =
        |result: &ExpectationResult| matches!(result.standing, Standing::Holds | Standing::Fails);
    if results.iter().any(is_open) {
        LimitState::Open
    } else if !results.is_empty() && results.iter().all(is_settled) {
        LimitState::Settled
    } else {
        LimitState::OutOfReach
    }
}

/// The approximate number of additional blocks until each open limit is settled; `None` if none
/// is open, or if there is no spread yet to estimate from.
#[must_use]
pub fn blocks_until_settled(record: &StudyRecord, expectations: &[Expectation]) -> Option<u32> {
    let results = results(record, expectations);
    results.iter().filter_map(|result| result.blocks_more).max()
}

/// Whether more blocks may settle the limit.
fn is_open(result: &ExpectationResult) -> bool {
    matches!(
        result.standing,
        Standing::Unsettled(Doubt::Straddles | Doubt::FewBlocks(_))
    )
}
