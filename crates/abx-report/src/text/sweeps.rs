//! Sweeps: where subjects change places, how they scale, and the highest rate
//! at which each keeps to an objective.

use abx_evidence::{Capacity, StudyRecord};

use crate::words::style::Style;
use crate::words::sweeps::{
    alike, is_same_in_all_blocks, is_without_interval, rate_of, text, tried,
};
use crate::words::table::Table;
use crate::words::units::{UNKNOWN, figure, or_unknown, percent};
use crate::words::verdict::name;
use crate::words::wrap::clean_name;

/// What sweeps say; empty when there are none.
pub(crate) fn sweeps(record: &StudyRecord, style: &Style) -> String {
    let each = record
        .conclusions
        .sweeps
        .iter()
        .map(|sweep| text(record, sweep, style));
    each.collect::<Vec<_>>().join("")
}

/// Those sweeps in which subjects certainly change places; empty when there are none.
pub(crate) fn crossovers(record: &StudyRecord, style: &Style) -> String {
    let all = record.conclusions.sweeps.iter();
    let crossed = all.filter(|sweep| !sweep.crossovers.is_empty());
    crossed.map(|sweep| text(record, sweep, style)).collect()
}

/// Capacities, a table for each objective; empty when there are none.
pub(crate) fn capacities(record: &StudyRecord, style: &Style) -> String {
    let mut out = String::new();
    for alike in alike(&record.conclusions.capacities) {
        let first = &alike[0];
        let unit = rate_of(record, &first.objective);
        let heading = format!(
            "Highest rate in {unit} that meets {} under {} ({} intervals):",
            first.objective,
            name(&first.load),
            percent(first.confidence)
        );
        out.push_str(&style.paragraph(&heading));
        let headers = ["subject", unit, "from", "to", "always met", "always missed"];
        let headers = headers.map(str::to_owned);
        let rows = alike.iter().map(row);
        out.push_str(&Table::new(headers, rows).text(style.columns()));
        let rates = tried(record, &first.objective);
        if let (Some(low), Some(high)) = (rates.first(), rates.last()) {
            let each_block = if is_same_in_all_blocks(record, &first.objective) {
                ", all of them in every block"
            } else {
                "; each block tried those around its own capacities"
            };
            let text = format!(
                "from {} rates between {} and {} {unit}{each_block}",
                rates.len(),
                figure(*low),
                figure(*high)
            );
            out.push_str(&style.note(&text));
        }
        if alike.iter().any(is_without_interval) {
            out.push_str(&style.note("one block was measured: no interval yet"));
        }
        if alike.iter().any(|one| one.rate_per_s.is_none()) {
            let is_below = alike
                .iter()
                .any(|one| one.rate_per_s.is_none() && one.high.is_some());
            let next = if is_below {
                "; loosen the objective, or find response times at lower rates with `-r auto`"
            } else {
                ""
            };
            let legend = format!("{UNKNOWN}: outside the rates that were tried{next}");
            out.push_str(&style.note(&legend));
        }
    }
    out
}

fn row(one: &Capacity) -> [String; 6] {
    [
        clean_name(&one.subject),
        or_unknown(one.rate_per_s, figure),
        or_unknown(one.low, figure),
        or_unknown(one.high, figure),
        or_unknown(one.held_per_s, figure),
        or_unknown(one.missed_per_s, figure),
    ]
}
