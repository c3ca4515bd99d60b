//! What else is compared beside what a study was made for: what an answer
//! costs, response times, starts.

use abx_evidence::{Comparison, Role, StudyRecord};

use crate::metrics::{capitalized, metric_under};
use crate::style::Style;
use crate::table::Table;
use crate::units::{UNKNOWN, percent, ratios};
use crate::verdict::{name, place, word};
use crate::wrap::{clean_name, wrap};

/// A table for each load, and one for starts; empty without such comparisons.
pub(crate) fn beside(record: &StudyRecord, style: &Style) -> String {
    let explored: Vec<&Comparison> = { record.comparisons.iter() }
        .filter(|one| one.role == Role::Exploratory)
        .collect();
    if explored.is_empty() {
        return String::new();
    }
    let baseline = name(&record.settings.baseline);
    let confidence = explored.first().map_or(0.95, |one| one.confidence);
    let heading = format!(
        "Beside that, as a multiple of {baseline}'s (interval at {} confidence; of so many \
         figures one may well be off):",
        percent(confidence)
    );
    let mut out = wrap(&heading, "", "  ", style.columns());
    let names = record.loads.iter().map(|load| load.name.as_str());
    for load in names.chain([""]) {
        let rows: Vec<[String; 4]> = { explored.iter() }
            .filter(|one| one.load == load)
            .map(|one| row(record, one))
            .collect();
        if rows.is_empty() {
            continue;
        }
        if record.loads.len() > 1 && !load.is_empty() {
            let under = format!("{}:", capitalized(&place(record, load)));
            out.push_str(&wrap(&under, "", "  ", style.columns()));
        }
        let headers = ["metric", "ratio", "interval", "verdict"].map(str::to_owned);
        out.push_str(&Table { headers, rows }.text(style.columns()));
    }
    out
}

fn row(record: &StudyRecord, one: &Comparison) -> [String; 4] {
    let metric = metric_under(record, &one.load, one.metric);
    let what = match record.subjects.len() {
        2 => metric.to_owned(),
        _ => format!("{}: {metric}", clean_name(&one.subject)),
    };
    let figures = one.ratio.zip(one.low.zip(one.high));
    let (ratio, interval) = match figures {
        Some((ratio, (low, high))) => {
            let [ratio, low, high] = ratios([ratio, low, high]);
            (ratio, format!("{low} to {high}"))
        }
        None => (UNKNOWN.to_owned(), UNKNOWN.to_owned()),
    };
    let fragile = if one.fragile { ", fragile" } else { "" };
    [
        what,
        ratio,
        interval,
        format!("{}{fragile}", word(one.verdict)),
    ]
}
