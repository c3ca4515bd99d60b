//! The next task of a search, or its conclusion, from its record: [`BisectTask`].
//!
//! First GOOD and BAD are compared. Then commits between them are compared with GOOD until one
//! suspect is left. Finally this commit is confirmed against its parent.

use abx_stats::paired::PairedMean;
use abx_stats::sequential::{EndTest, SpreadPool};
use abx_stats::stop::BLOCKS_FOR_VERDICT;
use abx_stats::student::Confidence;
use abx_stats::{Margin, StatsError};

use crate::bisect::conclusion::BisectConclusion;
use crate::bisect::record::BisectRecord;
use crate::bisect::search::{CommitSearch, SearchStep, TrialOutcome};

/// The next task of a search.
#[derive(Debug, Clone, PartialEq)]
pub enum BisectTask {
    CompareEnds,
    /// Compare this commit with GOOD until the test decides.
    Try {
        position: usize,
        test: EndTest,
    },
    /// Compare this commit with the one before it, two builds of each.
    Confirm {
        position: usize,
    },
    Ended(BisectConclusion),
}

impl BisectRecord {
    /// The smallest change that matters.
    #[must_use]
    pub fn margin(&self) -> Margin {
        Margin::new(self.by).unwrap_or(Margin::DEFAULT)
    }

    /// The search after all trials so far.
    #[must_use]
    pub fn search(&self) -> CommitSearch {
        let parents = self.commits.iter().map(|commit| commit.parents.clone());
        let mut search = CommitSearch::new(parents.collect());
        for trial in &self.trials {
            search.note(trial.position, trial.outcome);
        }
        search
    }

    /// The next task.
    ///
    /// # Errors
    /// [`StatsError::NoLogRatio`] for a record with a ratio that is not a positive number.
    pub fn next_task(&self) -> Result<BisectTask, StatsError> {
        let Some(ends) = &self.ends else {
            return Ok(BisectTask::CompareEnds);
        };
        let ended = |conclusion| Ok(BisectTask::Ended(conclusion));
        let logs = ends.ratios.logs();
        if !differ(&logs, self.margin())? {
            return ended(BisectConclusion::NothingToFind);
        }
        let bad = PairedMean::of(&logs)?.mean();
        let search = self.search();
        let Some(step) = search.next() else {
            return ended(BisectConclusion::NothingToFind);
        };
        match step {
            SearchStep::Try(position) => {
                let (error, pool) = (search.error(), self.pool()?);
                let test = EndTest { bad, error, pool };
                Ok(BisectTask::Try { position, test })
            }
            SearchStep::AllSkipped => ended(BisectConclusion::AllSkipped {
                suspects: search.suspects().to_vec(),
            }),
            SearchStep::Stuck(position) => {
                let mut trials = self.trials.iter();
                let stuck = trials.rfind(|trial| trial.position == position);
                let is_spread =
                    stuck.is_some_and(|trial| trial.outcome == TrialOutcome::LikeNeither);
                ended(if is_spread {
                    BisectConclusion::Spread { position }
                } else {
                    BisectConclusion::Undecided { position }
                })
            }
            SearchStep::Culprit(position) => match &self.confirmation {
                None => Ok(BisectTask::Confirm { position }),
                Some(confirmation) if confirmation.is_confirmed(bad, self.margin()) => {
                    ended(BisectConclusion::Culprit { position })
                }
                Some(_) => ended(BisectConclusion::NotConfirmed { position }),
            },
        }
    }

    /// The spread of all blocks so far.
    fn pool(&self) -> Result<SpreadPool, StatsError> {
        let mut pool = SpreadPool::default();
        let ends = self.ends.iter().map(|ends| &ends.ratios);
        let trials = self.trials.iter().map(|trial| &trial.ratios);
        for ratios in ends.chain(trials) {
            pool.add(&ratios.logs())?;
        }
        Ok(pool)
    }
}

/// Whether two ends differ for certain, and by at least the smallest change that matters.
fn differ(logs: &[f64], margin: Margin) -> Result<bool, StatsError> {
    if logs.len() < BLOCKS_FOR_VERDICT {
        return Ok(false);
    }
    let paired = PairedMean::of(logs)?;
    let is_certain = paired.interval(Confidence::COMPUTED).excludes_zero();
    Ok(is_certain && paired.mean().abs() >= margin.log())
}
