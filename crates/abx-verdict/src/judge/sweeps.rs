//! Loads that differ only in connections or only in rate, judged together: where
//! two subjects change places, and how throughput grows with connections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::comparing::plan::{is_by_session_time, primary_time};
use crate::judge::comparison::{Comparison, Role};
use crate::judge::metric::{Metric, Sense};
use crate::judge::values::{Rounds, Values};
use crate::judge::verdict::Verdict;
use crate::view::summary::Summary;
use crate::view::{OfferView, StudyView};
use abx_evidence::median;
use abx_evidence::record::{LoadRecord, LoadSettings, Measured};
use abx_model::LoadShape;
use abx_stats::curve::crossing::{Crossing, Side, crossings};
use abx_stats::curve::sweep::Position;
use abx_stats::curve::usl::{Observation, POSITIONS_MIN, R2_MIN, ScalabilityLaw};
use abx_stats::stop::BLOCKS_ORDERED;
use abx_stats::student::Confidence;

/// Loads of one study that differ only in one number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sweep {
    /// The number in which they differ.
    pub axis: Axis,
    /// The metric by which subjects are compared.
    pub metric: Metric,
    /// The loads, in ascending order of that number.
    pub loads: Vec<String>,
    /// The number of each load: connections, or requests per second.
    pub at: Vec<f64>,
    /// The points at which subjects change places with the baseline, as far as they are certain.
    pub crossovers: Vec<Crossover>,
    /// The growth of each subject's throughput with connections, if there are enough of
    /// them and the law explains [`R2_MIN`] of the variance.
    pub scalability: Vec<Scalability>,
    /// The number of connections from which throughput hardly grows, if nothing is compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knees: Vec<Knee>,
}

/// The fewest connections of a sweep at which a subject gives nearly its highest
/// throughput: [`KNEE_SHARE`] of it, both from the summaries of the loads. A description,
/// from which nothing is decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Knee {
    /// The subject.
    pub subject: String,
    /// The connections. `None` if only the largest number in the sweep gives nearly the highest
    /// throughput, because the highest may then lie beyond the sweep.
    pub connections: Option<f64>,
    /// The highest throughput of the sweep, in requests per second.
    pub highest_per_s: f64,
}

/// The share of the highest throughput that counts as nearly all of it.
pub const KNEE_SHARE: f64 = 0.95;

/// The number in which the loads of a sweep differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// Connections of a closed loop.
    Connections,
    /// Requests per second of an open loop.
    Rate,
}

/// Two subjects that change places.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Crossover {
    /// The subject that is ahead before.
    pub before: String,
    /// The subject that is ahead after.
    pub after: String,
    /// The last load of the sweep at which the first is certainly ahead.
    pub ahead_until: f64,
    /// The first load of the sweep at which the second is certainly ahead.
    pub ahead_from: f64,
    /// The number at which they are even, between these two.
    pub at: f64,
    /// The lower end of the interval of that number; `None` if it is below the sweep.
    pub low: Option<f64>,
    /// The upper end; `None` if it is above the sweep.
    pub high: Option<f64>,
    /// How often such an interval contains the truth, as a share.
    pub confidence: f64,
}

/// The Universal Scalability Law, fitted to each block: medians over blocks. A
/// description, from which nothing is decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scalability {
    /// The subject.
    pub subject: String,
    /// Requests per second of one connection.
    pub lambda: f64,
    /// The share of the work for which connections wait for each other.
    pub sigma: f64,
    /// The cost of each pair of connections.
    pub kappa: f64,
    /// Connections at which throughput is highest; `None` if it never decreases.
    pub peak_connections: Option<f64>,
    /// The share of the variance that the law explains.
    pub r2: Option<f64>,
}

/// The sweeps of a study, in the order of their first loads.
pub(crate) fn sweeps(
    study: &StudyView,
    comparisons: &[Comparison],
    summaries: &[Summary],
) -> Vec<Sweep> {
    let mut groups: Vec<(Axis, LoadSettings, Vec<&OfferView>)> = Vec::new();
    for view in &study.loads {
        let Some((axis, rest)) = without_position(&view.load.settings) else {
            continue;
        };
        let mut known = groups.iter_mut();
        match known.find(|(known, settings, _)| *known == axis && *settings == rest) {
            Some((.., loads)) => loads.push(view),
            None => groups.push((axis, rest, vec![view])),
        }
    }
    groups
        .into_iter()
        .filter(|(.., loads)| loads.len() > 1)
        .filter_map(|(axis, _, loads)| sweep(study.study, (comparisons, summaries), axis, loads))
        .collect()
}

/// The axis on which a load has a position, and its settings without that position.
fn without_position(settings: &LoadSettings) -> Option<(Axis, LoadSettings)> {
    let mut rest = settings.clone();
    // A load that holds connections has no throughput.
    if settings.objective.is_some() || settings.exchange.shape == LoadShape::Connections {
        return None;
    }
    if settings.arrivals.is_open() {
        rest.arrivals.rate_per_s.take()?;
        rest.share_of_slowest = None;
        return Some((Axis::Rate, rest));
    }
    rest.connections = 0;
    Some((Axis::Connections, rest))
}

fn position(axis: Axis, view: &OfferView) -> f64 {
    let settings = &view.load.settings;
    match axis {
        Axis::Connections => settings.connections.into(),
        Axis::Rate => settings.arrivals.rate_per_s.unwrap_or_default(),
    }
}

fn sweep(
    record: &Measured,
    (comparisons, summaries): (&[Comparison], &[Summary]),
    axis: Axis,
    mut loads: Vec<&OfferView>,
) -> Option<Sweep> {
    loads.sort_by(|load, other| position(axis, load).total_cmp(&position(axis, other)));
    let at: Vec<f64> = loads.iter().map(|load| position(axis, load)).collect();
    if at.windows(2).any(|pair| pair[0] >= pair[1]) {
        return None;
    }
    // The throughput of users who pause grows with their number alone, and shows no limit.
    let is_paused = loads.iter().any(|view| is_by_session_time(view.load));
    let metric = if axis == Axis::Connections && !is_paused {
        Metric::Throughput
    } else {
        // The highest quantile for which all loads have enough requests.
        loads.iter().map(|view| primary_time(view.load)).min()?
    };
    let crossovers = record.pairs().into_iter().flat_map(|pair| {
        let is_compared = |view: &&&OfferView| record.pairs_under(view.load).contains(&pair);
        let compared: Vec<&OfferView> = loads.iter().filter(is_compared).copied().collect();
        PairSweep { axis, metric, pair }.crossovers(&compared, comparisons)
    });
    Some(Sweep {
        axis,
        metric,
        crossovers: crossovers.collect(),
        scalability: match axis {
            Axis::Connections if !is_paused => scalability(&loads),
            _ => Vec::new(),
        },
        knees: match axis {
            Axis::Connections if !record.is_comparison() && !is_paused => knees(&loads, summaries),
            _ => Vec::new(),
        },
        loads: loads.iter().map(|view| view.load.name.clone()).collect(),
        at,
    })
}

/// A sweep of one pair.
struct PairSweep<'a> {
    axis: Axis,
    metric: Metric,
    pair: [&'a str; 2],
}

impl PairSweep<'_> {
    fn crossovers(&self, loads: &[&OfferView], comparisons: &[Comparison]) -> Vec<Crossover> {
        let sound = loads
            .iter()
            .filter(|view| !self.is_void(view.load, comparisons));
        let mut points: Vec<(f64, Vec<f64>)> = Vec::new();
        for view in sound {
            let values = Values::under(view, self.metric, Rounds::All);
            if values.are_complete(self.pair) {
                points.push((position(self.axis, view), values.log_ratios(self.pair)));
            }
        }
        // Loads that were settled before the others have fewer blocks.
        let fewest = points.iter().map(|(_, blocks)| blocks.len()).min();
        if fewest.is_none_or(|fewest| fewest < BLOCKS_ORDERED) {
            return Vec::new();
        }
        let positions: Vec<Position> = points
            .iter()
            .map(|(at, blocks)| Position { at: *at, blocks })
            .collect();
        let crossings = crossings(&positions, Confidence::COMPUTED).unwrap_or_default();
        crossings
            .iter()
            .filter_map(|crossing| self.crossover(crossing))
            .collect()
    }

    fn is_void(&self, load: &LoadRecord, comparisons: &[Comparison]) -> bool {
        let mut of_pair = comparisons.iter().filter(|comparison| {
            let pair = [comparison.subject.as_str(), comparison.baseline.as_str()];
            comparison.role == Role::Primary && comparison.load == load.name && pair == self.pair
        });
        // If CPU time replaces throughput, throughput is void too.
        of_pair.any(|comparison| {
            comparison.verdict == Verdict::Invalid || comparison.metric == Metric::ServerCpu
        })
    }

    fn crossover(&self, crossing: &Crossing) -> Option<Crossover> {
        let [subject, baseline] = self.pair;
        let ahead = |side| match (side, self.metric.sense()) {
            (Side::Above, Sense::Speed) | (Side::Below, Sense::Time | Sense::Cost) => subject,
            _ => baseline,
        };
        Some(Crossover {
            before: ahead(crossing.before).to_owned(),
            after: ahead(crossing.after).to_owned(),
            ahead_until: crossing.ahead_until?,
            ahead_from: crossing.ahead_from?,
            at: crossing.at,
            low: crossing.low,
            high: crossing.high,
            confidence: Confidence::PRINTED.share(),
        })
    }
}

/// Reads throughputs from the summaries, so that a knee never contradicts the table of the loads.
fn knees(loads: &[&OfferView], summaries: &[Summary]) -> Vec<Knee> {
    let subjects = loads.iter().take(1).flat_map(|view| &view.subjects);
    let knee = |subject: &str| {
        let under = |view: &&OfferView| {
            let of_load = |summary: &&Summary| {
                (&*summary.subject, &summary.load) == (subject, &view.load.name)
            };
            let throughput = summaries.iter().find(of_load)?.throughput_per_s?;
            Some((f64::from(view.load.settings.connections), throughput))
        };
        knee(
            subject,
            &loads.iter().map(under).collect::<Option<Vec<_>>>()?,
        )
    };
    subjects
        .filter_map(|subject| knee(subject.subject))
        .collect()
}

/// The knee of throughputs by connections, in ascending order of connections.
fn knee(subject: &str, throughputs: &[(f64, f64)]) -> Option<Knee> {
    let values = throughputs.iter().map(|(_, throughput)| *throughput);
    let highest_per_s = values.reduce(f64::max)?;
    let mut points = throughputs.iter();
    let (connections, _) = points.find(|(_, value)| *value >= KNEE_SHARE * highest_per_s)?;
    let (most, _) = throughputs.last()?;
    Some(Knee {
        subject: subject.to_owned(),
        connections: (connections < most).then_some(*connections),
        highest_per_s,
    })
}

fn scalability(loads: &[&OfferView]) -> Vec<Scalability> {
    if loads.len() < POSITIONS_MIN {
        return Vec::new();
    }
    let throughputs: Vec<(f64, Values)> = loads
        .iter()
        .map(|view| {
            let values = Values::under(view, Metric::Throughput, Rounds::All);
            (f64::from(view.load.settings.connections), values)
        })
        .collect();
    let subjects = loads.iter().take(1).flat_map(|view| &view.subjects);
    subjects
        .filter_map(|subject| law(subject.subject, &throughputs))
        .collect()
}

fn law(subject: &str, throughputs: &[(f64, Values)]) -> Option<Scalability> {
    let blocks = throughputs
        .iter()
        .map(|(_, values)| values.of(subject).len())
        .min()?;
    let fits: Vec<ScalabilityLaw> = (0..blocks)
        .filter_map(|block| {
            let points: Option<Vec<Observation>> = throughputs
                .iter()
                .map(|(connections, values)| {
                    let throughput = values.of(subject)[block]?.amount;
                    Some(Observation {
                        connections: *connections,
                        throughput,
                    })
                })
                .collect();
            ScalabilityLaw::fit(&points?).ok()
        })
        .collect();
    let median_of = |pick: fn(&ScalabilityLaw) -> Option<f64>| {
        let values: Option<Vec<f64>> = fits.iter().map(pick).collect();
        median(values?)
    };
    let r2 = median_of(|law| law.r2).filter(|r2| *r2 >= R2_MIN)?;
    Some(Scalability {
        subject: subject.to_owned(),
        lambda: median_of(|law| Some(law.lambda))?,
        sigma: median_of(|law| Some(law.sigma))?,
        kappa: median_of(|law| Some(law.kappa))?,
        peak_connections: median_of(ScalabilityLaw::peak),
        r2: Some(r2),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_is_where_throughput_is_nearly_the_highest() {
        // Method: a throughput that stops growing at ten connections, one that still grows, one
        // that falls, and no load.
        let result = |throughputs: &[f64]| {
            let points: Vec<(f64, f64)> = [1.0, 10.0, 100.0]
                .into_iter()
                .zip(throughputs.iter().copied())
                .collect();
            let knee = knee("a", &points)?;
            Some((knee.connections, knee.highest_per_s))
        };
        assert_eq!(
            result(&[100.0, 960.0, 1_000.0]),
            Some((Some(10.0), 1_000.0))
        );
        assert_eq!(result(&[100.0, 940.0, 1_000.0]), Some((None, 1_000.0)));
        assert_eq!(result(&[100.0, 50.0, 20.0]), Some((Some(1.0), 100.0)));
        assert_eq!(result(&[]), None);
    }
}
