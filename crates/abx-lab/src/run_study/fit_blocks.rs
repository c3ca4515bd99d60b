//! How blocks are made to fit into the time of a study, once the pilot knows their length.

use std::time::Duration;

use abx_stats::stop::BLOCKS_FOR_VERDICT;

use crate::run_study::progress::StudyProgress;
use crate::run_study::study_runner::StudyRunner;
use crate::run_study::time::load_time::fill;
use crate::run_study::time::shorten_blocks::{BlockOptions, block_time, shorten_blocks};
use abx_study::{OrderedTime, Study};

impl StudyRunner<'_> {
    /// Makes blocks as long as the study's time wants them.
    pub(super) fn fit_blocks(&mut self) {
        let Some((time, blocks)) = planned(self.study) else {
            return;
        };
        let terms = self.block_options();
        match time {
            OrderedTime::Whole(whole) => {
                let left = whole.saturating_sub(self.started.elapsed());
                let others = self.around + self.faults_take(self.around);
                let span = (left / blocks.max(1)).saturating_sub(others);
                shorten_blocks(&mut self.record.measured.loads, terms, span);
            }
            OrderedTime::EachLoad(each) => {
                for load in &mut self.record.measured.loads {
                    fill(load, each / blocks.max(1));
                }
            }
        }
    }

    fn block_options(&self) -> BlockOptions {
        BlockOptions {
            has_ceiling: self.study.ceiling.is_some(),
            is_length_fixed: self.study.slice.is_some(),
            is_profiled: self.study.why,
        }
    }

    /// Reports how long blocks will take.
    pub(super) fn report_duration(&self) {
        (self.watch)(StudyProgress::Piloted {
            took: self.started.elapsed(),
            each_block: self.block_takes(),
        });
    }

    /// How long a block will take with the loads that are still open.
    pub(super) fn block_takes(&self) -> Duration {
        let loaded = block_time(&self.record.measured.loads, self.block_options());
        self.around + loaded + self.faults_take(self.around)
    }
}

/// The time, and the blocks that it is to hold; `None` if they may take any time.
///
/// A budget has to hold the blocks that a verdict needs: with fewer, all of it is spent and
/// nothing is known. It is made to hold one more, since blocks take longer now and then.
fn planned(study: &Study) -> Option<(OrderedTime, u32)> {
    if study.rounds.is_some() {
        // They were requested, so they stay.
        return None;
    }
    match study.blocks {
        Some(blocks) => Some((study.ordered_time?, blocks)),
        None => {
            let budget = OrderedTime::Whole(study.budget());
            Some((budget, BLOCKS_FOR_VERDICT as u32 + 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::simulation::scripted::study;

    #[test]
    fn a_budget_holds_the_blocks_that_a_verdict_needs() {
        // Method: a budget, the usual one, requested blocks or rounds, and requested blocks with a
        // time of their own.
        let minute = Duration::from_secs(60);
        let usual = Study {
            budget: Some(minute),
            ..study(None)
        };
        assert_eq!(planned(&usual), Some((OrderedTime::Whole(minute), 8)));
        let by_default = study(None);
        let whole = OrderedTime::Whole(by_default.budget());
        assert_eq!(planned(&by_default), Some((whole, 8)));
        let rounds = Study {
            rounds: Some(9),
            ..usual.clone()
        };
        assert_eq!(planned(&rounds), None);
        let ordered = Study {
            blocks: Some(3),
            ..usual
        };
        assert_eq!(planned(&ordered), None);
        for time in [OrderedTime::Whole(minute), OrderedTime::EachLoad(minute)] {
            let timed = Study {
                ordered_time: Some(time),
                ..ordered.clone()
            };
            assert_eq!(planned(&timed), Some((time, 3)));
        }
    }
}
