//! Parts of a report that are made for each load.

use abx_evidence::record::LoadRecord;
use abx_verdict::StudyRecord;

use crate::document::Document;
use crate::words::units::plural;

/// The parts of all loads. Those of rates that looked for a capacity are folded
/// away: there are many, and they are read together.
pub(crate) fn each_load(record: &StudyRecord, part: impl Fn(&LoadRecord) -> Document) -> Document {
    let (rates, alone): (Vec<&LoadRecord>, Vec<&LoadRecord>) = record
        .measured
        .loads
        .iter()
        .partition(|load| load.settings.objective.is_some());
    let mut out = Document::default();
    alone.into_iter().for_each(|load| out.append(part(load)));
    let mut of_rates = Document::default();
    rates.iter().for_each(|load| of_rates.append(part(load)));
    let count = plural(rates.len() as u64, "rate");
    out.folded(format!("{count} that looked for a capacity"), of_rates);
    out
}
