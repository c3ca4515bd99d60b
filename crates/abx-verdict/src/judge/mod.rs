//! From what was measured to what it means.

pub(crate) mod capacities;
mod comparing;
pub(crate) mod comparison;
pub(crate) mod conclusions;
pub(crate) mod families;
pub(crate) mod faults;
pub(crate) mod metric;
pub(crate) mod ranking;
pub(crate) mod scope;
pub(crate) mod server_times;
pub(crate) mod settled;
pub(crate) mod sweeps;
pub(crate) mod values;
pub mod verdict;
mod verdict_word;
pub(crate) mod why;

use std::collections::BTreeMap;

use crate::findings::bottleneck::Bottleneck;
use crate::findings::findings;
use crate::findings::of_runs::remedy_as_run;
use crate::findings::validity::{Limited, Validity};
use crate::judge::capacities::capacities;
use crate::judge::comparing::family::{ComparedUnder, ComparisonFamily};
use crate::judge::comparing::plan::{ComparisonPlan, PrimaryFamily, Question};
use crate::judge::comparison::{Comparison, Role};
use crate::judge::conclusions::Conclusions;
use crate::judge::families::Families;
use crate::judge::faults::{fault_summaries, lost_differences};
use crate::judge::ranking::rankings;
use crate::judge::scope::Scope;
use crate::judge::server_times::{server_time_differences, server_times};
use crate::judge::sweeps::sweeps;
use crate::judge::why::cpu_difference::{cpu_differences, start_differences};
use crate::judge::why::cpu_ledger::cpu_ledgers;
use crate::view::StudyView;
use crate::view::ceilings::ceilings;
use crate::view::summary::summaries;
use abx_evidence::record::Measured;
use abx_evidence::{Finding, FindingId, Level};
use abx_stats::paired::PairedMean;
use abx_stats::stop::{blocks_for_verdict, blocks_needed, wanted_half_width};
use abx_stats::student::Confidence;

/// Draws all conclusions from a study. A pure function that reads no earlier conclusions: the
/// same study gives the same conclusions at any later time.
#[must_use]
pub fn judge(study: &Measured) -> Conclusions {
    let study = &StudyView::of(study);
    let summaries = summaries(study);
    let ceilings = ceilings(study);
    let mut study_findings = findings(study, &summaries, &ceilings);
    let plan = ComparisonPlan::of(study, &study_findings);
    study_findings.extend(plan.fallbacks);
    let comparisons = compare(study, plan.questions, &study_findings);
    study_findings.extend(plan.findings);
    if !study.study.is_comparison() {
        remedy_as_run(&mut study_findings);
    }
    let mut findings = study_findings.clone();
    add(
        &mut findings,
        comparisons.iter().flat_map(|limited| &limited.findings),
    );
    let validity = Validity::of(findings);
    let comparisons: Vec<Comparison> = comparisons
        .into_iter()
        .map(|limited| limited.numbered(&validity))
        .collect();
    let rankings = rankings(study, &comparisons, &study_findings, &validity);
    let lost_to_faults = lost_differences(study.study);
    Conclusions {
        scope: Scope::of(study.study),
        families: Families::of(&comparisons, &rankings, &lost_to_faults),
        sweeps: sweeps(study, &comparisons, &summaries),
        capacities: capacities(study),
        cpu_ledgers: cpu_ledgers(study),
        cpu_differences: cpu_differences(study),
        start_differences: start_differences(study),
        server_times: server_times(study),
        server_time_differences: server_time_differences(study, &comparisons),
        rankings,
        comparisons,
        ceilings,
        summaries,
        faults: fault_summaries(study.study),
        lost_to_faults,
        validity,
    }
}

/// Adds the findings that the list does not contain yet.
fn add<'a>(findings: &mut Vec<Finding>, more: impl IntoIterator<Item = &'a Finding>) {
    for finding in more {
        if !findings.contains(finding) {
            findings.push(finding.clone());
        }
    }
}

/// Whether subjects failed in such a way that no primary comparison of the study can become
/// valid, so that more blocks would not help.
#[must_use]
pub fn is_hopeless(conclusions: &Conclusions) -> bool {
    let has_failed = |finding: &Finding| {
        let failed = [
            FindingId::FailedRequests,
            FindingId::StoppedResponding,
            FindingId::SubjectFailed,
        ];
        finding.level == Level::Void && failed.contains(&finding.id)
    };
    let validity = &conclusions.validity;
    let mut primary = conclusions.primary().peekable();
    primary.peek().is_some()
        && primary.all(|comparison| comparison.limits(validity).any(has_failed))
}

/// About how many more blocks every primary comparison needs to be as precise as the margin
/// requires and to have enough blocks for a verdict. Settled loads need none. `None` if there is
/// no primary comparison, or if one has no spread to estimate from.
#[must_use]
pub fn blocks_until_precise(study: &Measured) -> Option<u32> {
    let fewest = blocks_for_verdict(study.is_ordered());
    let study = &StudyView::of(study);
    let margin = study.margin();
    let blocks_more = |log_ratios: Vec<f64>| {
        let mean = PairedMean::of(&log_ratios).ok()?;
        let (blocks, half_width) = (mean.blocks(), mean.half_width(Confidence::COMPUTED));
        let missing = fewest.saturating_sub(blocks) as u32;
        Some(if half_width <= wanted_half_width(margin) {
            missing
        } else {
            blocks_needed(blocks, fewest, half_width, margin).max(missing)
        })
    };
    let plan = ComparisonPlan::of(study, &[]);
    let open = plan
        .primary(study)
        .into_iter()
        .flat_map(PrimaryFamily::open);
    let blocks: Option<Vec<u32>> = open.map(blocks_more).collect();
    blocks?.into_iter().max()
}

/// All comparisons, the primary ones first.
fn compare(
    study: &StudyView,
    questions: Vec<Question>,
    findings: &[Finding],
) -> Vec<Limited<Comparison>> {
    let limits: BTreeMap<&str, Bottleneck> = study
        .loads
        .iter()
        .map(|view| (view.load.name.as_str(), Bottleneck::of(view)))
        .collect();
    let none = Bottleneck::default();
    let mut comparisons: Vec<Limited<Comparison>> = questions
        .into_iter()
        .flat_map(|question| {
            let claims = question.family(study);
            let limit = match &question.compared_under {
                ComparedUnder::Load(view) => limits.get(view.load.name.as_str()),
                ComparedUnder::Grid(_) | ComparedUnder::Starts | ComparedUnder::Fault(_) => None,
            };
            let family = ComparisonFamily {
                study: study.study,
                compared_under: &question.compared_under,
                metric: question.metric,
                step: question.step,
                values: question.values,
                limit: limit.unwrap_or(&none),
                study_findings: findings,
            };
            family.compare(&question.pairs, claims)
        })
        .collect();
    comparisons.sort_by_key(|limited| limited.of.role != Role::Primary);
    comparisons
}
