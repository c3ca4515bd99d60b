//! The report of a scenario: sessions of users, and each step of them.

use abx_evidence::Figure;
use abx_evidence::scenario::{ScenarioRecord, StepRecord};

use crate::words::scenario::{STEP_LEGEND, at_a_glance, failures, headline, notes};
use crate::words::style::Style;
use crate::words::table::Table;
use crate::words::times::{at_least_legend, time_with_unit};
use crate::words::units::count;
use crate::words::wrap::{clean_name, wrap};

/// The report of a scenario, ready to be printed.
#[must_use]
pub fn scenario_text(record: &ScenarioRecord, style: &Style) -> String {
    let mut out = style.paragraph(&headline(record));
    for (label, text) in at_a_glance(record, style) {
        let first = format!("{label:LABEL$}");
        out.push_str(&wrap(&text, &first, &" ".repeat(LABEL), style.columns()));
    }
    out.push('\n');
    out.push_str(&steps(record, style));
    let failed = record.steps.iter().filter(|step| step.failures() > 0);
    for text in failed.map(failures).chain(notes(record)) {
        out.push_str(&style.note(&text));
    }
    style.finish(&out)
}

fn steps(record: &ScenarioRecord, style: &Style) -> String {
    let row = |step: &StepRecord| {
        let quantile = |figure| time_with_unit(&step.response_time_us, figure, style);
        [
            clean_name(&step.name),
            count(step.begun),
            count(step.ok),
            count(step.failures()),
            quantile(SHOWN[0]),
            quantile(SHOWN[1]),
            quantile(SHOWN[2]),
            quantile(SHOWN[3]),
        ]
    };
    let headers = ["step", "begun", "ok", "failed", "p50", "p90", "p99", "max"];
    let table = Table::new(headers, record.steps.iter().map(row));
    let times = record.steps.iter().map(|step| &step.response_time_us);
    let legend = format!("{STEP_LEGEND}{}", at_least_legend(times, &SHOWN, style));
    table.text(style.columns()) + &style.note(&legend)
}

/// The figures of steps.
const SHOWN: [Figure; 4] = [Figure::P50, Figure::P90, Figure::P99, Figure::Max];
/// Room for the words before a line.
const LABEL: usize = 16;
