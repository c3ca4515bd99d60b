//! Idle connections that were held open.

use abx_evidence::Held;
use abx_verdict::Summary;

use crate::document::Table;
use crate::words::units::{bytes, count, figure, or_unknown};
use crate::words::wrap::clean_name;

/// A row per subject; `None` for a load of another kind.
pub(crate) fn held_table(summaries: &[&Summary]) -> Option<Table> {
    let row = |summary: &&Summary| {
        let held = summary.held?;
        Some([
            clean_name(&summary.subject),
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
        "requested",
        "held",
        "lost",
        "opened/s",
        "memory each",
    ];
    (!rows.is_empty()).then(|| Table::new(headers, rows))
}

pub(crate) const HELD_LEGEND: &str = "requested, held, lost: connections in all blocks: \
    requested, open at the end, and lost before then. opened/s: connections opened per second, \
    including the handshake. memory each: growth of the server's memory per open connection, \
    without file pages and without the kernel's share. Medians over blocks.";

pub(crate) fn held_text(held: &Held) -> String {
    let lost = match held.lost {
        0 => "none lost".to_owned(),
        lost => format!("{} lost", count(lost)),
    };
    format!(
        "Connections: {} of {} held, {lost}; {} opened per second, including the handshake; {}.",
        count(held.standing),
        count(held.asked),
        or_unknown(held.connect_rate_per_s(), figure),
        grown(held),
    )
}

fn grown(held: &Held) -> String {
    let is_read = held.memory_before_bytes.is_some() && held.memory_after_bytes.is_some();
    match held.memory_per_connection() {
        Some(each) => format!("{} of server memory per connection", bytes(each)),
        None if is_read && held.standing > 0 => {
            "the server needed no more memory for them".to_owned()
        }
        None => "the server's memory could not be read".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_growth_of_memory_or_why_it_has_none() {
        // Method: memory that grew, memory that did not grow, and memory that could not be read.
        let held = Held {
            asked: 1_000,
            standing: 1_000,
            lost: 0,
            open_ns: 500_000_000,
            memory_before_bytes: Some(1_000_000),
            memory_after_bytes: Some(3_000_000),
        };
        assert_eq!(
            held_text(&held),
            "Connections: 1,000 of 1,000 held, none lost; 2,000 opened per second, including \
             the handshake; 2.0\u{a0}kB of server memory per connection."
        );
        let same = Held {
            memory_after_bytes: held.memory_before_bytes,
            ..held
        };
        assert!(held_text(&same).ends_with("; the server needed no more memory for them."));
        let unread = Held {
            memory_after_bytes: None,
            ..held
        };
        assert!(held_text(&unread).ends_with("; the server's memory could not be read."));
    }
}
