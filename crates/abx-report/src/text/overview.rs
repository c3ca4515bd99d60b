//! The first screen of a study that compares much: how many verdicts there are, the largest
//! differences, who leads where, and all verdicts in a grid.

use abx_evidence::StudyRecord;

use super::grid::verdict_grid;
use crate::words::overview::{counts, lacking, largest, leaders};
use crate::words::style::Style;
use crate::words::verdict::sentence;

/// What was found, without the figures behind it.
pub(crate) fn found(record: &StudyRecord, style: &Style) -> String {
    let mut out = style.paragraph(&counts(record));
    if let Some(text) = lacking(record) {
        out.push_str(&style.paragraph(&text));
    }
    for one in largest(record) {
        out.push_str(&style.paragraph(&sentence(record, one, style)));
    }
    for line in leaders(record) {
        out.push_str(&style.paragraph(&line));
    }
    out.push('\n');
    out + &verdict_grid(record, style)
}

/// Where the rest is.
pub(crate) fn rest(style: &Style) -> String {
    style.paragraph(
        "--full prints all figures and remedies, --html FILE draws them, --explain-terms defines \
         words.",
    )
}
