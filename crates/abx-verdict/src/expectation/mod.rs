//! What a person expects of a study, and whether its intervals bear it out.
//! An expectation is a question to a record and no part of it: start at
//! [`Expectation::parse`] for the words, at [`expectation_results`] for the response.

#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod limit_state;
mod reading;
mod threshold;
mod words;

use std::fmt;

use self::reading::{Figures, Orientation, Reading};
use crate::file::study::StudyRecord;
use crate::judge::comparison::{Bounds, Comparison, Role};
use crate::judge::metric::{Metric, Sense};
use abx_stats::student::Confidence;

pub use limit_state::{LimitState, blocks_until_settled, limit_state};
pub use threshold::{GoalReading, Threshold};
pub use words::{ExpectationError, KnownNames};

/// On which side of its factor a ratio is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    AtLeast,
    AtMost,
    Above,
    Below,
}

impl Sign {
    /// As it is written.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Sign::AtLeast => ">=",
            Sign::AtMost => "<=",
            Sign::Above => ">",
            Sign::Below => "<",
        }
    }
}

/// A ratio of two subjects that is expected on one side of a factor.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioExpectation {
    /// What is compared; `None` for how fast they are, by what each load was
    /// made to compare.
    pub metric: Option<Metric>,
    pub subject: String,
    /// On which side of the factor.
    pub sign: Sign,
    /// The factor, above zero.
    pub factor: f64,
    /// What the subject is set beside.
    pub other: String,
    /// The load; `None` for every one.
    pub load: Option<String>,
}

impl fmt::Display for RatioExpectation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(metric) = self.metric {
            write!(formatter, "{}: ", metric.id())?;
        }
        write!(formatter, "{} {} ", self.subject, self.sign.text())?;
        // Exactly 1 is what is meant where none is written.
        if self.factor.to_bits() != 1.0_f64.to_bits() {
            write!(formatter, "{} * ", self.factor)?;
        }
        formatter.write_str(&self.other)?;
        match &self.load {
            Some(load) => write!(formatter, " @ {load}"),
            None => Ok(()),
        }
    }
}

/// What a person expects of a study.
#[derive(Debug, Clone, PartialEq)]
pub enum Expectation {
    /// A ratio on one side of a factor.
    Ratio(RatioExpectation),
    /// Limits that each subject must keep to.
    Threshold(Threshold),
    /// That no subject is slower than its baseline by more than this share, in
    /// any primary comparison, nor slower than a subject of an older record.
    NotSlower {
        /// From 0 up to, and without, 1.
        share: f64,
    },
}

impl Expectation {
    /// Whether a response must be had: that no regression was found is enough where
    /// one could have been, and else what was expected is demanded.
    #[must_use]
    pub fn is_demanded(&self) -> bool {
        !matches!(self, Expectation::NotSlower { .. })
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expectation::Ratio(ratio) => ratio.fmt(formatter),
            Expectation::Threshold(threshold) => threshold.fmt(formatter),
            Expectation::NotSlower { share } => {
                // As many digits as were written: 0.03 times 100 is not 3 in floats.
                let percent = (share * 1e8).round() / 1e6;
                write!(formatter, "not slower by more than {percent} %")
            }
        }
    }
}

/// Why an expectation is neither borne out nor refuted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The interval has parts on both sides of the factor.
    Straddles,
    /// The truth may lie further from 1 than what was measured.
    Bound,
    /// Fewer blocks than a verdict takes, which is so many.
    FewBlocks(usize),
    /// They were measured at different times, and nothing beside both.
    NoReference,
    /// There is no interval with two ends.
    NoInterval,
    /// These two were not compared by this.
    NotCompared,
    /// Requests had no response, so a quantile may be longer than what was seen.
    TimesAtLeast,
    /// A quantile needs so many requests.
    FewRequests(u64),
    /// No request was sent.
    NothingSent,
    /// The generator or a service was the limit, so which is faster is not known; what each response
    /// takes of the processor is.
    GeneratorBound,
}

impl Doubt {
    /// Whether so little was measured that no difference could have been found, however
    /// large it is.
    #[must_use]
    pub fn is_of_too_little(self) -> bool {
        match self {
            Doubt::FewBlocks(_)
            | Doubt::FewRequests(_)
            | Doubt::NothingSent
            | Doubt::NoInterval
            | Doubt::NotCompared => true,
            Doubt::Straddles
            | Doubt::Bound
            | Doubt::TimesAtLeast
            | Doubt::NoReference
            | Doubt::GeneratorBound => false,
        }
    }
}

/// What a record says to an expectation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The whole interval lies on the expected side.
    Holds,
    /// The whole interval lies on the other side.
    Fails,
    Unsettled(Doubt),
    /// No claim stands, for this reason.
    Invalid(String),
}

impl Standing {
    /// Whether too little was measured to tell anything.
    #[must_use]
    pub fn is_of_too_little(&self) -> bool {
        matches!(self, Standing::Unsettled(doubt) if doubt.is_of_too_little())
    }

    /// As one word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Standing::Holds => "holds",
            Standing::Fails => "fails",
            Standing::Unsettled(_) => "unsettled",
            Standing::Invalid(_) => "invalid",
        }
    }
}

/// The response of a record to one expectation, under one load.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectationResult {
    /// What was expected, as a person would write it.
    pub expected: String,
    pub is_demanded: bool,
    /// What was compared; `None` when nothing was.
    pub metric: Option<Metric>,
    /// The load; empty for what is of no load.
    pub load: String,
    /// The subject; empty when nothing was compared at all.
    pub subject: String,
    /// What was measured of a goal; `None` for a ratio, and if nothing was measured.
    pub goal: Option<GoalReading>,
    /// What it was set beside; a subject of an older record is its name `of then`.
    pub other: String,
    /// Subject over other, when there is an interval.
    pub bounds: Option<Bounds>,
    /// Whether the ratio of a time was turned over, to be read as one of speeds.
    pub is_speed_of_time: bool,
    /// On which side of which factor the ratio was expected; `None` when
    /// nothing was compared.
    pub wanted: Option<(Sign, f64)>,
    /// How many blocks more would bring the interval to one side of the factor, where it
    /// includes it.
    pub blocks_more: Option<u32>,
    pub standing: Standing,
}

impl ExpectationResult {
    /// The same with the blocks that it lacks, where it lacks only those.
    fn with_blocks(self, figures: &Reading) -> ExpectationResult {
        let is_open = self.standing == Standing::Unsettled(Doubt::Straddles);
        let wanted = self.wanted.filter(|_| is_open);
        ExpectationResult {
            blocks_more: wanted.and_then(|(_, factor)| figures.blocks_to(factor)),
            ..self
        }
    }
}

/// What a judged record says to each expectation, in their order.
///
/// Method: each by the printed interval of its own comparison, which is not
/// widened for the number of expectations: they were made before anything was
/// measured. Source: docs/reference/expectations.md.
#[must_use]
pub fn expectation_results(
    record: &StudyRecord,
    expectations: &[Expectation],
) -> Vec<ExpectationResult> {
    results_at(record, expectations, Confidence::COMPUTED)
}

/// The same, held to intervals that are computed at this confidence.
fn results_at(
    record: &StudyRecord,
    expectations: &[Expectation],
    confidence: Confidence,
) -> Vec<ExpectationResult> {
    let each = expectations.iter().flat_map(|expectation| {
        let mut expectation_results = match expectation {
            Expectation::Ratio(ratio) => ratio_results(record, ratio, confidence),
            Expectation::Threshold(threshold) => threshold::results(record, threshold),
            Expectation::NotSlower { share } => not_slower_results(record, *share, confidence),
        };
        for expectation_result in &mut expectation_results {
            if expectation_result.expected.is_empty() {
                expectation_result.expected = expectation.to_string();
            }
            expectation_result.is_demanded = expectation.is_demanded();
        }
        expectation_results
    });
    each.collect()
}

/// One response for each load, or one alone for what is of no load.
fn ratio_results(
    record: &StudyRecord,
    wanted: &RatioExpectation,
    confidence: Confidence,
) -> Vec<ExpectationResult> {
    let loads: Vec<&str> = match (&wanted.load, wanted.metric) {
        (_, Some(metric)) if metric.is_of_a_start() => vec![""],
        (Some(load), _) => vec![load],
        (None, _) => record
            .measured
            .loads
            .iter()
            .map(|load| load.name.as_str())
            .collect(),
    };
    let expectation_result = |load: &str| {
        let blank = ExpectationResult {
            load: load.to_owned(),
            subject: wanted.subject.clone(),
            other: wanted.other.clone(),
            ..nothing_compared()
        };
        let Some((comparison, way)) = find(record, load, wanted) else {
            return blank;
        };
        // How fast they are was asked, and of a time less is faster.
        let is_speed_of_time = wanted.metric.is_none() && comparison.metric.sense() == Sense::Time;
        let reading = match (way, is_speed_of_time) {
            (Orientation::Straight, false) | (Orientation::Mirrored, true) => Orientation::Straight,
            _ => Orientation::Mirrored,
        };
        let figures = Reading::of(Figures::of(comparison, record, confidence), reading);
        ExpectationResult {
            metric: Some(comparison.metric),
            bounds: figures.bounds(),
            is_speed_of_time,
            wanted: Some((wanted.sign, wanted.factor)),
            standing: if is_of_speed(comparison.metric) || wanted.metric.is_some() {
                figures.standing(wanted.sign, wanted.factor)
            } else {
                Standing::Unsettled(Doubt::GeneratorBound)
            },
            ..blank
        }
        .with_blocks(&figures)
    };
    loads.into_iter().map(expectation_result).collect()
}

/// One response for each primary comparison, then one for each with an older record.
fn not_slower_results(
    record: &StudyRecord,
    share: f64,
    confidence: Confidence,
) -> Vec<ExpectationResult> {
    let expectation_result = |metric: Metric, figures: Reading| {
        let (sign, factor) = match metric.sense() {
            Sense::Speed => (Sign::AtLeast, 1.0 - share),
            Sense::Time | Sense::Cost => (Sign::AtMost, 1.0 + share),
        };
        ExpectationResult {
            metric: Some(metric),
            bounds: figures.bounds(),
            wanted: Some((sign, factor)),
            standing: if is_of_speed(metric) {
                figures.standing(sign, factor)
            } else {
                Standing::Unsettled(Doubt::GeneratorBound)
            },
            ..nothing_compared()
        }
        .with_blocks(&figures)
    };
    let straight = |figures| Reading::of(figures, Orientation::Straight);
    let now = record
        .conclusions
        .primary()
        .map(|comparison| ExpectationResult {
            load: comparison.load.clone(),
            subject: comparison.subject.clone(),
            other: comparison.baseline.clone(),
            ..expectation_result(
                comparison.metric,
                straight(Figures::of(comparison, record, confidence)),
            )
        });
    let beside = &record.conclusions.past_comparisons;
    let then = beside.iter().map(|unpaired| ExpectationResult {
        load: unpaired.load.clone(),
        subject: unpaired.subject.clone(),
        other: format!("{} of then", unpaired.baseline),
        ..expectation_result(
            unpaired.metric,
            straight(Figures::of_unpaired(unpaired, record, confidence)),
        )
    });
    let expectation_results: Vec<ExpectationResult> = now.chain(then).collect();
    if expectation_results.is_empty() {
        vec![nothing_compared()]
    } else {
        expectation_results
    }
}

/// Whether what a study was made for tells who is slower: processor time, which stands in
/// for a throughput that was the generator's, does not.
fn is_of_speed(primary: Metric) -> bool {
    primary != Metric::ServerCpu
}

fn nothing_compared() -> ExpectationResult {
    ExpectationResult {
        expected: String::new(),
        is_demanded: false,
        metric: None,
        load: String::new(),
        subject: String::new(),
        goal: None,
        other: String::new(),
        bounds: None,
        is_speed_of_time: false,
        wanted: None,
        blocks_more: None,
        standing: Standing::Unsettled(Doubt::NotCompared),
    }
}

/// The comparison of these two: beside the baseline, else from the ranking.
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
    let mut everything = record.conclusions.comparisons.iter().chain(ranked);
    everything.find_map(|comparison| {
        let is_asked = match wanted.metric {
            Some(metric) => comparison.metric == metric,
            None => comparison.role == Role::Primary,
        };
        let names = [comparison.subject.as_str(), comparison.baseline.as_str()];
        let way = match names {
            names if names == [&wanted.subject, &wanted.other] => Orientation::Straight,
            names if names == [&wanted.other, &wanted.subject] => Orientation::Mirrored,
            _ => return None,
        };
        (is_asked && comparison.load == load).then_some((comparison, way))
    })
}
