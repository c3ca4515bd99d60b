//! Finds what limits the claims of a study or run. Each finding has a fixed name, figures and a
//! remedy. [`table`] is the list; each file declares one finding, or several that are decided
//! together.

pub(crate) mod bottleneck;
pub(crate) mod limits;
pub(crate) mod machine;
mod network;
pub(crate) mod of_runs;
pub(crate) mod open_loop;
mod prelude;
pub(crate) mod responses;
pub(crate) mod rule;
mod slices;
pub(crate) mod study;
mod table;
pub(crate) mod validity;

use crate::view::ceilings::Ceiling;
use crate::view::summary::Summary;
use crate::view::{OfferView, StudyView, SubjectView};
use abx_evidence::{Finding, FindingId, Level};
use abx_model::LoadShape;

use bottleneck::Bottleneck;
use rule::{Condition, OfferContext, SubjectContext, WholeStudy};
use table::RULES;

/// All findings of a study except those that depend on a ratio.
pub(crate) fn findings(
    study: &StudyView,
    summaries: &[Summary],
    ceilings: &[Ceiling],
) -> Vec<Finding> {
    let loads = study.loads.iter();
    let mut findings: Vec<Finding> = loads.flat_map(|view| of_load(view, summaries)).collect();
    let record = study.study;
    let whole = WholeStudy {
        record,
        summaries,
        ceilings,
    };
    findings.extend(RULES.iter().flat_map(|rule| match rule.condition {
        Condition::Study(find) => find(&whole),
        _ => Vec::new(),
    }));
    findings
}

/// The findings of one load.
fn of_load(view: &OfferView, summaries: &[Summary]) -> Vec<Finding> {
    let limit = &Bottleneck::of(view);
    let is_only_held = view.load.settings.exchange.shape == LoadShape::Connections;
    let subjects = if is_only_held {
        view.subjects.iter().collect()
    } else {
        view.by_name()
    };
    let of_subject = |view| of_subject(view, summaries, limit);
    let mut findings: Vec<Finding> = subjects.into_iter().flat_map(of_subject).collect();
    let load = OfferContext { view, limit };
    findings.extend(RULES.iter().flat_map(|rule| match rule.condition {
        Condition::Load(find) if !is_only_held => find(&load),
        _ => Vec::new(),
    }));
    let under = |finding: Finding| finding.under(&view.load.name);
    findings.into_iter().map(under).collect()
}

/// The findings of one subject under one load.
fn of_subject(view: &SubjectView, summaries: &[Summary], limit: &Bottleneck) -> Vec<Finding> {
    let mut summaries = summaries.iter();
    let summary =
        summaries.find(|summary| summary.load == view.load.name && summary.subject == view.subject);
    let subject = SubjectContext {
        view,
        summary: summary.expect("each subject is described under each load"),
        limit,
    };
    let is_only_held = view.load.settings.exchange.shape == LoadShape::Connections;
    let has_slices = view.sums.slices > 0;
    let findings = RULES.iter().flat_map(|rule| match rule.condition {
        Condition::Pair(find) if !is_only_held => find(&subject),
        Condition::Subject(find) if !is_only_held && has_slices => find(&subject),
        Condition::Connections(find) if is_only_held || has_slices => find(&subject),
        _ => Vec::new(),
    });
    let has_objective = view.load.settings.objective.is_some();
    findings
        .filter(|finding| !(has_objective && has_slices && is_of_overload(finding)))
        .map(|finding| finding.about(view.subject))
        .collect()
}

/// Whether a finding reports overload, which some rates of an objective cause on purpose. If the
/// generator was the reason, the finding still limits the result.
fn is_of_overload(finding: &Finding) -> bool {
    match finding.id {
        FindingId::TimesAtLeast => true,
        FindingId::FailedRequests
        | FindingId::StoppedResponding
        | FindingId::OfferedRateNotReached
        | FindingId::Queued => finding.level != Level::Bound,
        _ => false,
    }
}
