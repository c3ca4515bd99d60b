//! Sweeps: where subjects change places, how they scale, and the highest rate
//! at which each keeps to an objective.

use abx_evidence::{Capacity, StudyRecord};

use crate::words::style::Style;
use crate::words::sweeps::{alike, is_without_interval, rate_of, text, tried};
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
        let headers = ["subject", unit, "from", "to"].map(str::to_owned);
        let rows = alike.iter().map(row);
        out.push_str(&Table::new(headers, rows).text(style.columns()));
        let rates = tried(record, &first.objective);
        if let (Some(low), Some(high)) = (rates.first(), rates.last()) {
            let text = format!(
                "from {} rates between {} and {} {unit}, all of them in every block",
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
            let legend = format!("{UNKNOWN}: outside the rates that were tried");
            out.push_str(&style.note(&legend));
        }
    }
    out
}

fn row(one: &Capacity) -> [String; 4] {
    [
        clean_name(&one.subject),
        or_unknown(one.rate_per_s, figure),
        or_unknown(one.low, figure),
        or_unknown(one.high, figure),
    ]
}
