//! From a record of what was measured to what it means. Pure: the same record
//! gives the same conclusions at any later time.

use crate::comparison::{compare, log_ratios};
use crate::finding::Validity;
use crate::findings::{Limit, findings};
use crate::record::StudyRecord;
use crate::stats::Margin;
use crate::stats::stop::{Decision, decide_all};
use crate::summary::summaries;

/// Fills a record's comparisons, summaries and validity from its blocks,
/// whatever they held before.
pub fn judge(record: &mut StudyRecord) {
    let found = findings(record);
    let mut comparisons = Vec::new();
    for load in &record.loads {
        let limit = Limit::of(record, load);
        let others = record
            .subjects
            .iter()
            .filter(|subject| subject.name != record.settings.baseline);
        comparisons
            .extend(others.map(|subject| compare(record, load, &subject.name, &limit, &found)));
    }
    let mut all = found;
    for finding in comparisons.iter().flat_map(|one| &one.findings) {
        if !all.contains(finding) {
            all.push(finding.clone());
        }
    }
    record.summaries = summaries(record);
    record.comparisons = comparisons;
    record.validity = Validity::of(all);
}

/// Whether the blocks so far settle every comparison of the study.
#[must_use]
pub fn may_stop(record: &StudyRecord) -> Decision {
    let margin = Margin::new(record.settings.margin).unwrap_or(Margin::DEFAULT);
    let baseline = &record.settings.baseline;
    let mut all = Vec::new();
    for load in &record.loads {
        for subject in &record.subjects {
            if subject.name != *baseline {
                all.push(log_ratios(record, load, &subject.name, baseline));
            }
        }
    }
    // A block without a verified answer has no ratio: nothing is settled by it.
    decide_all(all.iter().map(Vec::as_slice), margin).unwrap_or(Decision::Continue)
}
