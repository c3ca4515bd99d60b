//! Whether a commit caused the change that the search found: two builds of it against two
//! builds of its parent, so that the memory layout of one build does not count as the change.

use abx_stats::Margin;
use abx_stats::stop::Decision;
use serde::{Deserialize, Serialize};

use crate::bisect::ratios::BlockRatios;
use crate::judge::comparison::Bounds;
use crate::judge::verdict::{Assessment, ClaimFamily, Verdict, assess_together, decide_together};

/// The builds of each commit.
pub const BUILDS: usize = 2;

/// The comparisons of the builds of a commit with those of its parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confirmation {
    /// The hash of the parent; of a merge, of its first one.
    pub parent: String,
    /// Each build of the commit with each one of its parent.
    pub pairs: Vec<BuildPair>,
    /// The id of the record of their comparison.
    pub record: String,
}

/// One build of the commit, and one of its parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BuildPair {
    /// The number of the commit's build, from 1.
    pub build: usize,
    /// The number of its parent's build, from 1.
    pub parent_build: usize,
    #[serde(flatten)]
    pub ratios: BlockRatios,
}

impl Confirmation {
    /// Whether every pair of builds differs, in the direction of this log ratio. They are
    /// judged together, as comparisons of four subjects are.
    #[must_use]
    pub fn is_confirmed(&self, bad: f64, margin: Margin) -> bool {
        let logs: Vec<Vec<f64>> = self.pairs.iter().map(|pair| pair.ratios.logs()).collect();
        let direction = if bad > 0.0 {
            Verdict::Faster
        } else {
            Verdict::Slower
        };
        let assessed = assess_together(&slices(&logs), margin, family());
        let has_direction = |assessed: Result<Assessment, _>| {
            assessed.is_ok_and(|assessment: Assessment| assessment.verdict == direction)
        };
        !logs.is_empty() && assessed.into_iter().all(has_direction)
    }

    /// The mean ratio of all pairs, and an interval that spans the intervals of all pairs: the
    /// builds of one commit differ, which blocks alone do not show.
    #[must_use]
    pub fn bounds(&self) -> Option<Bounds> {
        let pairs: Option<Vec<Bounds>> = self.pairs.iter().map(|pair| pair.ratios.bounds).collect();
        let pairs = pairs.filter(|pairs| !pairs.is_empty())?;
        let logs = pairs.iter().map(|pair| pair.ratio.ln());
        Some(Bounds {
            ratio: (logs.sum::<f64>() / pairs.len() as f64).exp(),
            low: pairs
                .iter()
                .map(|pair| pair.low)
                .fold(f64::INFINITY, f64::min),
            high: pairs.iter().map(|pair| pair.high).fold(0.0, f64::max),
        })
    }
}

/// Whether the pairs of builds have enough blocks, by the rule that ends a study.
pub(super) fn decide_confirmation(logs: &[Vec<f64>], margin: Margin) -> Decision {
    decide_together(&slices(logs), margin, family())
}

fn family() -> ClaimFamily {
    ClaimFamily::alone(2 * BUILDS - 1)
}

fn slices(logs: &[Vec<f64>]) -> Vec<&[f64]> {
    logs.iter().map(Vec::as_slice).collect()
}
