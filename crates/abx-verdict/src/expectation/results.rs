//! Results of expectations, by the intervals of their comparisons.

use super::reading::{Figures, Orientation, Reading};
use super::result::{Doubt, ExpectationResult, Standing, nothing_compared};
use super::statement::{Expectation, RatioExpectation, Sign};
use super::threshold;
use crate::file::study::StudyRecord;
use crate::judge::comparison::{Comparison, Role};
use crate::judge::metric::{Metric, Sense};
use abx_evidence::record::LoadRecord;
use abx_stats::student::Confidence;

impl ExpectationResult {
    /// Adds the number of blocks that it lacks, if it lacks only blocks.
    fn with_blocks(self, figures: &Reading) -> ExpectationResult {
        let is_open = self.standing == Standing::Unsettled(Doubt::Straddles);
        let wanted = self.wanted.filter(|_| is_open);
        ExpectationResult {
            blocks_more: wanted.and_then(|(_, factor)| figures.blocks_to(factor)),
            ..self
        }
    }
}

/// Whether a judged record meets each expectation, in their order.
///
/// Method: each by the printed interval of its own comparison, which is not
/// widened for the number of expectations, because they were stated before
/// anything was measured. Source: docs/reference/expectations.md.
#[must_use]
pub fn expectation_results(
    record: &StudyRecord,
    expectations: &[Expectation],
) -> Vec<ExpectationResult> {
    results_at(record, expectations, Confidence::COMPUTED)
}

/// As [`expectation_results`], by intervals at this confidence.
pub(super) fn results_at(
    record: &StudyRecord,
    expectations: &[Expectation],
    confidence: Confidence,
) -> Vec<ExpectationResult> {
    let results = expectations.iter().flat_map(|expectation| {
        let mut results = match expectation {
            Expectation::Ratio(ratio) => ratio_results(record, ratio, confidence),
            Expectation::Threshold(threshold) => threshold::results(record, threshold),
            Expectation::NotSlower { share } => not_slower_results(record, *share, confidence),
        };
        for result in &mut results {
            if result.expected.is_empty() {
                result.expected = expectation.to_string();
            }
            result.is_demanded = expectation.is_demanded();
        }
        results
    });
    results.collect()
}

/// One result per load, or a single one for a metric that belongs to no load.
fn ratio_results(
    record: &StudyRecord,
    wanted: &RatioExpectation,
    confidence: Confidence,
) -> Vec<ExpectationResult> {
    let loads: Vec<&str> = match (&wanted.load, wanted.metric) {
        (_, Some(metric)) if metric.is_of_a_start() => vec![""],
        (Some(load), _) => vec![load],
        (None, Some(Metric::Recovery)) if !record.measured.faults.is_empty() => {
            let faults = record.measured.faults.iter();
            faults.map(|fault| fault.name.as_str()).collect()
        }
        (None, _) => compared_loads(record),
    };
    let result = |load: &str| {
        let blank = ExpectationResult {
            load: load.to_owned(),
            subject: wanted.subject.clone(),
            other: wanted.other.clone(),
            ..nothing_compared()
        };
        let Some((comparison, orientation)) = find(record, load, wanted) else {
            return blank;
        };
        // The expectation is about speed, and a shorter time is faster.
        let is_speed_of_time = wanted.metric.is_none() && comparison.metric.sense() == Sense::Time;
        let orientation = match (orientation, is_speed_of_time) {
            (Orientation::Straight, false) | (Orientation::Mirrored, true) => Orientation::Straight,
            _ => Orientation::Mirrored,
        };
        let figures = Reading::of(Figures::of(comparison, record, confidence), orientation);
        ExpectationResult {
            metric: Some(comparison.metric),
            bounds: figures.bounds(),
            is_speed_of_time,
            wanted: Some((wanted.sign, wanted.factor)),
            standing: match doubt_of_speed(comparison.metric) {
                Some(doubt) if wanted.metric.is_none() => Standing::Unsettled(doubt),
                _ => figures.standing(wanted.sign, wanted.factor),
            },
            ..blank
        }
        .with_blocks(&figures)
    };
    loads.into_iter().map(result).collect()
}

/// The names that loads have in comparisons: a capacity belongs to all rates of its grid.
fn compared_loads(record: &StudyRecord) -> Vec<&str> {
    let mut names = Vec::new();
    for name in record.measured.loads.iter().map(LoadRecord::name_of_grid) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// One result per primary comparison, or a single one if nothing was compared.
fn not_slower_results(
    record: &StudyRecord,
    share: f64,
    confidence: Confidence,
) -> Vec<ExpectationResult> {
    let result = |metric: Metric, figures: Reading| {
        let (sign, factor) = match metric.sense() {
            Sense::Speed => (Sign::AtLeast, 1.0 - share),
            Sense::Time | Sense::Cost => (Sign::AtMost, 1.0 + share),
        };
        ExpectationResult {
            metric: Some(metric),
            bounds: figures.bounds(),
            wanted: Some((sign, factor)),
            standing: doubt_of_speed(metric)
                .map_or_else(|| figures.standing(sign, factor), Standing::Unsettled),
            ..nothing_compared()
        }
        .with_blocks(&figures)
    };
    let straight = |figures| Reading::of(figures, Orientation::Straight);
    let primary = record.conclusions.primary();
    let results = primary.map(|comparison| ExpectationResult {
        load: comparison.load.clone(),
        subject: comparison.subject.clone(),
        other: comparison.baseline.clone(),
        ..result(
            comparison.metric,
            straight(Figures::of(comparison, record, confidence)),
        )
    });
    let results: Vec<ExpectationResult> = results.collect();
    if results.is_empty() {
        vec![nothing_compared()]
    } else {
        results
    }
}

/// Why a study's primary metric does not show which subject is slower, if so. CPU time replaces a
/// throughput that the generator limited; other costs are those of loads that have no speed.
fn doubt_of_speed(primary: Metric) -> Option<Doubt> {
    match (primary, primary.sense()) {
        (Metric::ServerCpu, _) => Some(Doubt::GeneratorBound),
        (_, Sense::Cost) => Some(Doubt::NotOfSpeed),
        (_, Sense::Speed | Sense::Time) => None,
    }
}

/// The comparison of the two subjects: a requested one, else one from a ranking.
fn find<'a>(
    record: &'a StudyRecord,
    load: &str,
    wanted: &RatioExpectation,
) -> Option<(&'a Comparison, Orientation)> {
    let ranked = record
        .conclusions
        .rankings
        .iter()
        .flat_map(|ranking| &ranking.pairs);
    let mut comparisons = record.conclusions.comparisons.iter().chain(ranked);
    comparisons.find_map(|comparison| {
        let is_meant = match wanted.metric {
            Some(metric) => comparison.metric == metric,
            None => comparison.role == Role::Primary,
        };
        let names = [comparison.subject.as_str(), comparison.baseline.as_str()];
        let orientation = match names {
            names if names == [&wanted.subject, &wanted.other] => Orientation::Straight,
            names if names == [&wanted.other, &wanted.subject] => Orientation::Mirrored,
            _ => return None,
        };
        (is_meant && comparison.load == load).then_some((comparison, orientation))
    })
}
