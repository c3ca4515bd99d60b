//! Sweeps: where subjects change places, how they scale, and the highest rate
//! at which each keeps to an objective.

use abx_evidence::{Axis, Capacity, Crossover, Objective, StudyRecord, Sweep};

use crate::metrics::{metric_under, rate_name, rate_under};
use crate::style::Style;
use crate::table::Table;
use crate::units::{UNKNOWN, count, figure, or_unknown, percent};
use crate::verdict::name;
use crate::wrap::{clean_name, wrap};

/// What sweeps say; empty when there are none.
pub(crate) fn sweeps(record: &StudyRecord, style: &Style) -> String {
    let each = record.sweeps.iter().map(|sweep| text(record, sweep, style));
    each.collect::<Vec<_>>().join("")
}

/// Capacities of one objective under one load, each in a slice of its own.
pub(crate) fn alike(all: &[Capacity]) -> impl Iterator<Item = &[Capacity]> {
    all.chunk_by(|one, next| one.load == next.load && one.objective == next.objective)
}

/// The rates at which an objective was looked at, upwards.
pub(crate) fn tried(record: &StudyRecord, objective: &Objective) -> Vec<f64> {
    let settings = record.loads.iter().map(|load| &load.settings);
    let of_grid = settings.filter(|settings| settings.objective.as_ref() == Some(objective));
    let mut rates: Vec<f64> = of_grid
        .filter_map(|settings| settings.arrivals.rate_per_s)
        .collect();
    rates.sort_by(f64::total_cmp);
    rates
}

/// What the rates of an objective are counted in.
pub(crate) fn rate_of(record: &StudyRecord, objective: &Objective) -> &'static str {
    let settings = record.loads.iter().map(|load| &load.settings);
    let mut of_grid = settings.filter(|settings| settings.objective.as_ref() == Some(objective));
    let shape = of_grid.next().map(|settings| settings.exchange.shape);
    rate_name(shape.unwrap_or_default())
}

/// Capacities, a table for each objective; empty when there are none.
pub(crate) fn capacities(record: &StudyRecord, style: &Style) -> String {
    let mut out = String::new();
    for alike in alike(&record.capacities) {
        let first = &alike[0];
        let unit = rate_of(record, &first.objective);
        let heading = format!(
            "The highest rate in {unit} that keeps to {} under {} (interval at {} \
             confidence):",
            first.objective,
            name(&first.load),
            percent(first.confidence)
        );
        out.push_str(&wrap(&heading, "", "  ", style.columns()));
        let headers = ["subject", unit, "from", "to"].map(str::to_owned);
        let rows = alike.iter().map(row).collect();
        out.push_str(&Table { headers, rows }.text(style.columns()));
        let rates = tried(record, &first.objective);
        if let (Some(low), Some(high)) = (rates.first(), rates.last()) {
            let text = format!(
                "from {} rates of {} to {} {unit}, all of them in every block",
                rates.len(),
                figure(*low),
                figure(*high)
            );
            out.push_str(&wrap(&text, "  ", "  ", style.columns()));
        }
        if alike.iter().any(|one| one.rate_per_s.is_none()) {
            let legend = format!("{UNKNOWN}: beyond the rates that were tried");
            out.push_str(&wrap(&legend, "  ", "  ", style.columns()));
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
    if lines.is_empty() {
        lines.push(format!(
            "From {} to {}, no subject certainly changes places with the baseline.",
            or_unknown(sweep.at.first().copied(), |at| count(at as u64)),
            or_unknown(sweep.at.last().copied(), |at| number(&at))
        ));
    }
    for one in &sweep.scalability {
        let peak = match one.peak_connections {
            Some(peak) => format!("most at about {} connections", figure(peak)),
            None => "no peak in sight".to_owned(),
        };
        let fit = one.r2.map_or(String::new(), |r2| {
            format!(
                ", which explains {} of what was measured",
                percent(r2.max(0.0))
            )
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
    lines
        .iter()
        .map(|line| wrap(line, "", "  ", style.columns()))
        .collect()
}

fn crossover(one: &Crossover, metric: &str, number: impl Fn(&f64) -> String) -> String {
    let range = match (one.low, one.high) {
        (Some(low), Some(high)) => format!("{} to {}", figure(low), figure(high)),
        (None, Some(high)) => format!("at most {}", figure(high)),
        (Some(low), None) => format!("at least {}", figure(low)),
        (None, None) => "no end to either side".to_owned(),
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
