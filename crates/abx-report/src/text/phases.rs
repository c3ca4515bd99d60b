//! Where the time of requests goes, as tables of times in µs.

use abx_evidence::{Phase, RunRecord, StudyRecord};

use crate::words::phases::{LEGEND, NOT_RECORDED, cells, telling};
use crate::words::style::Style;
use crate::words::table::Table;
use crate::words::units::{GLUE, count, figure};
use crate::words::wrap::wrap;

/// What a run says: each phase, and what they are; that nothing was recorded when
/// there were answers to follow.
pub(crate) fn of_run(record: &RunRecord, style: &Style) -> String {
    let Some(times) = &record.phases else {
        return match record.requests.completed {
            0 => String::new(),
            _ => wrap(NOT_RECORDED, "", "  ", style.columns()),
        };
    };
    let table = Table {
        headers: ["where time goes", "mean µs", "share", "p50 µs", "p99 µs"].map(str::to_owned),
        rows: Phase::ALL.map(|phase| cells(times, phase)).into(),
    };
    let legend = format!(
        "Mean of {} responses, sampled at random: {}{GLUE}µs. {LEGEND}",
        count(times.requests),
        figure(times.response_us())
    );
    table.text(style.columns()) + &wrap(&legend, "  ", "  ", style.columns())
}

/// What a study says: a table for each load under which some subject spends its
/// time on more than the first byte.
pub(crate) fn of_study(record: &StudyRecord, style: &Style) -> String {
    let tables: Vec<String> = telling(record)
        .map(|(heading, table)| {
            wrap(&heading, "", "  ", style.columns()) + &table.text(style.columns())
        })
        .collect();
    if tables.is_empty() {
        return String::new();
    }
    tables.join("\n") + &wrap(LEGEND, "  ", "  ", style.columns())
}
