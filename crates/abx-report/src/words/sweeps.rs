//! Sweeps and capacities in words.

use abx_evidence::{Axis, Capacity, Crossover, Objective, StudyRecord, Sweep};

use super::metrics::{metric_under, rate_name, rate_under};
use super::style::Style;
use super::units::{count, figure, or_unknown, percent};
use super::verdict::name;

/// Capacities of one objective under one load, each in a slice of its own.
pub(crate) fn alike(all: &[Capacity]) -> impl Iterator<Item = &[Capacity]> {
    all.chunk_by(|one, next| one.load == next.load && one.objective == next.objective)
}

/// The rates at which an objective was looked at, upwards.
pub(crate) fn tried(record: &StudyRecord, objective: &Objective) -> Vec<f64> {
    let settings = record.measured.loads.iter().map(|load| &load.settings);
    let of_grid = settings.filter(|settings| settings.objective.as_ref() == Some(objective));
    let mut rates: Vec<f64> = of_grid
        .filter_map(|settings| settings.arrivals.rate_per_s)
        .collect();
    rates.sort_by(f64::total_cmp);
    rates
}

/// Whether every block was measured at all rates at which an objective was looked at.
pub(crate) fn is_same_in_all_blocks(record: &StudyRecord, objective: &Objective) -> bool {
    let loads = record.measured.loads.iter();
    let mut of_grid = loads.filter(|load| load.settings.objective.as_ref() == Some(objective));
    let blocks = record.measured.complete_blocks().count();
    of_grid.all(|load| record.measured.block_loads(&load.name).count() == blocks)
}

/// Whether one block is all that tells of it.
pub(crate) fn is_without_interval(one: &Capacity) -> bool {
    one.rate_per_s.is_some() && one.low.is_none() && one.high.is_none()
}

/// What the rates of an objective are counted in.
pub(crate) fn rate_of(record: &StudyRecord, objective: &Objective) -> &'static str {
    let settings = record.measured.loads.iter().map(|load| &load.settings);
    let mut of_grid = settings.filter(|settings| settings.objective.as_ref() == Some(objective));
    let shape = of_grid.next().map(|settings| settings.exchange.shape);
    rate_name(shape.unwrap_or_default())
}

/// Where subjects change places in one sweep, and how they scale.
pub(crate) fn text(record: &StudyRecord, sweep: &Sweep, style: &Style) -> String {
    let load = sweep.loads.first().map_or("", String::as_str);
    let unit = rate_under(record, load);
    let number = |at: &f64| match sweep.axis {
        Axis::Connections => format!("{} connections", count(*at as u64)),
        Axis::Rate => format!("{} {unit}", count(*at as u64)),
    };
    let metric = metric_under(record, load, sweep.metric);
    let each = sweep.crossovers.iter();
    let each = each.map(|one| crossover(one, metric, number));
    let mut lines: Vec<String> = each.collect();
    if lines.is_empty() && record.measured.is_comparison() {
        let whom = record
            .measured
            .only_baseline()
            .map_or("", |_| " with the baseline");
        lines.push(format!(
            "From {} to {}, no certain crossover{whom}.",
            or_unknown(sweep.at.first().copied(), |at| count(at as u64)),
            or_unknown(sweep.at.last().copied(), |at| number(&at))
        ));
    }
    for one in &sweep.scalability {
        let peak = match one.peak_connections {
            Some(peak) => format!("peak at about {} connections", figure(peak)),
            None => "no peak in sight".to_owned(),
        };
        let fit = one.r2.map_or(String::new(), |r2| {
            format!(", which explains {} of the variation", percent(r2.max(0.0)))
        });
        lines.push(format!(
            "{} by the Universal Scalability Law: {} {unit} with one connection, contention {}, \
             coherency {:.2e}: {peak}{fit}.",
            name(&one.subject),
            figure(one.lambda),
            percent(one.sigma),
            one.kappa
        ));
    }
    let of_which = of_which(record, sweep);
    let lines = lines.iter().map(|line| format!("{of_which}{line}"));
    lines.map(|line| style.paragraph(&line)).collect()
}

/// Which of several sweeps a line speaks of; nothing where there is but one.
fn of_which(record: &StudyRecord, sweep: &Sweep) -> String {
    match sweep.loads.as_slice() {
        [first, .., last] if record.conclusions.sweeps.len() > 1 => {
            format!("{} to {}: ", name(first), name(last))
        }
        _ => String::new(),
    }
}

fn crossover(one: &Crossover, metric: &str, number: impl Fn(&f64) -> String) -> String {
    let range = match (one.low, one.high) {
        (Some(low), Some(high)) => format!("{} to {}", figure(low), figure(high)),
        (None, Some(high)) => format!("at most {}", figure(high)),
        (Some(low), None) => format!("at least {}", figure(low)),
        (None, None) => "unbounded".to_owned(),
    };
    format!(
        "{} is ahead by {} up to {}, {} from {} on; they are even at about {} ({range}).",
        name(&one.before),
        metric,
        number(&one.ahead_until),
        name(&one.after),
        number(&one.ahead_from),
        figure(one.at)
    )
}
