//! Connections that were held open and said nothing.

use abx_evidence::{Held, Summary};

use crate::style::Style;
use crate::table::Table;
use crate::units::{bytes, count, figure, or_unknown};
use crate::wrap::{clean_name, wrap};

/// What came of holding them for each subject; `None` for any other load.
pub(crate) fn held_table(summaries: &[&Summary]) -> Option<Table<6>> {
    let row = |one: &&Summary| {
        let held = one.held?;
        Some([
            clean_name(&one.subject),
            count(held.asked),
            count(held.standing),
            count(held.lost),
            or_unknown(held.connect_rate_per_s, figure),
            or_unknown(held.memory_per_connection, bytes),
        ])
    };
    let rows: Vec<_> = summaries.iter().filter_map(row).collect();
    let headers = [
        "subject",
        "asked",
        "held",
        "lost",
        "opened/s",
        "memory each",
    ];
    (!rows.is_empty()).then(|| Table {
        headers: headers.map(str::to_owned),
        rows,
    })
}

/// What the columns of that table mean.
pub(crate) const HELD_LEGEND: &str = "asked, held, lost: connections in all blocks, those that stood at the end, and those that had \
     stood before. opened/s: connections opened per second, handshake included. memory each: what \
     the memory of the server's processes grew by, for each connection that stood; the kernel's \
     own share is not in it. Medians over blocks.";

/// The same for a terminal.
pub(crate) fn held_legend(style: &Style) -> String {
    wrap(HELD_LEGEND, "  ", "  ", style.columns())
}

/// The headline of a run.
pub(crate) fn held_text(held: &Held) -> String {
    let lost = match held.lost {
        0 => "none lost".to_owned(),
        lost => format!("{} lost", count(lost)),
    };
    format!(
        "Connections: {} of {} held, {lost}; {} opened per second, handshake included; {} of the \
         server's memory for each.",
        count(held.standing),
        count(held.asked),
        or_unknown(held.connect_rate_per_s(), figure),
        or_unknown(held.memory_per_connection(), bytes),
    )
}
