//! The words that a comparison ends in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::metric::Sense;

/// The verdict of a comparison on the subject. Stored in records as a string in snake
/// case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A finding rules out any result. Decided before any interval is read.
    Invalid,
    /// No difference as large as the margin.
    Equivalent,
    /// The subject is faster than the baseline.
    Faster,
    /// The subject is slower than the baseline.
    Slower,
    /// The subject needs less than the baseline.
    Less,
    /// The subject needs more than the baseline.
    More,
    /// The available blocks do not decide.
    Inconclusive,
}

impl Verdict {
    /// The opposite verdict: for a metric of which less is better, such as a time, or with subject
    /// and baseline exchanged.
    #[must_use]
    pub fn mirrored(self) -> Verdict {
        match self {
            Verdict::Faster => Verdict::Slower,
            Verdict::Slower => Verdict::Faster,
            Verdict::Less => Verdict::More,
            Verdict::More => Verdict::Less,
            Verdict::Invalid | Verdict::Equivalent | Verdict::Inconclusive => self,
        }
    }

    /// Turns a verdict on a speed into one on a metric of this sense.
    #[must_use]
    pub fn in_sense(self, sense: Sense) -> Verdict {
        match (sense, self) {
            (Sense::Speed, _) => self,
            (Sense::Time, _) => self.mirrored(),
            (Sense::Cost, Verdict::Faster) => Verdict::More,
            (Sense::Cost, Verdict::Slower) => Verdict::Less,
            (Sense::Cost, _) => self,
        }
    }

    /// The direction of a difference that is known to exist, by the ratio of a metric of this
    /// sense.
    #[must_use]
    pub fn of_change(ratio: f64, sense: Sense) -> Verdict {
        if ratio > 1.0 {
            Verdict::Faster.in_sense(sense)
        } else {
            Verdict::Slower.in_sense(sense)
        }
    }

    /// Whether it states the direction of a difference, or that there is none.
    #[must_use]
    pub fn is_decided(self) -> bool {
        self.is_directed() || self == Verdict::Equivalent
    }

    /// Whether it states the direction of a difference.
    #[must_use]
    pub fn is_directed(self) -> bool {
        !matches!(
            self,
            Verdict::Invalid | Verdict::Equivalent | Verdict::Inconclusive
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_verdicts_have_a_direction() {
        // Method: every verdict and its opposite.
        let directed = [
            Verdict::Faster,
            Verdict::Slower,
            Verdict::Less,
            Verdict::More,
        ];
        for verdict in directed {
            assert!(verdict.is_directed() && verdict.is_decided(), "{verdict:?}");
            assert_ne!(verdict.mirrored(), verdict);
        }
        for verdict in [Verdict::Invalid, Verdict::Equivalent, Verdict::Inconclusive] {
            assert!(!verdict.is_directed(), "{verdict:?}");
            assert_eq!(verdict.mirrored(), verdict);
            assert_eq!(verdict.is_decided(), verdict == Verdict::Equivalent);
        }
    }

    #[test]
    fn costs_are_less_or_more_and_times_are_mirrored() {
        // Method: each direction in each sense.
        let table = [
            (Verdict::Faster, Sense::Speed, Verdict::Faster),
            (Verdict::Faster, Sense::Time, Verdict::Slower),
            (Verdict::Faster, Sense::Cost, Verdict::More),
            (Verdict::Slower, Sense::Cost, Verdict::Less),
            (Verdict::Equivalent, Sense::Cost, Verdict::Equivalent),
        ];
        for (verdict, sense, expected) in table {
            assert_eq!(verdict.in_sense(sense), expected, "{verdict:?} {sense:?}");
        }
    }
}
