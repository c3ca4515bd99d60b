//! Whether files that were to be read from the disk were in memory all the same.

use crate::record::InUse;
use crate::record::finding::Finding;
use crate::record::finding_id::FindingId;
use crate::view::SubjectView;

/// Pages that stay where dropping works: readahead, and what another program reads.
const RESIDENT_MAX: f64 = 0.05;

/// What one subject's cold load found in memory.
pub(super) fn cold_cache(subject: &SubjectView) -> Option<Finding> {
    if !subject.load.settings.cold_cache {
        return None;
    }
    let result = subject.readings().filter_map(|side| side.resident_pages);
    let most = result.reduce(InUse::nearer);
    let message = match most {
        None => "whether the files had left memory before each slice was not checked".to_owned(),
        Some(most) => {
            let share = most.share().filter(|share| *share > RESIDENT_MAX)?;
            format!(
                "up to {:.0} % of the files stayed in memory: the load was not cold",
                100.0 * share
            )
        }
    };
    Some(Finding::new(FindingId::NotCold, message).about(subject.subject))
}
