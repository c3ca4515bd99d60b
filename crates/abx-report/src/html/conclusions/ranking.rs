//! The ranking of several subjects, as far as the blocks hold one.

use abx_evidence::{Place, Ranking, StudyRecord};

use crate::html::conclusions::ratios::pairs;
use crate::html::markup::{Element, Grid, Markup, element, folded, note};
use crate::words::metrics::metric_under;
use crate::words::verdict::{name, place};

/// A table for each load, with every pair below it; nothing where there are but
/// two subjects.
pub(crate) fn rankings(record: &StudyRecord) -> Markup {
    let tables: Vec<Element> = { record.conclusions.rankings.iter() }
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
            .filter(|one| one.tied_for_first)
            .count();
        let first = match place.tied_for_first {
            true if tied > 1 => "tied",
            true => "yes",
            false => "",
        };
        vec![name(&place.subject), place.text(), first.to_owned()]
    };
    let grid = Grid::words(
        format!("Ranking by {by}"),
        ["subject", "rank", "first"],
        ranking.places.iter().map(row),
    );
    let pairs = pairs(record, &format!("All pairs by {by}"), &ranking.pairs);
    let out = element("div").add(grid.markup());
    match pairs.is_empty() {
        true => out,
        false => out.add(folded("All pairs", pairs)),
    }
}
