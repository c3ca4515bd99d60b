//! Where the time of requests goes, as tables of times in µs.

use abx_evidence::{Phase, RunRecord, StudyRecord};

use crate::words::phases::{LEGEND, NOT_RECORDED, cells, telling};
use crate::words::style::Style;
use crate::words::table::Table;
use crate::words::units::{GLUE, count, figure};

/// What a run says: each phase, and what they are; that nothing was recorded when
/// there were answers to follow.
pub(crate) fn of_run(record: &RunRecord, style: &Style) -> String {
    let Some(times) = &record.phases else {
        return match record.requests.completed {
            0 => String::new(),
            _ => style.paragraph(NOT_RECORDED),
        };
    };
    let table = Table::new(
        ["where time goes", "mean µs", "share", "p50 µs", "p99 µs"],
        Phase::ALL.map(|phase| cells(times, phase)),
    );
    let legend = format!(
        "Mean of {} responses, sampled at random: {}{GLUE}µs. {LEGEND}",
        count(times.requests),
        figure(times.response_us())
    );
    table.text(style.columns()) + &style.note(&legend)
}

/// What a study says: a table for each load under which some subject spends its
/// time on more than the first byte.
pub(crate) fn of_study(record: &StudyRecord, style: &Style) -> String {
    let tables: Vec<String> = telling(record)
        .map(|(heading, table)| style.paragraph(&heading) + &table.text(style.columns()))
        .collect();
    if tables.is_empty() {
        return String::new();
    }
    tables.join("\n") + &style.note(LEGEND)
}
