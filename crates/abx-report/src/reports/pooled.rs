//! The pooled result of several records of one study.

use abx_verdict::{Pooled, PooledComparison};

use crate::words::metrics::metric_name;
use crate::words::style::Style;
use crate::words::units::{count, percent, ratios};
use crate::words::verdict::{interval, name};
use crate::words::wrap::clean;

/// One estimate for each comparison, with the estimate of each record below it.
#[must_use]
pub fn pooled_text(pooled: &Pooled, style: &Style) -> String {
    let many = count(pooled.records.len() as u64);
    let mut out = style.paragraph(&format!("{many} records of one study:"));
    for (place, record) in pooled.records.iter().enumerate() {
        out.push_str(&format!("  {}  {}\n", place + 1, clean(record)));
    }
    for comparison in &pooled.comparisons {
        out.push('\n');
        out.push_str(&style.paragraph(&sentence(comparison)));
        for (place, bounds) in comparison.each.iter().enumerate() {
            let estimate =
                bounds.map_or_else(|| "no result".to_owned(), |bounds| interval(&bounds));
            out.push_str(&format!("  {}  {estimate}\n", place + 1));
        }
    }
    out.push('\n');
    out.push_str(&style.note(
        "The mean is over all days or machines such as these, with its 95 % interval. The next \
         record: the range that holds the true ratio of one more record in 95 of 100 cases. \
         Between: the standard deviation from record to record beyond chance.",
    ));
    style.finish(&out)
}

fn sentence(comparison: &PooledComparison) -> String {
    let [subject, baseline] = [&comparison.subject, &comparison.baseline].map(|text| name(text));
    let metric = metric_name(comparison.metric);
    let place = match comparison.load.as_str() {
        "" => String::new(),
        load => format!(" under {}", name(load)),
    };
    let Some(mean) = &comparison.mean else {
        return format!(
            "{subject}'s {metric} compared with {baseline}'s{place}: fewer than two records have a \
             verdict."
        );
    };
    let next = match &comparison.prediction {
        Some(next) => {
            let [_, low, high] = ratios([next.ratio, next.low, next.high]);
            format!("the next record {low} to {high}")
        }
        None => "predicting the next record needs at least three records".to_owned(),
    };
    let bound = if comparison.at_least {
        "; the true ratio may lie further from 1"
    } else {
        ""
    };
    format!(
        "{subject}'s {metric} is {} times {baseline}'s{place}; {next}; between records {}{bound}.",
        interval(mean),
        percent(comparison.between.unwrap_or_default()),
    )
}
