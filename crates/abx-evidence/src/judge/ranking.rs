//! Several subjects in order, as far as the blocks hold one: each has the
//! places that it may have, from the best to the worst.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::findings::Bottleneck;
use crate::judge::comparison::{Comparison, Family, Ground, Role};
use crate::judge::comparison_plan::primary_time;
use crate::judge::metric::Metric;
use crate::judge::values::{Rounds, Values};
use crate::judge::verdict::Verdict;
use crate::measure::exchange::LoadShape;
use crate::record::finding::{Finding, Validity};
use crate::record::finding_id::FindingId;
use crate::record::{LoadRecord, Measured};

/// The subjects of a study under one load, the best first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ranking {
    /// What they are ranked by.
    pub metric: Metric,
    /// The load's name.
    pub load: String,
    /// One for each subject, in the order of their averages.
    pub places: Vec<Place>,
    /// Every pair, judged together: the later named beside the earlier.
    pub pairs: Vec<Comparison>,
}

/// The places that a subject may have, from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// Who.
    pub subject: String,
    /// One more than the subjects that are certainly better.
    pub best: usize,
    /// All subjects less those that are certainly worse.
    pub worst: usize,
    /// Whether it is not certainly worse than the one with the best average.
    pub tied_for_first: bool,
}

impl Place {
    /// As people write it: "2", or "2-4".
    #[must_use]
    pub fn text(&self) -> String {
        if self.best == self.worst {
            self.best.to_string()
        } else {
            format!("{}-{}", self.best, self.worst)
        }
    }
}

/// The ranking under each load, where there are more than two subjects. Of
/// `found` are what limits pairs, in `validity` all findings of the study.
///
/// Method: every pair, directions adjusted by Holm over all of them; the places
/// of a subject are what certain pairs leave. Source: docs/statistics.md,
/// "Several subjects"; Mohd Idris and others, rank sets (2017).
pub(crate) fn rankings(record: &Measured, found: &[Finding], validity: &Validity) -> Vec<Ranking> {
    if record.subjects.len() < 3 {
        return Vec::new();
    }
    let each = { record.loads.iter() }.filter(|load| load.settings.objective.is_none());
    each.map(|load| rank(record, load, found, validity))
        .collect()
}

fn rank(record: &Measured, load: &LoadRecord, found: &[Finding], validity: &Validity) -> Ranking {
    let names: Vec<&str> = record
        .subjects
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    let kept_up: Vec<&str> = { found.iter() }
        .filter(|one| one.id == FindingId::BothKeptUp && one.load.as_deref() == Some(&load.name))
        .filter_map(|one| one.subject.as_deref())
        .collect();
    // Told of each subject beside the baseline: all of them or throughput.
    let metric = match kept_up.len() + 1 == names.len() {
        _ if load.settings.exchange.shape == LoadShape::Connections => Metric::MemoryPerConnection,
        true => primary_time(load),
        false => Metric::Throughput,
    };
    let family = Family {
        record,
        ground: &Ground::Load(load),
        metric,
        values: Values::under(record, load, metric, Rounds::All),
        limit: &Bottleneck::of(record, load),
        found,
    };
    let mut pairs = Vec::new();
    for (later, subject) in names.iter().enumerate() {
        let earlier = names[..later].iter();
        pairs.extend(earlier.map(|other| ([*subject, *other], Role::Primary)));
    }
    let compared = family.compare(&pairs, names.len() - 1).into_iter();
    let compared: Vec<Comparison> = compared.map(|one| one.numbered(validity)).collect();
    Ranking {
        metric,
        load: load.name.clone(),
        places: places(&in_order(&names, &family), &compared),
        pairs: compared,
    }
}

/// Subjects by the average of their logarithms, the best first; those without a
/// number last.
fn in_order<'a>(names: &[&'a str], family: &Family) -> Vec<&'a str> {
    let average = |name: &str| {
        let numbers = family.values.of(name);
        let sum: f64 = numbers
            .iter()
            .map(|number| number.map_or(f64::NEG_INFINITY, |one| one.amount.ln()))
            .sum();
        let mean = sum / numbers.len().max(1) as f64;
        match family.metric {
            Metric::Throughput => -mean,
            _ => mean,
        }
    };
    let mut order = names.to_vec();
    order.sort_by(|one, other| average(one).total_cmp(&average(other)));
    order
}

/// The better one of a pair, where that is certain.
fn better(pair: &Comparison) -> Option<(&str, &str)> {
    match pair.verdict {
        Verdict::Faster | Verdict::Less => Some((&pair.subject, &pair.baseline)),
        Verdict::Slower | Verdict::More => Some((&pair.baseline, &pair.subject)),
        Verdict::Equivalent | Verdict::Inconclusive | Verdict::Invalid => None,
    }
}

fn places(order: &[&str], pairs: &[Comparison]) -> Vec<Place> {
    let certain: Vec<(&str, &str)> = pairs.iter().filter_map(better).collect();
    let place = |subject: &&str| {
        let above = certain.iter().filter(|(_, worse)| worse == subject);
        let below = certain.iter().filter(|(better, _)| better == subject);
        Place {
            subject: (*subject).to_owned(),
            best: 1 + above.count(),
            worst: order.len() - below.count(),
            tied_for_first: !certain.contains(&(order[0], *subject)),
        }
    };
    order.iter().map(place).collect()
}
