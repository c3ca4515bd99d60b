//! Parts of a page that are made for each load.

use abx_evidence::StudyRecord;
use abx_evidence::record::LoadRecord;

use crate::html::markup::{Markup, folded};
use crate::words::units::plural;

/// The parts of all loads. Those of rates that looked for a capacity are folded
/// away: there are many, and they are read together.
pub(crate) fn each_load(record: &StudyRecord, part: impl Fn(&LoadRecord) -> Markup) -> Markup {
    let (rates, alone): (Vec<&LoadRecord>, Vec<&LoadRecord>) = record
        .measured
        .loads
        .iter()
        .partition(|load| load.settings.objective.is_some());
    let mut out: Markup = alone.into_iter().map(&part).collect();
    let of_rates: Markup = rates.iter().copied().map(&part).collect();
    if !of_rates.is_empty() {
        let count = plural(rates.len() as u64, "rate");
        out.push(folded(
            &format!("{count} that looked for a capacity"),
            of_rates,
        ));
    }
    out
}
