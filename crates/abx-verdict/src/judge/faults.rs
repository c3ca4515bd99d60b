//! The cost of faults to each subject, and how many more requests one loses than another.
//! Recovery times are compared as ratios, see [`plan`](super::comparing::plan).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::values::{BlockValue, Known, Values};
use crate::judge::verdict::{ClaimFamily, Verdict};
use crate::view::faults::{FaultToll, FaultView, Recovery};
use abx_evidence::record::Measured;
use abx_stats::paired::{LogInterval, PairedMean};
use abx_stats::student::Confidence;

/// The effect of a fault on one subject, over all blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultSummary {
    /// The fault.
    pub fault: String,
    /// The subject.
    pub subject: String,
    /// The reason why the subject was left out. Everything else is then empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// How often the fault was injected: once in each complete block.
    pub times: usize,
    /// Requests without a correct response, per fault. The interval may extend below 0 and
    /// above `due`.
    pub lost: Option<MeanInterval>,
    /// Requests that were due after the fault, the mean per fault. No more can be lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<f64>,
    /// Requests whose correct response was late, the mean per fault.
    pub delayed: Option<f64>,
    /// The recovery time, the geometric mean in seconds; `None` if the subject had not recovered
    /// by the end of some slice.
    pub recovery_s: Option<f64>,
    /// The number of faults after which it had recovered by the end of the slice.
    pub recovered: usize,
    /// The number of faults after which as many processes ran as before.
    pub back: usize,
    /// The number of faults that neither lost nor delayed a request.
    pub unfelt: usize,
    /// The number of faults after which it had recovered before the next request, so that
    /// `recovery_s` is an upper bound.
    #[serde(default)]
    pub unseen: usize,
}

/// A mean with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeanInterval {
    /// The mean over blocks.
    pub mean: f64,
    /// The interval's lower end; `None` below two blocks.
    pub low: Option<f64>,
    /// The interval's upper end.
    pub high: Option<f64>,
}

/// How many more requests one subject loses than another, per fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LostDifference {
    /// The fault.
    pub fault: String,
    /// The subject.
    pub subject: String,
    /// The subject that it is compared with.
    pub baseline: String,
    /// Subject minus baseline, over blocks.
    pub requests: MeanInterval,
    /// How often such intervals contain the truth, as a share.
    pub confidence: f64,
    /// The number of blocks on which it rests.
    pub blocks: usize,
    /// The verdict: less, more or inconclusive.
    pub verdict: Verdict,
    /// Whether it is inconclusive because a verdict needs more blocks. Otherwise absent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub too_few_blocks: bool,
}

impl MeanInterval {
    /// The mean of one value per block; `None` without a block.
    pub(crate) fn of(values: &[f64]) -> Option<MeanInterval> {
        MeanInterval::at(values, Confidence::COMPUTED)
    }

    /// As [`MeanInterval::of`], at another confidence.
    pub(crate) fn at(values: &[f64], confidence: Confidence) -> Option<MeanInterval> {
        if let [only] = values {
            return Some(MeanInterval {
                mean: *only,
                low: None,
                high: None,
            });
        }
        let mean = PairedMean::of(values).ok()?;
        let LogInterval { center, low, high } = mean.interval(confidence);
        Some(MeanInterval {
            mean: center,
            low: Some(low),
            high: Some(high),
        })
    }
}

/// The effect of every fault on every subject.
pub(crate) fn fault_summaries(study: &Measured) -> Vec<FaultSummary> {
    let mut summaries = Vec::new();
    for view in FaultView::all(study) {
        for subject in &study.subjects {
            summaries.push(summary(&view, &subject.name));
        }
    }
    summaries
}

fn summary<'a>(view: &FaultView<'a>, subject: &'a str) -> FaultSummary {
    let tolls: Vec<FaultToll> = view.tolls(subject).into_iter().flatten().collect();
    let times = tolls.len();
    let count = |is_so: fn(&FaultToll) -> bool| tolls.iter().filter(|toll| is_so(toll)).count();
    let lost: Vec<f64> = tolls.iter().map(|toll| toll.lost as f64).collect();
    let due: f64 = tolls.iter().map(|toll| toll.due as f64).sum();
    let delayed: f64 = tolls.iter().map(|toll| toll.delayed as f64).sum();
    let logs = tolls.iter().map(|toll| toll.recovery.s().map(f64::ln));
    let logs: Option<f64> = logs.sum();
    let mean = |sum: f64| (times > 0).then(|| sum / times as f64);
    FaultSummary {
        fault: view.fault.name.clone(),
        subject: subject.to_owned(),
        left_out: view.left_out(subject).map(|left_out| left_out.why.clone()),
        times,
        lost: MeanInterval::of(&lost),
        due: mean(due),
        delayed: mean(delayed),
        recovery_s: logs.and_then(mean).map(f64::exp),
        recovered: count(|toll| toll.recovery.s().is_some()),
        back: count(|toll| toll.is_back),
        unfelt: count(|toll| !toll.is_felt()),
        unseen: count(|toll| matches!(toll.recovery, Recovery::Unseen(_))),
    }
}

/// The pairs in which the recovery of either subject was seen in some block; the others cannot be
/// compared.
pub(crate) fn seen<'a>(values: &Values, mut pairs: Vec<[&'a str; 2]>) -> Vec<[&'a str; 2]> {
    let is_seen = |name: &&str| values.count(name, Known::Exactly) > 0;
    pairs.retain(|pair| pair.iter().any(is_seen));
    pairs
}

/// The recovery time of each subject in each block, in seconds; `None` if it did not recover.
pub(crate) fn recoveries<'a>(view: &FaultView<'a>) -> Values<'a> {
    let subjects = view
        .study
        .subjects
        .iter()
        .map(|subject| subject.name.as_str());
    Values::by_subject(subjects.map(|subject| {
        let value = |toll: FaultToll| {
            Some(BlockValue {
                amount: toll.recovery.s()?,
                known: match toll.recovery {
                    Recovery::Unseen(_) => Known::AtMost,
                    Recovery::After(_) | Recovery::NotWithin => Known::Exactly,
                },
            })
        };
        let tolls = view.tolls(subject).into_iter();
        (subject, tolls.map(|toll| value(toll?)).collect())
    }))
}

/// How many more requests the subject of every requested pair loses than its baseline.
pub(crate) fn lost_differences(study: &Measured) -> Vec<LostDifference> {
    FaultView::all(study)
        .flat_map(|view| differences(&view))
        .collect()
}

fn differences(view: &FaultView) -> Vec<LostDifference> {
    let study = view.study;
    let name = &view.fault.name;
    let pairs = study.pairs_of_fault(name);
    let lost = |subject: &str| -> Option<Vec<f64>> {
        let record = study.subject(subject)?;
        let tolls = view.tolls(&record.name).into_iter();
        tolls.map(|toll| Some(toll?.lost as f64)).collect()
    };
    let means = pairs.into_iter().filter_map(|pair| {
        let [subject, baseline] = pair.map(lost);
        let blocks = subject?.into_iter().zip(baseline?);
        let differences: Vec<f64> = blocks
            .map(|(subject, baseline)| subject - baseline)
            .collect();
        Some((pair, PairedMean::of(&differences).ok()?))
    });
    let means: Vec<([&str; 2], PairedMean)> = means.collect();
    let family = ClaimFamily::alone(means.len()).ordered(study.is_ordered());
    let p_values: Vec<f64> = means.iter().map(|(_, mean)| mean.p_value()).collect();
    let claims = means.into_iter().zip(family.held_to(&p_values));
    claims
        .map(|(([subject, baseline], mean), (required, _))| {
            let interval = mean.interval(Confidence::COMPUTED);
            let too_few_blocks = mean.blocks() < required.blocks;
            let verdict = match required.direction {
                Some(confidence) if !too_few_blocks => direction(&mean.interval(confidence)),
                _ => Verdict::Inconclusive,
            };
            LostDifference {
                fault: name.clone(),
                subject: subject.to_owned(),
                baseline: baseline.to_owned(),
                requests: MeanInterval {
                    mean: interval.center,
                    low: Some(interval.low),
                    high: Some(interval.high),
                },
                confidence: Confidence::PRINTED.share(),
                blocks: mean.blocks(),
                verdict,
                too_few_blocks,
            }
        })
        .collect()
}

fn direction(interval: &LogInterval) -> Verdict {
    if interval.low > 0.0 {
        Verdict::More
    } else if interval.high < 0.0 {
        Verdict::Less
    } else {
        Verdict::Inconclusive
    }
}
