//! Fits blocks into the time of a study, once the pilot has shown how long they take.

use std::time::Duration;

use abx_stats::stop::BLOCKS_FOR_VERDICT;

use crate::run_study::progress::StudyProgress;
use crate::run_study::study_runner::StudyRunner;
use crate::run_study::time::load_time::fill;
use crate::run_study::time::shorten_blocks::{BlockOptions, block_time, shorten_blocks};
use abx_study::{OrderedTime, Study};

impl StudyRunner<'_> {
    /// Shortens or fills blocks so that they fit the study's time.
    pub(super) fn fit_blocks(&mut self) {
        let Some((time, blocks)) = planned(self.study) else {
            return;
        };
        let options = self.block_options();
        match time {
            OrderedTime::Whole(whole) => {
                let left = whole.saturating_sub(self.started.elapsed());
                let span = (left / blocks.max(1)).saturating_sub(self.time_without_load());
                shorten_blocks(&mut self.record.measured.loads, options, span);
            }
            OrderedTime::EachLoad(per_load) => {
                for load in &mut self.record.measured.loads {
                    fill(load, per_load / blocks.max(1));
                }
            }
        }
    }

    /// The time of a block that is not spent on its loads.
    fn time_without_load(&self) -> Duration {
        self.restart_time + self.faults_duration(self.restart_time)
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
            each_block: self.block_duration(),
        });
    }

    /// How long a block will take with the loads that are still open.
    pub(super) fn block_duration(&self) -> Duration {
        let loaded = block_time(&self.record.measured.loads, self.block_options());
        loaded + self.time_without_load()
    }
}

/// The time of the study, and how many blocks must fit into it; `None` if blocks may take any time.
///
/// A budget must have room for the blocks that a verdict needs: with fewer, all of it would be
/// spent without a verdict. There is room for one more, since some blocks take longer.
fn planned(study: &Study) -> Option<(OrderedTime, u32)> {
    if study.rounds.is_some() {
        // Requested rounds stay.
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
    fn a_budget_has_room_for_the_blocks_that_a_verdict_needs() {
        // Method: a given and the default budget, requested rounds, and requested blocks with and
        // without a time of their own.
        let minute = Duration::from_secs(60);
        let with_budget = Study {
            budget: Some(minute),
            ..study(None)
        };
        assert_eq!(planned(&with_budget), Some((OrderedTime::Whole(minute), 8)));
        let by_default = study(None);
        let whole = OrderedTime::Whole(by_default.budget());
        assert_eq!(planned(&by_default), Some((whole, 8)));
        let with_rounds = Study {
            rounds: Some(9),
            ..with_budget.clone()
        };
        assert_eq!(planned(&with_rounds), None);
        let with_blocks = Study {
            blocks: Some(3),
            ..with_budget
        };
        assert_eq!(planned(&with_blocks), None);
        for time in [OrderedTime::Whole(minute), OrderedTime::EachLoad(minute)] {
            let timed = Study {
                ordered_time: Some(time),
                ..with_blocks.clone()
            };
            assert_eq!(planned(&timed), Some((time, 3)));
        }
    }
}
