//! Subjects beside their baseline: from blocks to ratios, and from ratios and
//! findings to verdicts.

use serde::{Deserialize, Serialize};

use crate::arrivals::Offered;
use crate::finding::{Finding, Level, Limits};
use crate::findings::Limit;
use crate::findings::pace::has_kept_up;
use crate::record::{BlockLoad, LoadRecord, StudyRecord};
use crate::stats::Margin;
use crate::stats::paired::RatioInterval;
use crate::stats::power;
use crate::stats::stop::BLOCKS_FOR_VERDICT;
use crate::stats::stop::blocks_needed;
use crate::stats::student::Confidence;
use crate::summary::Sums;
use crate::verdict::{Assessment, Verdict, assess};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Verified answers per second.
    Throughput,
}

/// One subject beside its baseline under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What is compared.
    pub metric: Metric,
    /// The load's name.
    pub load: String,
    /// The subject.
    pub subject: String,
    /// What it is compared with.
    pub baseline: String,
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
    /// What it means.
    pub verdict: Verdict,
    /// Whether the true ratio may lie further from 1 than measured, as the
    /// faster subject was held back by the generator.
    pub at_least: bool,
    /// Whether another honest way of reading the same blocks gives another verdict.
    pub fragile: bool,
    /// How many blocks more would settle it, when it is inconclusive.
    pub blocks_more: Option<u32>,
    /// The smallest difference that as many blocks show in 4 of 5 studies, as a share.
    pub detectable: Option<f64>,
    /// The Hodges-Lehmann ratio and its interval.
    pub hodges_lehmann: Option<Bounds>,
    /// The same without the rounds that were disturbed, when there were any.
    pub undisturbed: Option<Undisturbed>,
    /// What limits it.
    pub findings: Vec<Finding>,
}

/// A ratio with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Undisturbed {
    /// The ratio with its interval.
    #[serde(flatten)]
    pub bounds: Bounds,
    /// What it would mean.
    pub verdict: Verdict,
    /// How many rounds were left out.
    pub rounds_left_out: u64,
}

/// Which rounds count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rounds {
    All,
    Undisturbed,
}

/// The logarithm of subject over baseline in each block, in the order of the
/// blocks; minus infinity or NaN where one of them had no verified answer.
#[must_use]
pub fn log_ratios(
    record: &StudyRecord,
    load: &LoadRecord,
    subject: &str,
    baseline: &str,
) -> Vec<f64> {
    ratios(record, load, [subject, baseline], Rounds::All)
}

/// One comparison, with the findings that touch it.
pub(crate) fn compare(
    record: &StudyRecord,
    load: &LoadRecord,
    subject: &str,
    limit: &Limit,
    findings: &[Finding],
) -> Comparison {
    let baseline = record.settings.baseline.as_str();
    let pair = [subject, baseline];
    let margin = Margin::new(record.settings.margin).unwrap_or(Margin::DEFAULT);
    let mut findings: Vec<Finding> = findings
        .iter()
        .filter(|finding| finding.limits == Limits::All && finding.touches(&load.name, pair))
        .cloned()
        .collect();
    let assessed = assess(&ratios(record, load, pair, Rounds::All), margin);
    findings.extend(
        pair.iter()
            .filter_map(|name| no_answers(record, load, name)),
    );
    let ratio = assessed.as_ref().ok().map(|one| one.ratio);
    let limit = limit.finding(pair, ratio);
    findings.extend(limit.map(|finding| finding.under(&load.name)));
    findings.extend(held_by_rate(record, load, pair, ratio));
    let is_void = findings.iter().any(|one| one.level == Level::Void);
    let empty = Comparison {
        metric: Metric::Throughput,
        load: load.name.clone(),
        subject: subject.to_owned(),
        baseline: baseline.to_owned(),
        ratio: None,
        low: None,
        high: None,
        confidence: Confidence::PRINTED.share(),
        blocks: record.block_loads(&load.name).count(),
        verdict: if is_void {
            Verdict::Invalid
        } else {
            Verdict::Inconclusive
        },
        at_least: false,
        fragile: false,
        blocks_more: None,
        detectable: None,
        hodges_lehmann: None,
        undisturbed: None,
        findings,
    };
    match assessed {
        _ if is_void => empty,
        Ok(one) => fill(empty, &one, undisturbed(record, load, pair, margin)),
        // Fewer than two blocks have no spread, so there is no interval at all.
        Err(_) => Comparison {
            blocks_more: Some(blocks_needed(empty.blocks, f64::INFINITY, margin)),
            ..empty
        },
    }
}

/// In an open loop: that both of these subjects answered all that was offered,
/// so that their throughput is the load's and not theirs, and is not compared.
pub(crate) fn both_kept_up(
    record: &StudyRecord,
    load: &LoadRecord,
    subject: &str,
) -> Option<Finding> {
    let baseline = record.settings.baseline.as_str();
    let [one, other] = [subject, baseline].map(|name| kept_up(record, load, name));
    let offered = one.zip(other)?.0;
    let rate = match load.settings.arrivals.rate_per_s {
        Some(rate) => format!("{rate}/s"),
        None => format!("all {} requests that were due", offered.planned),
    };
    let message = format!(
        "{subject} and {baseline} both kept up with {rate}: throughput tells nothing about them \
         here"
    );
    let remedy = "compare their processor time for each answer or their response times, or raise \
                  the rate (`-r`)";
    let finding = Finding::new("both_kept_up", Level::Note, message, remedy);
    Some(finding.about(subject).under(&load.name))
}

/// What an open loop offered to a subject that answered it; `None` when it did not.
fn kept_up(record: &StudyRecord, load: &LoadRecord, subject: &str) -> Option<Offered> {
    let sums = Sums::of(record.slices(&load.name, subject));
    sums.offered(&load.settings.arrivals)
        .filter(|offered| has_kept_up(offered, sums.outcomes.ok()))
}

/// In an open loop: that the faster of two subjects answered all that was
/// offered, and may be able to answer more.
fn held_by_rate(
    record: &StudyRecord,
    load: &LoadRecord,
    [subject, baseline]: [&str; 2],
    ratio: Option<f64>,
) -> Option<Finding> {
    let faster = if ratio? >= 1.0 { subject } else { baseline };
    let offered = kept_up(record, load, faster)?;
    let message = format!(
        "{faster} kept up with what it was offered ({} requests): it may be able to answer more",
        offered.planned
    );
    let remedy = "raise the rate (`-r`), or find the most that each can serve with a closed loop";
    let finding = Finding::new("held_by_rate", Level::Bound, message, remedy);
    Some(finding.about(faster).under(&load.name))
}

fn fill(empty: Comparison, one: &Assessment, undisturbed: Option<Undisturbed>) -> Comparison {
    let at_least = empty.findings.iter().any(|one| one.level == Level::Bound);
    let verdict = match one.verdict {
        // The truth may lie further out, so nothing bounds it from that side.
        Verdict::Equivalent if at_least => Verdict::Inconclusive,
        verdict => verdict,
    };
    let disagrees = undisturbed
        .as_ref()
        .is_some_and(|other| other.verdict != one.verdict);
    let bounds = bounds(one);
    Comparison {
        ratio: bounds.map(|bounds| bounds.ratio),
        low: bounds.map(|bounds| bounds.low),
        high: bounds.map(|bounds| bounds.high),
        confidence: one.confidence,
        blocks: one.blocks,
        verdict,
        at_least,
        fragile: one.fragile || disagrees,
        blocks_more: one.blocks_more,
        detectable: detectable(one),
        hodges_lehmann: one.hodges_lehmann.map(Bounds::from),
        undisturbed,
        ..empty
    }
}

/// The interval, when both its ends are numbers: a few blocks that are far apart
/// reach from nothing to infinity.
fn bounds(one: &Assessment) -> Option<Bounds> {
    (one.low > 0.0 && one.high.is_finite()).then_some(Bounds {
        ratio: one.ratio,
        low: one.low,
        high: one.high,
    })
}

/// Blocks in which a subject gave no verified answer: they have no ratio.
fn no_answers(record: &StudyRecord, load: &LoadRecord, subject: &str) -> Option<Finding> {
    let is_silent = |part: &BlockLoad| {
        let rate = rate(load, part, subject, Rounds::All);
        part.load == load.name && !rate.is_some_and(|rate| rate > 0.0)
    };
    let blocks: Vec<u32> = record
        .complete_blocks()
        .filter(|block| block.loads.iter().any(is_silent))
        .map(|block| block.index)
        .collect();
    let first = blocks.first()?;
    let message = format!(
        "{subject} gave no verified answer in {} of {} blocks, first in the one with index {first}",
        blocks.len(),
        record.block_loads(&load.name).count()
    );
    let remedy = "look at the outcomes of that block in the record, and try the subject alone \
                  with `abx run`";
    let finding = Finding::new("no_answers", Level::Void, message, remedy);
    Some(finding.about(subject).under(&load.name))
}

/// The difference that as many blocks of the same spread show in 4 of 5 studies.
fn detectable(one: &Assessment) -> Option<f64> {
    power::detectable((one.high / one.low).ln() / 2.0, one.blocks)
}

fn undisturbed(
    record: &StudyRecord,
    load: &LoadRecord,
    pair: [&str; 2],
    margin: Margin,
) -> Option<Undisturbed> {
    let rounds_left_out = disturbed_rounds(record, load).0;
    if rounds_left_out == 0 {
        return None;
    }
    let kept: Vec<f64> = ratios(record, load, pair, Rounds::Undisturbed)
        .into_iter()
        .filter(|ratio| ratio.is_finite())
        .collect();
    if kept.len() < BLOCKS_FOR_VERDICT {
        // Too few for a verdict, so none that could contradict the other.
        return None;
    }
    let one = assess(&kept, margin).ok()?;
    Some(Undisturbed {
        bounds: bounds(&one)?,
        verdict: one.verdict,
        rounds_left_out,
    })
}

/// How many of a load's rounds were disturbed, and how many there are.
pub(crate) fn disturbed_rounds(record: &StudyRecord, load: &LoadRecord) -> (u64, u64) {
    let rounds = record.block_loads(&load.name).flat_map(|part| &part.rounds);
    rounds.fold((0, 0), |(disturbed, all), round| {
        (disturbed + u64::from(!round.disturbed.is_empty()), all + 1)
    })
}

fn ratios(
    record: &StudyRecord,
    load: &LoadRecord,
    [subject, baseline]: [&str; 2],
    rounds: Rounds,
) -> Vec<f64> {
    let rate = |part: &BlockLoad, name: &str| rate(load, part, name, rounds);
    record
        .block_loads(&load.name)
        .map(|part| match (rate(part, subject), rate(part, baseline)) {
            (Some(one), Some(other)) => (one / other).ln(),
            _ => f64::NAN,
        })
        .collect()
}

/// What a subject gave in one block; `None` when it was not loaded there.
fn rate(load: &LoadRecord, part: &BlockLoad, subject: &str, rounds: Rounds) -> Option<f64> {
    let slices = part
        .rounds
        .iter()
        .filter(|round| rounds == Rounds::All || round.disturbed.is_empty())
        .flat_map(|round| &round.slices)
        .filter(|slice| slice.subject == subject);
    Sums::of(slices).throughput(&load.settings)
}
