//! What was done to subjects on purpose: a table for each fault, and who loses more.

use abx_evidence::StudyRecord;

use crate::words::faults::{fault_legend, fault_table, heading, lost_sentence};
use crate::words::style::Style;

/// Every fault; empty without any.
pub(crate) fn faults(record: &StudyRecord, style: &Style) -> String {
    if record.measured.faults.is_empty() || record.conclusions.faults.is_empty() {
        return String::new();
    }
    let each = record.measured.faults.iter().map(|fault| {
        let mut out = style.paragraph(&heading(record, fault));
        out.push_str(&fault_table(record, fault).text(style.columns()));
        let lost = record.conclusions.lost_to_faults.iter();
        for one in lost.filter(|one| one.fault == fault.name) {
            out.push_str(&style.paragraph(&lost_sentence(one, style)));
        }
        out
    });
    each.collect::<Vec<_>>().join("\n") + &style.note(&fault_legend(record))
}
