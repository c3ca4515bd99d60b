//! Shares of the available time.

use crate::findings::prelude::*;

/// The message if something took more than this part of a load's time.
pub(super) fn noted(part: Option<f64>, min: f64, what: [&str; 2]) -> Option<String> {
    let part = part.filter(|part| *part > min)?;
    let [before, after] = what;
    Some(format!("{before} {:.1} % of the time{after}", 100.0 * part))
}

/// The share of the time of all CPUs of a study in a load's slices.
pub(super) fn of_all(view: &OfferView, ns: u64) -> Option<f64> {
    let capacity = view
        .sums()
        .window_ns
        .saturating_mul(processors(view.study) as u64);
    share(ns, capacity).map(|part| part.min(1.0))
}

/// The number of CPUs that the study used.
pub(in crate::findings) fn processors(record: &Measured) -> usize {
    let mut cpus = record.settings.subject_cpus.clone();
    cpus.extend(&record.settings.generator_cpus);
    cpus.sort_unstable();
    cpus.dedup();
    cpus.len()
}
