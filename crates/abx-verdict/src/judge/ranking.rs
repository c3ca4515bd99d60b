//! Rankings: the range of places that each of several subjects may have, as far as the blocks
//! decide their order.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::findings::bottleneck::Bottleneck;
use crate::findings::open_loop::kept_up::kept_up;
use crate::findings::validity::Validity;
use crate::judge::comparing::family::{ComparedUnder, ComparisonFamily};
use crate::judge::comparing::plan::{is_by_session_time, primary_time};
use crate::judge::comparison::{Comparison, Role};
use crate::judge::metric::Metric;
use crate::judge::values::{Rounds, Values};
use crate::judge::verdict::{ClaimFamily, ERROR, Verdict};
use crate::view::{OfferView, StudyView};
use abx_evidence::{Finding, Level, Limits};
use abx_model::LoadShape;

/// The subjects of a study under one load, the best first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Ranking {
    /// The metric by which they are ranked.
    pub metric: Metric,
    /// The load's name.
    pub load: String,
    /// One per subject, in the order of their averages. Subjects that failed or have no result
    /// are omitted.
    pub places: Vec<Place>,
    /// Every pair: first those that the study requests, then all others. In these, the subject
    /// named first is the baseline.
    #[serde(serialize_with = "in_short")]
    #[schemars(with = "Vec<Pair>")]
    pub pairs: Vec<Comparison>,
}

/// A pair, as a file has it. There are many, so values that can be computed again from the
/// blocks are omitted: the ratio of each block, and other ways to read the blocks.
#[derive(Serialize, JsonSchema)]
struct Pair<'a> {
    /// The subject.
    subject: &'a str,
    /// The subject that it is compared with.
    baseline: &'a str,
    /// Subject over baseline; `None` if invalid.
    ratio: Option<f64>,
    /// The interval's lower end.
    low: Option<f64>,
    /// The interval's upper end.
    high: Option<f64>,
    /// How often such intervals contain the truth, as a share.
    confidence: f64,
    /// The number of blocks on which it rests.
    blocks: usize,
    /// The number of pairs that were judged together, including this one.
    together: usize,
    /// How often blocks without any difference would look at least so different, adjusted for the
    /// pairs judged together. There is a direction below 0.03, the error of intervals that are
    /// computed at 97 % and printed as 95 %. `None` without an interval.
    p_adjusted: Option<f64>,
    /// The verdict.
    verdict: Verdict,
    /// Whether the true ratio may lie further from 1 than measured.
    at_least: bool,
    /// Whether another sound way to read the same blocks gives another verdict.
    fragile: bool,
    /// The number of additional blocks that would settle it, if it is inconclusive.
    blocks_more: Option<u32>,
    /// The findings that limit it: numbers, from 0, in the record's `validity.findings`.
    findings: &'a [usize],
    /// The findings that limit it and nothing else.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    own_findings: &'a [Finding],
}

impl<'a> From<&'a Comparison> for Pair<'a> {
    fn from(pair: &'a Comparison) -> Pair<'a> {
        Pair {
            subject: &pair.subject,
            baseline: &pair.baseline,
            ratio: pair.ratio,
            low: pair.low,
            high: pair.high,
            confidence: pair.confidence,
            blocks: pair.blocks,
            together: pair.together,
            p_adjusted: pair.p_adjusted,
            verdict: pair.verdict,
            at_least: pair.at_least,
            fragile: pair.fragile,
            blocks_more: pair.blocks_more,
            findings: &pair.findings,
            own_findings: &pair.own_findings,
        }
    }
}

fn in_short<S: Serializer>(pairs: &[Comparison], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(pairs.iter().map(Pair::from))
}

/// The possible places of a subject, from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Place {
    /// The subject.
    pub subject: String,
    /// One more than the number of subjects that are certainly better.
    pub best: usize,
    /// The number of subjects, without those that are certainly worse.
    pub worst: usize,
    /// Whether rank 1 is among its places, so that no subject is certainly better.
    pub tied_for_first: bool,
}

impl Place {
    /// The place as "2", or the range as "2-4".
    #[must_use]
    pub fn text(&self) -> String {
        if self.best == self.worst {
            self.best.to_string()
        } else {
            format!("{}-{}", self.best, self.worst)
        }
    }
}

/// The ranking under each load, if there are more than two subjects. `findings` are those
/// that limit pairs, `validity` has all findings of the study.
///
/// Method: the requested pairs keep their verdicts. All other pairs are judged behind that gate,
/// adjusted by Holm, with the error that the requested ones leave; see [`ClaimFamily::behind`].
/// The places of a subject are those that remain possible given the certain pairs and what
/// follows from them: a subject that is above another is above all that the other is above. Source:
/// docs/explain/statistics/several-subjects.md, "Several subjects"; Mohd Idris and others, rank
/// sets (2017).
pub(crate) fn rankings(
    study: &StudyView,
    requested: &[Comparison],
    findings: &[Finding],
    validity: &Validity,
) -> Vec<Ranking> {
    study
        .loads
        .iter()
        .filter(|view| view.load.settings.objective.is_none())
        .filter_map(|view| rank(view, requested, findings, validity))
        .collect()
}

/// The ranking of the subjects that have not failed and are not void.
fn rank(
    view: &OfferView,
    requested: &[Comparison],
    findings: &[Finding],
    validity: &Validity,
) -> Option<Ranking> {
    let load = view.load;
    let is_void = |name: &str| {
        let of_subject = findings
            .iter()
            .filter(|finding| finding.subject.as_deref() == Some(name));
        let mut touching = of_subject.filter(|finding| finding.touches(&load.name, [name; 2]));
        touching.any(|finding| finding.level == Level::Void && finding.limits == Limits::All)
    };
    let ranked = view.subjects.iter().filter(|subject| !subject.has_failed());
    let names: Vec<&str> = ranked
        .map(|subject| subject.subject)
        .filter(|name| !is_void(name))
        .collect();
    if names.len() < 3 {
        return None;
    }
    let is_ranked = |name: &str| names.contains(&name);
    let requested: Vec<&Comparison> = requested
        .iter()
        .filter(|comparison| comparison.load == load.name && comparison.role == Role::Primary)
        .filter(|comparison| is_ranked(&comparison.subject) && is_ranked(&comparison.baseline))
        .collect();
    let metric = ranking_metric(view, &names, &requested);
    let family = ComparisonFamily {
        study: view.study,
        compared_under: &ComparedUnder::Load(view),
        metric,
        step: None,
        values: Values::under(view, metric, Rounds::All),
        limit: &Bottleneck::of(view),
        study_findings: findings,
    };
    let by_metric = requested
        .iter()
        .filter(|comparison| comparison.metric == metric);
    let mut pairs: Vec<Comparison> = by_metric.map(|comparison| (*comparison).clone()).collect();
    let behind = behind(&names, &pairs);
    // Pairs that were requested by other metrics have their share of the error.
    let claims = requested
        .iter()
        .filter(|comparison| comparison.verdict != Verdict::Invalid);
    let total = claims.clone().count();
    let ranked = claims.filter(|comparison| comparison.metric == metric);
    let share = if total == 0 {
        1.0
    } else {
        ranked.count() as f64 / total as f64
    };
    let gate = ClaimFamily::gate(names.len() - 1).part(share);
    let claims = behind_gate(&pairs, gate.ordered(view.study.is_ordered()));
    let others = family.compare(&behind, claims).into_iter();
    pairs.extend(others.map(|limited| limited.numbered(validity)));
    let order = in_order(&names, &family);
    (order.len() > 1).then(|| Ranking {
        metric,
        load: load.name.clone(),
        places: places(&order, &pairs),
        pairs,
    })
}

/// The metric that ranks the subjects of a load, given the requested pairs.
fn ranking_metric(view: &OfferView, ranked: &[&str], requested: &[&Comparison]) -> Metric {
    let load = view.load;
    if load.settings.exchange.shape == LoadShape::Connections {
        return Metric::MemoryPerConnection;
    }
    let have_kept_up = view
        .subjects
        .iter()
        .filter(|subject| ranked.contains(&subject.subject))
        .all(|subject| kept_up(subject).is_some());
    let is_by = |metric| {
        requested
            .iter()
            .any(|comparison| comparison.metric == metric)
    };
    let are_all_by_cpu = || {
        let mut metrics = requested.iter().map(|comparison| comparison.metric);
        metrics.all(|metric| metric == Metric::ServerCpu)
    };
    // Throughput shows nothing about subjects that kept up, but a void pair may have it as metric.
    if is_by_session_time(load) || (have_kept_up && !is_by(Metric::Throughput)) {
        primary_time(load)
    } else if !requested.is_empty() && are_all_by_cpu() {
        Metric::ServerCpu
    } else {
        Metric::Throughput
    }
}

/// The pairs that were not requested: each subject compared with those named before it.
fn behind<'a>(names: &[&'a str], requested: &[Comparison]) -> Vec<([&'a str; 2], Role)> {
    let is_requested = |pair: &[&str; 2]| {
        let is_of = |comparison: &Comparison, name| {
            [&*comparison.subject, &*comparison.baseline].contains(name)
        };
        let mut requested = requested.iter();
        requested.any(|comparison| pair.iter().all(|name| is_of(comparison, name)))
    };
    let mut pairs = Vec::new();
    for (later, subject) in names.iter().enumerate() {
        let earlier = names[..later].iter().map(|other| [*subject, *other]);
        let behind = earlier.filter(|pair| !is_requested(pair));
        pairs.extend(behind.map(|pair| (pair, Role::Primary)));
    }
    pairs
}

/// The claims of the pairs behind the requested ones.
fn behind_gate(requested: &[Comparison], gate: ClaimFamily) -> ClaimFamily {
    let claims = requested
        .iter()
        .filter(|comparison| comparison.verdict != Verdict::Invalid);
    let claims: Vec<f64> = claims
        .filter_map(|comparison| comparison.p_adjusted)
        .collect();
    let standing = claims.iter().filter(|p| **p < ERROR).count();
    gate.behind(standing, claims.len())
}

/// The subjects by their mean log values, the best first. Subjects that lack a value in a block are
/// left out.
fn in_order<'a>(names: &[&'a str], family: &ComparisonFamily) -> Vec<&'a str> {
    // Sums have the order of means, because they are over the blocks that all subjects have.
    let counts = names.iter().map(|name| family.values.of(name).len());
    let blocks = counts.min().unwrap_or_default();
    let place = |name: &str| {
        let values = family.values.of(name).iter().take(blocks);
        let sum: f64 = values
            .map(|value| value.map_or(f64::NAN, |value| value.amount.ln()))
            .sum();
        match family.metric {
            Metric::Throughput => -sum,
            _ => sum,
        }
    };
    let mut order = names.to_vec();
    order.retain(|name| !place(name).is_nan());
    order.sort_by(|name, other| place(name).total_cmp(&place(other)));
    order
}

/// The better and the worse subject of a pair, if the direction is certain.
fn better(pair: &Comparison) -> Option<(&str, &str)> {
    match pair.verdict {
        Verdict::Faster | Verdict::Less => Some((&pair.subject, &pair.baseline)),
        Verdict::Slower | Verdict::More => Some((&pair.baseline, &pair.subject)),
        Verdict::Equivalent | Verdict::Inconclusive | Verdict::Invalid => None,
    }
}

fn places(order: &[&str], pairs: &[Comparison]) -> Vec<Place> {
    let mut certain: BTreeSet<(&str, &str)> = pairs.iter().filter_map(better).collect();
    // A subject above another is above all that the other is above.
    for middle in order {
        let above = certain.iter().filter(|(_, worse)| worse == middle);
        let below = || certain.iter().filter(|(better, _)| better == middle);
        let follows = above.flat_map(|(better, _)| below().map(|(_, worse)| (*better, *worse)));
        let new: Vec<_> = follows.filter(|pair| pair.0 != pair.1).collect();
        certain.extend(new);
    }
    let place = |subject: &&str| {
        let above = certain.iter().filter(|(_, worse)| worse == subject);
        let below = certain.iter().filter(|(better, _)| better == subject);
        let best = 1 + above.count();
        Place {
            subject: (*subject).to_owned(),
            best,
            worst: order.len() - below.count(),
            tied_for_first: best == 1,
        }
    };
    order.iter().map(place).collect()
}
