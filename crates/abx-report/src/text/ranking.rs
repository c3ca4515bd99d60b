//! The order of several subjects, as far as the blocks hold one.

use abx_evidence::{Place, Ranking, StudyRecord};

use crate::words::metrics::metric_under;
use crate::words::style::Style;
use crate::words::verdict::{name, place};

/// A line for each load; empty where there are but two subjects.
pub(crate) fn rankings(record: &StudyRecord, style: &Style) -> String {
    let lines = record.conclusions.rankings.iter();
    lines.map(|one| line(record, one, style)).collect()
}

/// What ranks are.
pub(crate) const RANKING_LEGEND: &str = "ranks that each subject may have, by the pairs asked for \
     and after them all others; no subject is certainly better than one that is tied for first";

fn line(record: &StudyRecord, ranking: &Ranking, style: &Style) -> String {
    let each: Vec<String> = { ranking.places.iter() }
        .map(|place| format!("{} {}", place.text(), name(&place.subject)))
        .collect();
    let tied: Vec<&Place> = { ranking.places.iter() }
        .filter(|place| place.tied_for_first)
        .collect();
    let first = match &tied[..] {
        [] => String::new(),
        [only] => format!("; first: {}", name(&only.subject)),
        several => {
            let names: Vec<String> = several.iter().map(|one| name(&one.subject)).collect();
            format!("; tied for first: {}", names.join(", "))
        }
    };
    let text = format!(
        "Ranking by {} {}: {}{first}.",
        metric_under(record, &ranking.load, ranking.metric),
        place(record, &ranking.load),
        each.join(", ")
    );
    style.paragraph(&text)
}
