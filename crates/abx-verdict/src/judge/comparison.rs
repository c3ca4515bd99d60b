//! One subject compared with another: the ratio, its interval and its verdict.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::findings::validity::{Limited, Validity};
use crate::judge::metric::Metric;
use crate::judge::verdict::Verdict;
use abx_evidence::Finding;
use abx_stats::paired::RatioInterval;

/// The role of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A comparison for which the study was made. It decides when the study ends, and how.
    #[default]
    Primary,
    /// A side result, found by looking at many things at once.
    Exploratory,
}

/// One subject compared with its baseline under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The metric.
    pub metric: Metric,
    /// Its role.
    pub role: Role,
    /// The name of the load or fault; empty for the time to be ready, which has neither.
    pub load: String,
    /// The subject.
    pub subject: String,
    /// The subject that it is compared with.
    pub baseline: String,
    /// The step of a scenario to which the metric belongs; absent for other metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Subject over baseline; `None` if invalid, if there is no interval,
    /// or if the interval has an open end.
    pub ratio: Option<f64>,
    /// The interval's lower end.
    pub low: Option<f64>,
    /// The interval's upper end.
    pub high: Option<f64>,
    /// How often such intervals contain the truth, as a share.
    pub confidence: f64,
    /// The number of blocks on which it rests.
    pub blocks: usize,
    /// Subject over baseline in each of these blocks, in their order; `None` for blocks
    /// without such a number.
    pub per_block: Vec<Option<f64>>,
    /// The number of comparisons that were judged together, including this one.
    pub together: usize,
    /// How often blocks without any difference would look at least so different, adjusted for the
    /// comparisons judged together. There is a direction below 0.03, the error of intervals that
    /// are computed at 97 % and printed as 95 %. `None` without an interval.
    pub p_adjusted: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether the true ratio may lie further from 1 than measured: something else limited the
    /// faster subject, or a time is only known as a bound.
    pub at_least: bool,
    /// Whether another sound way to read the same blocks gives another verdict.
    pub fragile: bool,
    /// The verdict of the method that gives single blocks less weight, if it differs; see
    /// `hodges_lehmann`. Otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_verdict: Option<Verdict>,
    /// The number of additional blocks that would settle it, if it is inconclusive.
    pub blocks_more: Option<u32>,
    /// Whether it is inconclusive because it has fewer blocks than a verdict needs, regardless of
    /// their values. Otherwise absent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub too_few_blocks: bool,
    /// The smallest difference that this number of blocks shows in 4 of 5 studies by this
    /// comparison alone, as a share.
    pub detectable: Option<f64>,
    /// The Hodges-Lehmann ratio and its interval.
    pub hodges_lehmann: Option<Bounds>,
    /// The result without the disturbed rounds, if there were any.
    pub undisturbed: Option<Undisturbed>,
    /// The findings that limit it: numbers, from 0, in the record's `validity.findings`.
    pub findings: Vec<usize>,
    /// The findings that limit it and nothing else; only for pairs in rankings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_findings: Vec<Finding>,
}

impl Comparison {
    /// The ratio and the ends of its interval, if it has one.
    #[must_use]
    pub fn bounds(&self) -> Option<[f64; 3]> {
        Some([self.ratio?, self.low?, self.high?])
    }

    /// The ratio, even if there are too few blocks for an interval: then the geometric mean of
    /// their ratios, if each has one.
    #[must_use]
    pub fn plain_ratio(&self) -> Option<f64> {
        let logs: Option<Vec<f64>> = self
            .per_block
            .iter()
            .map(|ratio| ratio.map(f64::ln))
            .collect();
        let logs = logs.filter(|logs| !logs.is_empty() && self.verdict != Verdict::Invalid);
        let mean = || logs.map(|logs| (logs.iter().sum::<f64>() / logs.len() as f64).exp());
        self.ratio.or_else(mean)
    }

    /// The result without the disturbed rounds, if its ratio lies outside the interval of all
    /// rounds: then disturbances did not affect both subjects alike.
    #[must_use]
    pub fn shifted(&self) -> Option<&Undisturbed> {
        let [_, low, high] = self.bounds()?;
        let undisturbed = self.undisturbed.as_ref();
        undisturbed.filter(|undisturbed| !(low..=high).contains(&undisturbed.bounds.ratio))
    }

    /// The findings that limit it; `validity` is that of its record.
    pub fn limits<'a>(&'a self, validity: &'a Validity) -> impl Iterator<Item = &'a Finding> {
        validity.numbered(&self.findings).chain(&self.own_findings)
    }
}

impl Limited<Comparison> {
    /// The comparison with numbers in place of its findings.
    pub(crate) fn numbered(self, validity: &Validity) -> Comparison {
        let (findings, own_findings) = validity.numbers(self.findings);
        Comparison {
            findings,
            own_findings,
            ..self.of
        }
    }
}

/// A ratio with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// The ratio.
    pub ratio: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl From<RatioInterval> for Bounds {
    fn from(interval: RatioInterval) -> Bounds {
        Bounds {
            ratio: interval.ratio,
            low: interval.low,
            high: interval.high,
        }
    }
}

/// A comparison read without its disturbed rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Undisturbed {
    /// The ratio with its interval.
    #[serde(flatten)]
    pub bounds: Bounds,
    /// The verdict without the disturbed rounds.
    pub verdict: Verdict,
    /// The number of rounds that were left out.
    pub rounds_left_out: u64,
}

#[cfg(test)]
mod tests;
