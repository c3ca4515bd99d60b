//! From a record of what was measured to what it means. Pure: the same record
//! gives the same conclusions at any later time.

use crate::comparison::{both_kept_up, compare, log_ratios};
use crate::finding::{Level, Validity};
use crate::findings::{Limit, findings};
use crate::record::StudyRecord;
use crate::stats::Margin;
use crate::stats::stop::{Decision, decide_all};
use crate::summary::summaries;

/// Fills a record's comparisons, summaries and validity from its blocks,
/// whatever they held before.
pub fn judge(record: &mut StudyRecord) {
    record.summaries = summaries(record);
    let found = findings(record);
    let mut comparisons = Vec::new();
    let mut all = found.clone();
    for load in &record.loads {
        let limit = Limit::of(record, load);
        for subject in others(record) {
            // A comparison that is void says why, and is not passed over.
            let pair = [subject, record.settings.baseline.as_str()];
            let mut touching = found.iter().filter(|one| one.touches(&load.name, pair));
            let is_void = touching.any(|one| one.level == Level::Void);
            match both_kept_up(record, load, subject) {
                Some(finding) if !is_void => all.push(finding),
                _ => comparisons.push(compare(record, load, subject, &limit, &found)),
            }
        }
    }
    for finding in comparisons.iter().flat_map(|one| &one.findings) {
        if !all.contains(finding) {
            all.push(finding.clone());
        }
    }
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
        for subject in others(record) {
            // Where nothing is compared, nothing can be settled.
            if both_kept_up(record, load, subject).is_none() {
                all.push(log_ratios(record, load, subject, baseline));
            }
        }
    }
    // A block without a verified answer has no ratio: nothing is settled by it.
    decide_all(all.iter().map(Vec::as_slice), margin).unwrap_or(Decision::Continue)
}

/// The subjects beside the baseline.
fn others(record: &StudyRecord) -> impl Iterator<Item = &str> {
    let names = record.subjects.iter().map(|subject| subject.name.as_str());
    names.filter(|name| *name != record.settings.baseline)
}
