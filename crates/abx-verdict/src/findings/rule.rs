//! What a finding declares: its id with levels, meaning and remedy, and the condition under
//! which it is found.

use crate::findings::bottleneck::Bottleneck;
use crate::view::ceilings::Ceiling;
use crate::view::summary::Summary;
use crate::view::{OfferView, SubjectView};
use abx_evidence::record::Measured;
use abx_evidence::{Finding, FindingId, Level, Limits, Outcomes};

/// What every finding with the same id has in common.
pub struct Definition {
    pub id: FindingId,
    /// The usual one first.
    pub levels: &'static [Level],
    /// One sentence without figures.
    pub meaning: &'static str,
    /// The remedy, if a finding does not state it with figures.
    pub remedy: &'static str,
}

/// What the rules declare of an id.
pub trait Declared {
    /// All of it.
    fn definition(&self) -> &'static Definition;

    /// At which levels it limits a result, the usual one first.
    fn levels(&self) -> &'static [Level] {
        self.definition().levels
    }

    /// What it means, in one sentence without figures.
    fn meaning(&self) -> &'static str {
        self.definition().meaning
    }

    /// The remedy, if a finding states no other.
    fn remedy(&self) -> &'static str {
        self.definition().remedy
    }
}

/// A finding about everything, at the usual level of its id and with its remedy.
#[must_use]
pub fn new_finding(id: FindingId, message: impl Into<String>) -> Finding {
    let Definition { levels, remedy, .. } = id.definition();
    Finding {
        id,
        level: levels[0],
        limits: Limits::All,
        subject: None,
        load: None,
        message: message.into(),
        remedy: (*remedy).to_owned(),
    }
}

/// Findings that are decided together.
pub(super) struct FindingRule {
    pub(super) definitions: &'static [Definition],
    pub(super) condition: Condition,
}

/// Where findings are looked for.
pub(super) enum Condition {
    /// In slices of one subject under one load, of which there is one at least.
    Subject(fn(&SubjectContext) -> Vec<Finding>),
    /// The same, and in connections that are only held.
    Connections(fn(&SubjectContext) -> Vec<Finding>),
    /// Under one subject and load, whatever was measured.
    Pair(fn(&SubjectContext) -> Vec<Finding>),
    /// Under one load that sends something.
    Load(fn(&OfferContext) -> Vec<Finding>),
    Study(fn(&WholeStudy) -> Vec<Finding>),
    /// In a comparison: the verdict finds it.
    Verdict,
}

/// One subject under one load.
pub(super) struct SubjectContext<'a> {
    pub(super) view: &'a SubjectView<'a>,
    pub(super) summary: &'a Summary,
    pub(super) limit: &'a Bottleneck,
}

impl SubjectContext<'_> {
    /// Those of whole slices: a failure counts wherever in its slice a request began.
    pub(super) fn outcomes(&self) -> Outcomes {
        let mut outcomes = self.view.sums.outcomes.clone();
        outcomes.merge(&self.view.sums.discarded);
        outcomes
    }
}

pub(super) struct OfferContext<'a> {
    pub(super) view: &'a OfferView<'a>,
    pub(super) limit: &'a Bottleneck,
}

impl OfferContext<'_> {
    pub(super) fn is_saturating(&self) -> bool {
        self.view.load.settings.arrivals.is_saturating()
    }
}

pub(super) struct WholeStudy<'a> {
    pub(super) record: &'a Measured,
    pub(super) summaries: &'a [Summary],
    pub(super) ceilings: &'a [Ceiling],
}

/// Declares the rule of a module: where it looks, then each finding by its id, levels,
/// meaning and remedy; and `finding`, which makes one if there is one id only.
macro_rules! rule {
    (in $scope:ident |$context:ident| $found:expr; $($definition:tt)*) => {
        rule!(@ $scope(|$context| Vec::from_iter($found)); $($definition)*);
    };
    (@@ $condition:expr; $($id:ident [$($level:ident),+] $meaning:literal, $remedy:literal;)+) => {
        pub(in crate::findings) const RULE: crate::findings::rule::FindingRule = {
            use crate::findings::rule::Condition::*;
            use crate::findings::rule::{Definition, FindingRule};
            use abx_evidence::{FindingId, Level};
            FindingRule {
                definitions: &[$(Definition {
                    id: FindingId::$id,
                    levels: &[$(Level::$level),+],
                    meaning: $meaning,
                    remedy: $remedy,
                }),+],
                condition: $condition,
            }
        };
    };
    (@ $condition:expr; $id:ident $levels:tt $meaning:literal, $remedy:literal;) => {
        rule!(@@ $condition; $id $levels $meaning, $remedy;);
        fn finding(message: impl Into<String>) -> abx_evidence::Finding {
            crate::findings::rule::new_finding(abx_evidence::FindingId::$id, message)
        }
    };
    (@ $($definition:tt)*) => { rule!(@@ $($definition)*); };
    ($($definition:tt)*) => { rule!(@ Verdict; $($definition)*); };
}
pub(super) use rule;
