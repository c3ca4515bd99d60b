//! How many families of claims a study has, and how often any of them is wrong.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::comparison::{Comparison, Role};
use crate::judge::faults::LostDifference;
use crate::judge::ranking::Ranking;
use crate::judge::verdict::Verdict;
use abx_stats::student::Confidence;

/// The claims that are judged together, which are wrong in their directions no more often
/// than one comparison alone may be: all of one load, how fast subjects recover from one
/// fault, and how many requests they lose to it.
///
/// Source: docs/explain/statistics/several-subjects.md, "Several subjects".
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Families {
    /// How many there are, exploratory comparisons left out.
    pub count: usize,
    /// In what share of such studies any direction in any of them is false at most, if
    /// they err independently of each other.
    pub false_if_independent: f64,
    /// The same however they depend on each other.
    pub false_at_most: f64,
}

impl Families {
    /// Those of a study.
    pub(crate) fn of(
        comparisons: &[Comparison],
        rankings: &[Ranking],
        lost: &[LostDifference],
    ) -> Families {
        let primary = comparisons
            .iter()
            .filter(|comparison| comparison.role == Role::Primary);
        let ranked = rankings.iter().flat_map(|ranking| &ranking.pairs);
        let claims = primary.chain(ranked);
        let claims = claims.filter(|comparison| comparison.verdict != Verdict::Invalid);
        let loads: BTreeSet<&str> = claims.map(|comparison| comparison.load.as_str()).collect();
        let faults: BTreeSet<&str> = lost
            .iter()
            .map(|lost_difference| lost_difference.fault.as_str())
            .collect();
        Families::with(loads.len() + faults.len())
    }

    /// So many of them.
    #[must_use]
    pub fn with(count: usize) -> Families {
        let each = 1.0 - Confidence::PRINTED.share();
        let number = count as f64;
        Families {
            count,
            false_if_independent: 1.0 - (1.0 - each).powf(number),
            false_at_most: (each * number).min(1.0),
        }
    }
}
