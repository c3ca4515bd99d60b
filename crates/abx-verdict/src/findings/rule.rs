//! The declaration of a finding: its id with levels, meaning and remedy, and its condition.

use crate::findings::bottleneck::Bottleneck;
use crate::view::ceilings::Ceiling;
use crate::view::summary::Summary;
use crate::view::{OfferView, SubjectView};
use abx_evidence::record::Measured;
use abx_evidence::{Finding, FindingId, Level, Limits, Outcomes};

/// The common properties of all findings with the same id.
pub struct Definition {
    pub id: FindingId,
    /// The usual level first.
    pub levels: &'static [Level],
    /// One sentence without figures.
    pub meaning: &'static str,
    /// The remedy, if a finding does not state it with figures.
    pub remedy: &'static str,
}

/// The declaration of an id.
pub trait Declared {
    /// The whole declaration.
    fn definition(&self) -> &'static Definition;

    /// The levels at which it limits a result, the usual level first.
    fn levels(&self) -> &'static [Level] {
        self.definition().levels
    }

    /// Its meaning, in one sentence without figures.
    fn meaning(&self) -> &'static str {
        self.definition().meaning
    }

    /// The remedy, if a finding states no other.
    fn remedy(&self) -> &'static str {
        self.definition().remedy
    }
}

/// A finding about the whole study, with the usual level and the remedy of its id.
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

/// The part of a study that a rule examines.
pub(super) enum Condition {
    /// The slices of one subject under one load, if there are any.
    Subject(fn(&SubjectContext) -> Vec<Finding>),
    /// As `Subject`, and connections that are only held.
    Connections(fn(&SubjectContext) -> Vec<Finding>),
    /// One subject under one load, even without any slice.
    Pair(fn(&SubjectContext) -> Vec<Finding>),
    /// One load that sends something.
    Load(fn(&OfferContext) -> Vec<Finding>),
    Study(fn(&WholeStudy) -> Vec<Finding>),
    /// One comparison, when it is judged.
    Verdict,
}

/// One subject under one load.
pub(super) struct SubjectContext<'a> {
    pub(super) view: &'a SubjectView<'a>,
    pub(super) summary: &'a Summary,
    pub(super) limit: &'a Bottleneck,
}

impl SubjectContext<'_> {
    /// The outcomes of whole slices: failures count in their discarded parts, too.
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

/// Declares the rule of a module: its condition, then each finding by its id, levels, meaning and
/// remedy. With a single id, it also declares `finding`, which makes a finding of that id.
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
