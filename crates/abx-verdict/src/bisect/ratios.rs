//! The ratios of one pair of commits, block by block, with their interval.

use abx_stats::paired::{LogInterval, PairedMean};
use abx_stats::sequential::EndTest;
use abx_stats::student::Confidence;
use serde::{Deserialize, Serialize};

use crate::file::study::StudyRecord;
use crate::judge::comparison::Bounds;
use crate::judge::metric::Metric;
use crate::judge::verdict::Verdict;

/// The ratios of one pair of commits by the metric of the search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockRatios {
    /// The newer commit over the older one, in each block.
    pub per_block: Vec<f64>,
    /// Their mean with its interval; absent below two blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
}

impl BlockRatios {
    /// The ratios of these log ratios.
    #[must_use]
    pub fn of_logs(log_ratios: &[f64]) -> BlockRatios {
        let mean = PairedMean::of(log_ratios).ok();
        BlockRatios::within(
            log_ratios,
            mean.map(|mean| mean.interval(Confidence::COMPUTED)),
        )
    }

    /// The ratios of one step, whose test also knows the spread of earlier blocks.
    #[must_use]
    pub fn of_step(log_ratios: &[f64], test: &EndTest) -> BlockRatios {
        let interval = test.interval(log_ratios, Confidence::COMPUTED);
        BlockRatios::within(log_ratios, interval.ok())
    }

    fn within(log_ratios: &[f64], interval: Option<LogInterval>) -> BlockRatios {
        let share = Confidence::PRINTED.share();
        BlockRatios {
            per_block: log_ratios.iter().map(|ratio| ratio.exp()).collect(),
            bounds: interval.map(|interval| interval.ratios(share).into()),
        }
    }

    /// The log ratio of each block.
    #[must_use]
    pub fn logs(&self) -> Vec<f64> {
        self.per_block.iter().map(|ratio| ratio.ln()).collect()
    }
}

/// The log ratio of a pair, subject first, in each block of a study; empty if any block has none,
/// or if a finding forbids any verdict.
#[must_use]
pub fn block_log_ratios(record: &StudyRecord, metric: Metric, pair: [&str; 2]) -> Vec<f64> {
    let mut comparisons = record.conclusions.comparisons.iter();
    let comparison = comparisons.find(|comparison| {
        let names = [&*comparison.subject, &*comparison.baseline];
        comparison.metric == metric && comparison.step.is_none() && names == pair
    });
    let comparison = comparison.filter(|comparison| comparison.verdict != Verdict::Invalid);
    let logs = comparison.and_then(|comparison| {
        let ratios = comparison.per_block.iter();
        ratios
            .map(|ratio| ratio.map(f64::ln).filter(|log| log.is_finite()))
            .collect::<Option<Vec<f64>>>()
    });
    logs.unwrap_or_default()
}
