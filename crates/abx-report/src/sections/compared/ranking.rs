//! The ranking of several subjects, as far as the blocks support one.

use abx_verdict::{Place, Ranking, StudyRecord};

use crate::document::{CellDetail, Document, Matrix, MatrixHeader, MatrixRow, Table};
use crate::html::markup::{Element, Markup, element, folded};
use crate::sections::compared::ratios::pairs;
use crate::words::metrics::metric_under;
use crate::words::verdict::{name, place};

/// Whether the order is certain enough: a list in which most share the first place shows nothing.
fn has_order(ranking: &Ranking) -> bool {
    let first = tied(ranking).len();
    first < ranking.places.len() && first <= FIRST_MAX.max(ranking.places.len() / 2)
}

fn ordered(record: &StudyRecord) -> Vec<&Ranking> {
    let rankings = record.conclusions.rankings.iter();
    rankings.filter(|ranking| has_order(ranking)).collect()
}

/// The ranks of each subject under each load, in one table; lines if there is one ranking.
pub(crate) fn rankings_at_a_glance(record: &StudyRecord) -> Document {
    let rankings = ordered(record);
    if rankings.len() < 2 {
        return rankings_of_text(record);
    }
    let unit = |ranking: &Ranking| metric_under(record, &ranking.load, ranking.metric);
    let first = unit(rankings[0]);
    // A unit that all loads share is named once.
    let is_same = rankings.iter().all(|ranking| unit(ranking) == first);
    let header = |ranking: &&Ranking| MatrixHeader {
        name: name(&ranking.load),
        unit: if is_same { "" } else { unit(ranking) }.to_owned(),
    };
    let subjects = record.measured.subjects.iter();
    let rows = subjects.map(|subject| {
        let ranks = rankings.iter().map(|ranking| {
            let mut places = ranking.places.iter();
            let place = places.find(|place| place.subject == subject.name);
            place.map_or(String::new(), Place::text)
        });
        MatrixRow::of_figures(name(&subject.name), ranks)
    });
    let mut out = Document::default();
    out.heading(if is_same {
        format!("{RANKS} by {first}:")
    } else {
        format!("{RANKS}:")
    });
    out.append(Document::from(Matrix {
        caption: RANKS.to_owned(),
        headers: rankings.iter().map(header).collect(),
        rows: rows.collect(),
        legend: TABLE_LEGEND.to_owned(),
        detail: CellDetail::Whole,
    }));
    out
}

/// The rankings of a text, with the meaning of ranks.
pub(crate) fn rankings_of_text(record: &StudyRecord) -> Document {
    rankings(record).explained(RANKING_LEGEND)
}

/// A line per load with a certain order, on a page a table with every pair below it; nothing for
/// two subjects.
pub(crate) fn rankings(record: &StudyRecord) -> Document {
    let rankings = ordered(record);
    let mut out = Document::default();
    if !rankings.is_empty() {
        let tables = rankings.iter().map(|ranking| table(record, ranking));
        let lines = rankings.iter().map(|ranking| line(record, ranking));
        out.picture(
            element("div").class("pair").add_all(tables),
            lines.collect(),
        );
    }
    out
}

const FIRST_MAX: usize = 3;
const PAIRS_MAX: usize = 28;

const RANKS: &str = "Possible ranks";
const TABLE_LEGEND: &str =
    "ranks that begin with 1: no comparison shows a subject that is certainly better";
const RANKING_LEGEND: &str =
    "ranks that each may have; no subject is certainly better than one tied for first";

fn by(record: &StudyRecord, ranking: &Ranking) -> String {
    let metric = metric_under(record, &ranking.load, ranking.metric);
    format!("{metric} {}", place(record, &ranking.load))
}

fn tied(ranking: &Ranking) -> Vec<String> {
    let places = ranking.places.iter().filter(|place| place.tied_for_first);
    places.map(|place| name(&place.subject)).collect()
}

fn line(record: &StudyRecord, ranking: &Ranking) -> String {
    let places = ranking.places.iter();
    let places = places.map(|place| format!("{} {}", place.text(), name(&place.subject)));
    let places: Vec<String> = places.collect();
    let first = match &tied(ranking)[..] {
        [] => String::new(),
        [only] => format!("; first: {only}"),
        several => format!("; tied for first: {}", several.join(", ")),
    };
    format!(
        "Ranking by {}: {}{first}.",
        by(record, ranking),
        places.join(", ")
    )
}

fn table(record: &StudyRecord, ranking: &Ranking) -> Element {
    let by = by(record, ranking);
    let is_tie = tied(ranking).len() > 1;
    let row = |place: &Place| {
        let first = match (place.tied_for_first, is_tie) {
            (true, true) => "tied",
            (true, false) => "yes",
            (false, _) => "",
        };
        [name(&place.subject), place.text(), first.to_owned()]
    };
    let table = Table::new(["subject", "rank", "first"], ranking.places.iter().map(row));
    let table = table.captioned(format!("Ranking by {by}")).of_words();
    // More pairs would take most of the page; JSON has them.
    let shown = match ranking.pairs.len() {
        ..=PAIRS_MAX => &ranking.pairs[..],
        _ => &[],
    };
    let pairs = pairs(record, &format!("All pairs by {by}"), shown);
    let pairs = (!pairs.is_empty()).then(|| folded("All pairs", pairs));
    element("div")
        .add(Document::from(table).html())
        .add_all(pairs.map(Markup::from))
}
