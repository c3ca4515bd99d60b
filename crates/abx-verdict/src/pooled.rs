//! Several records of one study, made on other days or machines, read together: one
//! estimate for each comparison, and where the next record may lie. [`pooled`] does it.

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
    /// The records, as they were named, in their order.
    pub records: Vec<String>,
    /// One for each primary comparison of the first record.
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
    /// The mean over such records; `None` where too few of them have a claim.
    pub mean: Option<Bounds>,
    /// Where the true ratio of a further record may lie; from three records on.
    pub prediction: Option<Bounds>,
    /// How far records are apart beyond chance, as a share: a standard deviation.
    pub between: Option<f64>,
    /// How often such intervals hold the truth, as a share.
    pub confidence: f64,
    /// Whether the ratio of some record is a bound.
    pub at_least: bool,
}

/// Why records are not read together; each names the record and what to do.
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
        /// What the first has.
        expected: String,
    },
    #[error("{record} and {first} are the same measurement: give each record once")]
    Twice { record: String, first: String },
}

/// Reads records of one study together.
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
    for (place, pair) in records.iter().enumerate() {
        let key = |record: &StudyRecord| (record.measured.seed, record.measured.started_unix_ms);
        let same = records[..place]
            .iter()
            .find(|other| key(&other.1) == key(&pair.1));
        if let Some(other) = same {
            return Err(PoolError::Twice {
                record: pair.0.clone(),
                first: other.0.clone(),
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

/// Whether two records are of one study: subjects, baseline, and what loads they are under.
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

/// The requested settings, without what each machine made of them.
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
    let random_effects = RandomEffects::of(&estimates, Confidence::PRINTED);
    let bounds = |interval: LogInterval| Bounds::from(interval.ratios(Confidence::PRINTED.share()));
    let each = claims.iter().map(|comparison| {
        let [ratio, low, high] = (*comparison)?.bounds()?;
        Some(Bounds { ratio, low, high })
    });
    PooledComparison {
        metric: requested.metric,
        load: requested.load.clone(),
        subject: requested.subject.clone(),
        baseline: requested.baseline.clone(),
        each: each.collect(),
        mean: random_effects.map(|random_effects| bounds(random_effects.mean)),
        prediction: random_effects
            .and_then(|random_effects| random_effects.prediction)
            .map(bounds),
        between: random_effects.map(|random_effects| random_effects.between.exp_m1()),
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
