//! From a record of what was measured to what it means. Pure: the same record
//! gives the same conclusions at any later time.

use std::collections::BTreeMap;

use crate::capacities::capacities;
use crate::ceilings::ceilings;
use crate::comparison::{Comparison, Family, Ground, Role};
use crate::finding::{Finding, Validity};
use crate::findings::{Limit, findings};
use crate::questions::{Question, Questions};
use crate::ranking::rankings;
use crate::record::StudyRecord;
use crate::stats::Margin;
use crate::stats::stop::{Decision, decide_all};
use crate::summary::summaries;
use crate::sweeps::sweeps;

/// Fills a record's comparisons, rankings, summaries and validity from its
/// blocks, whatever they held before.
pub fn judge(record: &mut StudyRecord) {
    record.summaries = summaries(record);
    record.ceilings = ceilings(record);
    let mut found = findings(record);
    let questions = Questions::beside_baseline(record, &found);
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
    let all = Questions::beside_baseline(record, &[]).primary();
    // A block without a verified answer has no ratio: nothing is settled by it.
    decide_all(all.iter().map(Vec::as_slice), margin).unwrap_or(Decision::Continue)
}

/// All comparisons, the primary ones first.
fn answers(record: &StudyRecord, asked: Vec<Question>, found: &[Finding]) -> Vec<Comparison> {
    let limits: BTreeMap<&str, Limit> = { record.loads.iter() }
        .map(|load| (load.name.as_str(), Limit::of(record, load)))
        .collect();
    let none = Limit::default();
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
