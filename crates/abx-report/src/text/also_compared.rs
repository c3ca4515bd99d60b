//! What else is compared beside what a study was made for: what an answer
//! costs, response times, starts.

use abx_evidence::{Comparison, Role, StudyRecord};

use crate::words::metrics::{capitalized, metric_of};
use crate::words::ratio::ratio_cells;
use crate::words::style::Style;
use crate::words::table::Table;
use crate::words::units::percent;
use crate::words::verdict::{name, place, who, word_of};

/// A table for each load, and one for starts unless there is one load only; empty
/// without such comparisons.
pub(crate) fn also_compared(record: &StudyRecord, style: &Style) -> String {
    let told = "intervals; with this many intervals, one may miss by chance";
    tables(record, told, style)
}

/// The same with a heading of one line.
pub(crate) fn also_compared_briefly(record: &StudyRecord, style: &Style) -> String {
    tables(record, "intervals", style)
}

fn tables(record: &StudyRecord, intervals: &str, style: &Style) -> String {
    let explored: Vec<&Comparison> = { record.conclusions.comparisons.iter() }
        .filter(|one| one.role == Role::Exploratory)
        .collect();
    if explored.is_empty() {
        return String::new();
    }
    let baseline = record.measured.only_baseline().map(name);
    let baseline = baseline.unwrap_or_else(|| "the baseline of each".to_owned());
    let confidence = explored.first().map_or(0.95, |one| one.confidence);
    let heading = format!(
        "Also compared, relative to {baseline} ({} {intervals}):",
        percent(confidence)
    );
    let mut out = style.paragraph(&heading);
    for (under, loads) in headings(record) {
        let these = { explored.iter().copied() }.filter(|one| loads.contains(&one.load.as_str()));
        let these: Vec<&Comparison> = these.collect();
        if these.is_empty() {
            continue;
        }
        let tables = tables_of(record, &these);
        let tables: Vec<String> = { tables.iter() }
            .map(|table| table.text(style.columns()))
            .collect();
        if let Some(under) = under {
            out.push_str(&style.paragraph(&format!("{under}:")));
        }
        out.push_str(&tables.join("\n"));
    }
    out
}

/// One table; one for each metric where rows are of pairs, whose names leave no room for it.
fn tables_of(record: &StudyRecord, these: &[&Comparison]) -> Vec<Table<4>> {
    let table = |of: &str, rows: Vec<[String; 4]>| {
        let headers = [of, "ratio", "interval", "verdict"].map(str::to_owned);
        Table::new(headers, rows)
    };
    let metric = |one: &Comparison| metric_of(record, one);
    let is_alone = record.measured.subjects.len() == 2;
    if is_alone || record.measured.only_baseline().is_some() {
        let rows = these.iter().map(|one| match is_alone {
            true => row(metric(one), one),
            false => row(format!("{}: {}", who(record, one), metric(one)), one),
        });
        return vec![table("metric", rows.collect())];
    }
    let mut metrics: Vec<String> = Vec::new();
    for found in these.iter().map(|one| metric(one)) {
        if !metrics.contains(&found) {
            metrics.push(found);
        }
    }
    let of_metric = |of: &String| {
        let rows = these.iter().filter(|one| metric(one) == *of);
        let rows = rows.map(|one| row(who(record, one), one));
        table(&capitalized(of), rows.collect())
    };
    metrics.iter().map(of_metric).collect()
}

/// The heading of each table and the loads whose comparisons stand in it; those
/// of starts have none.
fn headings(record: &StudyRecord) -> Vec<(Option<String>, Vec<&str>)> {
    if let [load] = &record.measured.loads[..] {
        return vec![(None, vec![&load.name, STARTS])];
    }
    let of_load = |load: &str| capitalized(&place(record, load));
    let loads = record.measured.loads.iter().map(|load| load.name.as_str());
    loads
        .map(|load| (Some(of_load(load)), vec![load]))
        .chain([(Some("Starts".to_owned()), vec![STARTS])])
        .collect()
}

/// The load of comparisons that are of no load.
const STARTS: &str = "";

fn row(what: String, one: &Comparison) -> [String; 4] {
    let [ratio, interval] = ratio_cells(one);
    let fragile = if one.fragile { ", fragile" } else { "" };
    [what, ratio, interval, format!("{}{fragile}", word_of(one))]
}
