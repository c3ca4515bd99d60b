use crate::findings::prelude::*;

rule! {
    in Subject |subject| cold_cache(subject.view);
    NotCold [Note]
        "files that should have been read from disk were in memory, or this could not be checked",
        "set TMPDIR to a folder on a disk (a tmpfs is memory), and stop other programs that map or \
         read the files";
}

/// The share of pages that may stay in memory although dropping them works: readahead, and pages
/// that another program reads.
const RESIDENT_MAX: f64 = 0.05;

fn cold_cache(subject: &SubjectView) -> Option<Finding> {
    if !subject.load.settings.cold_cache {
        return None;
    }
    let readings = subject.readings();
    let resident = readings.filter_map(|readings| readings.resident_pages);
    let message = match resident.reduce(InUse::nearer) {
        None => "whether the files had left memory before each slice was not checked".to_owned(),
        Some(most) => {
            let share = most.share().filter(|share| *share > RESIDENT_MAX)?;
            format!(
                "up to {:.0} % of the files stayed in memory: the load was not cold",
                100.0 * share
            )
        }
    };
    Some(finding(message))
}
