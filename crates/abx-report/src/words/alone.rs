//! What a study says of a subject that is compared with nothing.

use abx_evidence::{Capacity, KNEE_SHARE, Knee, StudyRecord};

use super::curve::ends_of_rates;
use super::sweeps::{rate_of, tried};
use super::units::{count, figure, or_unknown, percent};
use super::verdict::name;

/// Whether one subject was measured, with nothing beside it.
pub(crate) fn is_alone(record: &StudyRecord) -> bool {
    !record.measured.is_comparison()
}

/// What was found out of it, a sentence each: capacities, the ends of curves over rates, knees.
pub(crate) fn sentences(record: &StudyRecord) -> Vec<String> {
    let found = &record.conclusions;
    let knees = found.sweeps.iter().flat_map(|sweep| &sweep.knees);
    let rates = { found.sweeps.iter() }.filter_map(|sweep| ends_of_rates(record, sweep));
    let capacities = found.capacities.iter().map(|one| capacity(record, one));
    capacities.chain(rates).chain(knees.map(knee)).collect()
}

fn capacity(record: &StudyRecord, one: &Capacity) -> String {
    let unit = rate_of(record, &one.objective);
    let rate = |rate: f64| format!("{} {unit}", figure(rate));
    let (who, objective) = (name(&one.subject), &one.objective);
    match (one.rate_per_s, one.low, one.high) {
        (Some(found), Some(low), Some(high)) => format!(
            "{who} meets {objective} up to {} ({} to {}, {} interval).{}",
            rate(found),
            figure(low),
            figure(high),
            percent(one.confidence),
            in_every_block(one)
        ),
        (Some(found), None, None) => format!(
            "{who} meets {objective} up to {} in the only block.{}",
            rate(found),
            in_every_block(one)
        ),
        (_, Some(low), None) => format!("{who} meets {objective} at {} at least.", rate(low)),
        (_, None, Some(high)) => {
            let lowest = tried(record, &one.objective).first().copied();
            format!(
                "{who} meets {objective} at {} at most: some blocks missed it at every rate, down \
                 to {}. Loosen the objective, or find its response times at lower rates with \
                 `abx run URL -r auto`.",
                rate(high),
                or_unknown(lowest, figure)
            )
        }
        _ => {
            format!("Up to which rate {who} meets {objective} lies outside those that were tried.")
        }
    }
}

/// The rates that every block met, and missed; empty when a block had no such rate.
fn in_every_block(one: &Capacity) -> String {
    match (one.held_per_s, one.missed_per_s) {
        (Some(held), Some(missed)) => format!(
            " It holds in every block at {} and fails in every block at {}.",
            figure(held),
            figure(missed)
        ),
        _ => String::new(),
    }
}

fn knee(one: &Knee) -> String {
    let highest = figure(one.highest_per_s);
    match one.connections {
        Some(connections) => format!(
            "From {} connections on, {} gives {} or more of its highest throughput, {highest} \
             requests/s: more of them mostly wait longer.",
            count(connections as u64),
            name(&one.subject),
            percent(KNEE_SHARE)
        ),
        None => format!(
            "{} gives its highest throughput, {highest} requests/s, with the most connections that \
             were tried: try more, to see where it ends.",
            name(&one.subject)
        ),
    }
}
