//! The order of several subjects, as far as the blocks hold one.

use abx_evidence::{Place, Ranking, StudyRecord};

use crate::document::Table;
use crate::html::markup::{Element, Markup, element, folded, note};
use crate::sections::compared::ratios::pairs;
use crate::words::metrics::metric_under;
use crate::words::style::Style;
use crate::words::verdict::{name, place};

/// A line for each load; empty where there are but two subjects.
pub(crate) fn rankings_text(record: &StudyRecord, style: &Style) -> String {
    let lines = record.conclusions.rankings.iter();
    lines.map(|ranking| line(record, ranking, style)).collect()
}

pub(crate) const RANKING_LEGEND: &str = "ranks that each subject may have, by the pairs asked for \
     and after them all others; no subject is certainly better than one that is tied for first";

fn line(record: &StudyRecord, ranking: &Ranking, style: &Style) -> String {
    let each: Vec<String> = ranking
        .places
        .iter()
        .map(|place| format!("{} {}", place.text(), name(&place.subject)))
        .collect();
    let tied: Vec<&Place> = ranking
        .places
        .iter()
        .filter(|place| place.tied_for_first)
        .collect();
    let first = match &tied[..] {
        [] => String::new(),
        [only] => format!("; first: {}", name(&only.subject)),
        several => {
            let names: Vec<String> = several.iter().map(|place| name(&place.subject)).collect();
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

/// A table for each load, with every pair below it; nothing where there are but
/// two subjects.
pub(crate) fn rankings_html(record: &StudyRecord) -> Markup {
    let tables: Vec<Element> = record
        .conclusions
        .rankings
        .iter()
        .map(|ranking| table(record, ranking))
        .collect();
    let mut out = Markup::new();
    if !tables.is_empty() {
        out.push(element("div").class("pair").add_all(tables));
        let text = "Ranks that each subject may have, by the pairs asked for and after them all \
                    others. No subject is certainly better than one that is tied for first.";
        out.push(note(text));
    }
    out
}

fn table(record: &StudyRecord, ranking: &Ranking) -> Element {
    let by = format!(
        "{} {}",
        metric_under(record, &ranking.load, ranking.metric),
        place(record, &ranking.load)
    );
    let row = |place: &Place| {
        let tied = ranking
            .places
            .iter()
            .filter(|place| place.tied_for_first)
            .count();
        let first = if place.tied_for_first && tied > 1 {
            "tied"
        } else if place.tied_for_first {
            "yes"
        } else {
            ""
        };
        vec![name(&place.subject), place.text(), first.to_owned()]
    };
    let grid = Table::new(["subject", "rank", "first"], ranking.places.iter().map(row))
        .captioned(format!("Ranking by {by}"))
        .of_words();
    let pairs = pairs(record, &format!("All pairs by {by}"), &ranking.pairs);
    let out = element("div").add(grid.markup());
    if pairs.is_empty() {
        out
    } else {
        out.add(folded("All pairs", pairs))
    }
}
