//! From a record of what was measured to what it means. Pure: the same record
//! gives the same conclusions at any later time.

pub(crate) mod capacities;
pub(crate) mod ceilings;
pub(crate) mod comparison;
pub(crate) mod comparison_plan;
pub(crate) mod metric;
pub(crate) mod objective;
pub(crate) mod past_baseline;
pub(crate) mod ranking;
pub(crate) mod summary;
pub(crate) mod sweeps;
pub(crate) mod throughput;
pub(crate) mod values;
pub mod verdict;

use std::collections::BTreeMap;

use crate::findings::finding::{Finding, Validity};
use crate::findings::{Bottleneck, findings};
use crate::judge::capacities::capacities;
use crate::judge::ceilings::ceilings;
use crate::judge::comparison::{Comparison, Family, Ground, Role};
use crate::judge::comparison_plan::{ComparisonPlan, Question};
use crate::judge::ranking::rankings;
use crate::judge::summary::summaries;
use crate::judge::sweeps::sweeps;
use crate::record::StudyRecord;
use crate::stats::Margin;
use crate::stats::stop::{Decision, decide_all};

/// Fills a record's comparisons, rankings, summaries and validity from its
/// blocks, whatever they held before.
pub fn judge(record: &mut StudyRecord) {
    record.summaries = summaries(record);
    record.ceilings = ceilings(record);
    let mut found = findings(record);
    let questions = ComparisonPlan::beside_baseline(record, &found);
    let comparisons = answers(record, questions.asked, &found);
    found.extend(questions.findings);
    let rankings = rankings(record, &found);
    record.sweeps = sweeps(record, &comparisons);
    record.capacities = capacities(record);
    for finding in comparisons.iter().flat_map(|one| &one.findings) {
        if !found.contains(finding) {
            found.push(finding.clone());
        }
    }
    record.comparisons = comparisons;
    record.rankings = rankings;
    record.validity = Validity::of(found);
}

/// Whether the blocks so far settle every primary comparison of the study.
#[must_use]
pub fn may_stop(record: &StudyRecord) -> Decision {
    let margin = Margin::new(record.settings.margin).unwrap_or(Margin::DEFAULT);
    let all = ComparisonPlan::beside_baseline(record, &[]).primary();
    // A block without a verified answer has no ratio: nothing is settled by it.
    decide_all(all.iter().map(Vec::as_slice), margin).unwrap_or(Decision::Continue)
}

/// All comparisons, the primary ones first.
fn answers(record: &StudyRecord, asked: Vec<Question>, found: &[Finding]) -> Vec<Comparison> {
    let limits: BTreeMap<&str, Bottleneck> = { record.loads.iter() }
        .map(|load| (load.name.as_str(), Bottleneck::of(record, load)))
        .collect();
    let none = Bottleneck::default();
    let mut comparisons: Vec<Comparison> = { asked.into_iter() }
        .flat_map(|question| {
            let limit = match &question.ground {
                Ground::Load(load) => limits.get(load.name.as_str()),
                Ground::Grid(_) | Ground::Starts => None,
            };
            let family = Family {
                record,
                ground: &question.ground,
                metric: question.metric,
                values: question.values,
                limit: limit.unwrap_or(&none),
                found,
            };
            // For each subject beside the baseline one.
            let equivalences = record.subjects.len().saturating_sub(1);
            family.compare(&question.pairs, equivalences)
        })
        .collect();
    comparisons.sort_by_key(|one| one.role != Role::Primary);
    comparisons
}
