//! One subject compared with another: the ratio, its interval and its verdict.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::findings::validity::{Limited, Validity};
use crate::judge::metric::Metric;
use crate::judge::verdict::Verdict;
use abx_evidence::Finding;
use abx_stats::paired::RatioInterval;

/// What a comparison is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What the study was made for: it decides when the study ends, and how.
    #[default]
    Primary,
    /// Worth knowing, and found by looking at many things at once.
    Exploratory,
}

/// One subject beside its baseline under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// What is compared.
    pub metric: Metric,
    /// What the comparison is for.
    pub role: Role,
    /// The name of the load or fault; empty for what is of neither, the time to be ready.
    pub load: String,
    /// The subject.
    pub subject: String,
    /// What it is compared with.
    pub baseline: String,
    /// The step of a scenario that the metric is of; absent for what is of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Subject over baseline; `None` when invalid, and when there is no interval
    /// or one without an end.
    pub ratio: Option<f64>,
    /// The interval's lower end.
    pub low: Option<f64>,
    /// The interval's upper end.
    pub high: Option<f64>,
    /// How often such intervals hold the truth, as a share.
    pub confidence: f64,
    /// How many blocks it rests on.
    pub blocks: usize,
    /// Subject over baseline in each of them, in their order; `None` where there
    /// is no such number.
    pub per_block: Vec<Option<f64>>,
    /// With how many comparisons it was judged together, itself among them.
    pub together: usize,
    /// How often blocks without any difference would look at least so different,
    /// adjusted for those judged together: a direction is claimed below 0.03, the error of the
    /// intervals that are computed at 97 % and printed as 95 %. `None` without an interval.
    pub p_adjusted: Option<f64>,
    /// What it means.
    pub verdict: Verdict,
    /// Whether the true ratio may lie further from 1 than measured: the faster subject was
    /// held back by something else, or a time is only known as a bound.
    pub at_least: bool,
    /// Whether another honest way of reading the same blocks gives another verdict.
    pub fragile: bool,
    /// The verdict of the method that gives single blocks less weight, where it is another one;
    /// see `hodges_lehmann`. Absent where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_verdict: Option<Verdict>,
    /// How many blocks more would settle it, when it is inconclusive.
    pub blocks_more: Option<u32>,
    /// Whether it is inconclusive because it has fewer blocks than a verdict needs, whatever
    /// they show. Absent when it is not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub too_few_blocks: bool,
    /// The smallest difference that as many blocks show in 4 of 5 studies by this comparison
    /// alone, as a share.
    pub detectable: Option<f64>,
    /// The Hodges-Lehmann ratio and its interval.
    pub hodges_lehmann: Option<Bounds>,
    /// The same without the rounds that were disturbed, when there were any.
    pub undisturbed: Option<Undisturbed>,
    /// What limits it: numbers, from 0, of the record's `validity.findings`.
    pub findings: Vec<usize>,
    /// What limits it and nothing else: of pairs in rankings alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_findings: Vec<Finding>,
}

impl Comparison {
    /// The ratio and its interval, where it has one.
    #[must_use]
    pub fn bounds(&self) -> Option<[f64; 3]> {
        Some([self.ratio?, self.low?, self.high?])
    }

    /// The ratio, even if blocks are too few for an interval: the mean of theirs, if
    /// each has one.
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

    /// What is read without the disturbed rounds, where its ratio lies outside the interval
    /// of all rounds: then disturbances did not hit both alike.
    #[must_use]
    pub fn shifted(&self) -> Option<&Undisturbed> {
        let [_, low, high] = self.bounds()?;
        let other = self.undisturbed.as_ref();
        other.filter(|other| !(low..=high).contains(&other.bounds.ratio))
    }

    /// What limits it; `validity` is that of its record.
    pub fn limits<'a>(&'a self, validity: &'a Validity) -> impl Iterator<Item = &'a Finding> {
        validity.numbered(&self.findings).chain(&self.own_findings)
    }
}

impl Limited<Comparison> {
    /// The comparison with its findings by number.
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
    /// What it would mean.
    pub verdict: Verdict,
    /// How many rounds were left out.
    pub rounds_left_out: u64,
}

#[cfg(test)]
mod tests;
