//! The number of families of claims that a study has, and how often any of them is false.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::comparison::{Comparison, Role};
use crate::judge::faults::LostDifference;
use crate::judge::ranking::Ranking;
use crate::judge::verdict::Verdict;
use abx_stats::student::Confidence;

/// The results that are judged together, so that a wrong direction among them is no more
/// likely than in a single comparison. A family is all comparisons of one load, the recovery
/// of subjects from one fault, or the requests that they lose to it.
///
/// Source: docs/explain/statistics/several-subjects.md, "Several subjects".
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Families {
    /// The number of families, without exploratory comparisons.
    pub count: usize,
    /// The largest share of such studies in which any direction in any family is false, if
    /// their errors are independent of each other.
    pub false_if_independent: f64,
    /// The same share, for any dependence between their errors.
    pub false_at_most: f64,
}

impl Families {
    /// The families of a study.
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
        let faults: BTreeSet<&str> = lost.iter().map(|lost| lost.fault.as_str()).collect();
        Families::with(loads.len() + faults.len())
    }

    /// The error of this number of families.
    #[must_use]
    pub fn with(count: usize) -> Families {
        let error = 1.0 - Confidence::PRINTED.share();
        let families = count as f64;
        Families {
            count,
            false_if_independent: 1.0 - (1.0 - error).powf(families),
            false_at_most: (error * families).min(1.0),
        }
    }
}
