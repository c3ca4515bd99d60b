//! Several records of one study, from different days or machines, combined: an estimate per
//! comparison, and a prediction for a further record. Start at [`pooled`].

use serde::Serialize;

use crate::file::study::StudyRecord;
use crate::judge::comparison::{Bounds, Comparison};
use crate::judge::metric::Metric;
use crate::judge::verdict::Verdict;
use abx_evidence::record::LoadSettings;
use abx_evidence::{OutputHead, OutputKind};
use abx_stats::paired::{LogInterval, PairedMean};
use abx_stats::random_effects::{RandomEffects, StudyEstimate};
use abx_stats::student::Confidence;

/// The combined result of several records.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pooled {
    #[serde(flatten)]
    pub head: OutputHead,
    /// The names of the records, in order.
    pub records: Vec<String>,
    /// One per primary comparison of the first record.
    pub comparisons: Vec<PooledComparison>,
}

/// One comparison over all records.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PooledComparison {
    pub metric: Metric,
    pub load: String,
    pub subject: String,
    pub baseline: String,
    /// The result of each record, in their order; `None` if it has no such claim.
    pub each: Vec<Option<Bounds>>,
    /// The mean over such records; `None` if too few records have a claim.
    pub mean: Option<Bounds>,
    /// The interval for the true ratio of a further record; from three records on.
    pub prediction: Option<Bounds>,
    /// The standard deviation between records beyond chance, as a share.
    pub between: Option<f64>,
    /// How often such intervals contain the truth, as a share.
    pub confidence: f64,
    /// Whether the ratio of some record is a bound.
    pub at_least: bool,
}

/// Why records are not combined. Each error names the record and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    #[error(
        "{record} differs from {first} in {what} ({found} instead of {expected}): give records of \
         one study, with the same subjects, baseline and loads"
    )]
    Other {
        what: &'static str,
        record: String,
        /// The first record.
        first: String,
        found: String,
        /// The value of the first record.
        expected: String,
    },
    #[error("{record} and {first} are the same measurement: give each record once")]
    Twice { record: String, first: String },
}

/// Combines records of one study.
///
/// Method: each record's mean log ratio with its standard error over blocks, then a mean
/// with random effects; see [`RandomEffects`]. Source: docs/explain/statistics/several-records.md, "Several
/// records".
///
/// # Errors
/// [`PoolError`] for records of different studies, and for one that is given twice.
pub fn pooled(records: &[(String, StudyRecord)]) -> Result<Pooled, PoolError> {
    let Some((first, others)) = records.split_first() else {
        return Ok(Pooled {
            head: OutputKind::Pooled.into(),
            records: Vec::new(),
            comparisons: Vec::new(),
        });
    };
    others
        .iter()
        .try_for_each(|other| same_study(first, other))?;
    for (index, (name, record)) in records.iter().enumerate() {
        let key = |record: &StudyRecord| (record.measured.seed, record.measured.started_unix_ms);
        let mut earlier = records[..index].iter();
        if let Some((first, _)) = earlier.find(|(_, other)| key(other) == key(record)) {
            return Err(PoolError::Twice {
                record: name.clone(),
                first: first.clone(),
            });
        }
    }
    let requested = first.1.conclusions.primary();
    Ok(Pooled {
        head: OutputKind::Pooled.into(),
        records: records.iter().map(|record| record.0.clone()).collect(),
        comparisons: requested
            .map(|comparison| compared(comparison, records))
            .collect(),
    })
}

/// Checks that two records are of one study: the same subjects, baseline and loads.
fn same_study(
    first: &(String, StudyRecord),
    other: &(String, StudyRecord),
) -> Result<(), PoolError> {
    let refusal = |what, expected, text| PoolError::Other {
        what,
        record: other.0.clone(),
        first: first.0.clone(),
        found: text,
        expected,
    };
    for ((what, expected), (_, text)) in identity(&first.1).into_iter().zip(identity(&other.1)) {
        if expected != text {
            return Err(refusal(what, expected, text));
        }
    }
    let pairs = first.1.measured.loads.iter().zip(&other.1.measured.loads);
    for (load_record, two) in pairs {
        if as_requested(&load_record.settings) != as_requested(&two.settings) {
            let [expected, text] = [load_record, two].map(|load| {
                let connections = load.settings.connections;
                format!("{} with {connections} connections", load.name)
            });
            return Err(refusal("settings of a load", expected, text));
        }
    }
    Ok(())
}

/// What makes a record one of a study, each by name.
fn identity(record: &StudyRecord) -> [(&'static str, String); 3] {
    let measured = &record.measured;
    let mut subjects: Vec<&str> = measured
        .subjects
        .iter()
        .map(|subject| subject.name.as_str())
        .collect();
    subjects.sort_unstable();
    let loads: Vec<&str> = measured
        .loads
        .iter()
        .map(|load| load.name.as_str())
        .collect();
    [
        ("subjects", subjects.join(", ")),
        ("baseline", measured.settings.baseline.clone()),
        ("loads", loads.join(", ")),
    ]
}

/// The requested settings, without values that depend on the machine.
fn as_requested(settings: &LoadSettings) -> LoadSettings {
    let mut requested = settings.clone();
    if requested.share_of_slowest.is_some() {
        requested.arrivals.rate_per_s = None;
        requested.arrivals.text.clear();
    }
    requested
}

fn compared(requested: &Comparison, records: &[(String, StudyRecord)]) -> PooledComparison {
    let claims: Vec<Option<&Comparison>> = records
        .iter()
        .map(|(_, record)| {
            let mut comparisons = record.conclusions.primary();
            comparisons.find(|comparison| {
                is_same(comparison, requested) && comparison.verdict != Verdict::Invalid
            })
        })
        .collect();
    let estimates: Vec<StudyEstimate> = claims
        .iter()
        .flatten()
        .filter_map(|comparison| of(comparison))
        .collect();
    let effects = RandomEffects::of(&estimates, Confidence::PRINTED);
    let bounds = |interval: LogInterval| Bounds::from(interval.ratios(Confidence::PRINTED.share()));
    let ratios = claims.iter().map(|claim| {
        let [ratio, low, high] = (*claim)?.bounds()?;
        Some(Bounds { ratio, low, high })
    });
    PooledComparison {
        metric: requested.metric,
        load: requested.load.clone(),
        subject: requested.subject.clone(),
        baseline: requested.baseline.clone(),
        each: ratios.collect(),
        mean: effects.map(|effects| bounds(effects.mean)),
        prediction: effects.and_then(|effects| effects.prediction).map(bounds),
        between: effects.map(|effects| effects.between.exp_m1()),
        confidence: Confidence::PRINTED.share(),
        at_least: claims
            .iter()
            .flatten()
            .any(|comparison| comparison.at_least),
    }
}

fn is_same(comparison: &Comparison, other: &Comparison) -> bool {
    comparison.metric == other.metric
        && (&comparison.load, &comparison.subject, &comparison.baseline)
            == (&other.load, &other.subject, &other.baseline)
}

/// The mean of a comparison's blocks with its standard error.
fn of(comparison: &Comparison) -> Option<StudyEstimate> {
    let logs: Option<Vec<f64>> = comparison
        .per_block
        .iter()
        .map(|ratio| ratio.map(f64::ln))
        .collect();
    let mean = PairedMean::of(&logs?).ok()?;
    Some(StudyEstimate {
        center: mean.mean(),
        error: mean.spread() / (mean.blocks() as f64).sqrt(),
    })
}
