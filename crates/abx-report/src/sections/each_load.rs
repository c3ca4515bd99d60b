//! Parts of a report that are made for each load.

use abx_evidence::record::LoadRecord;
use abx_verdict::StudyRecord;

use crate::document::Document;
use crate::words::units::plural;

/// The parts of all loads. The rates of a search for a capacity are many and read together, so
/// their parts are folded.
pub(crate) fn each_load(record: &StudyRecord, part: impl Fn(&LoadRecord) -> Document) -> Document {
    let (rates, others): (Vec<&LoadRecord>, Vec<&LoadRecord>) = record
        .measured
        .loads
        .iter()
        .partition(|load| load.settings.objective.is_some());
    let mut out = Document::default();
    others.iter().for_each(|load| out.append(part(load)));
    let mut rate_parts = Document::default();
    rates.iter().for_each(|load| rate_parts.append(part(load)));
    let count = plural(rates.len() as u64, "rate");
    out.folded(format!("{count} that looked for a capacity"), rate_parts);
    out
}
