//! The verdicts of a study that compares much, at a glance: a row for each subject or pair, a
//! column for each load, and each cell a link to its details.

use abx_evidence::{Comparison, StudyRecord, Verdict};

use crate::html::conclusions::links::ratio_id;
use crate::html::conclusions::signs::sign;
use crate::html::markup::{Element, LINE, Markup, element, note, scrolling};
use crate::words::grid::{self, Further, GridCell, GridColumn, GridRow, row_name};
use crate::words::metrics::metric_under;
use crate::words::units::{NO_INTERVAL, percent};
use crate::words::verdict::{name, sentence, word};

/// The matrix, and what its signs mean.
pub(crate) fn matrix(record: &StudyRecord) -> Markup {
    let columns = grid::columns(record);
    let caption = match record.measured.only_baseline() {
        Some(baseline) => format!("Each subject as a multiple of {}", name(baseline)),
        None => "Each pair: the first as a multiple of the second".to_owned(),
    };
    let headers = columns.iter().map(|column| {
        let metric = metric_under(record, column.load, column.metric);
        let load = element("bdi").text(&name(column.load));
        let metric = element("small").text(metric);
        let header = element("th").with("scope", "col");
        header.add(load).text(" ").add(metric)
    });
    let corner = element("td");
    let head = element("tr").add(corner).add_all(headers);
    let rows = grid::rows(record).into_iter().map(|row| {
        let heading = element("th").with("scope", "row");
        let heading = heading.add(element("bdi").text(&row_name(row)));
        let cells = columns.iter().map(|column| cell(record, row, *column));
        element("tr").add(heading).add_all(cells)
    });
    let table = element("table")
        .class("matrix")
        .add(element("thead").add(head))
        .add(element("tbody").add_all(rows));
    // A caption would be as wide as the table, and cut where that scrolls.
    let heading = element("h3").text(&caption);
    let frame = scrolling(&caption, table);
    [heading, frame, note(&legend(record))]
        .into_iter()
        .collect()
}

fn cell(record: &StudyRecord, row: GridRow, column: GridColumn) -> Element {
    match grid::cell(record, row, column) {
        GridCell::One => element("td").class("cell one").text("1"),
        GridCell::Found(one) => found(record, one, ""),
        GridCell::Instead(one) => found(record, one, " c"),
        GridCell::Nothing => element("td").class("cell"),
    }
}

/// Sign, ratio and interval of one comparison, which lead to its details.
fn found(record: &StudyRecord, one: &Comparison, mark: &str) -> Element {
    let figures = grid::cell_figures(one).filter(|_| one.verdict != Verdict::Invalid);
    let (limit, bound) = match grid::further(one).filter(|_| figures.is_some()) {
        Some(Further::AtLeast) => (LINE.at_least(), String::new()),
        Some(Further::AtMost) => (LINE.at_most(), String::new()),
        Some(Further::Open) => ("", format!(" {}", grid::OPEN_BOUND)),
        None => ("", String::new()),
    };
    let fragile = if one.fragile { "~" } else { "" };
    let few = { one.too_few_blocks && figures.is_some() }.then(|| format!(" {}", grid::TOO_FEW));
    let (ratio, interval) = match &figures {
        Some(text) => text.split_once(' ').unwrap_or((text, "")),
        None => match one.verdict {
            Verdict::Invalid => ("void", ""),
            _ if one.too_few_blocks => (grid::TOO_FEW, ""),
            _ => ("open", ""),
        },
    };
    let ratio = element("b").text(&format!(
        "{limit}{ratio}{fragile}{mark}{bound}{}",
        few.unwrap_or_default()
    ));
    let interval = element("small").text(interval);
    let link = element("a")
        .with("href", format!("#{}", ratio_id(record, one)))
        .with("title", sentence(record, one, &LINE))
        .add(sign(one.verdict))
        .add(ratio)
        .text(" ")
        .add(interval);
    element("td")
        .class(format!("cell {}", word(one.verdict)))
        .add(link)
}

/// What stands in the cells, as far as it does.
fn legend(record: &StudyRecord) -> String {
    let has = |is: fn(&Comparison) -> bool| record.conclusions.primary().any(is);
    let margin = percent(record.measured.settings.margin);
    let equal = format!("≈ no difference larger than {margin}");
    let alone = format!("a ratio alone: {NO_INTERVAL}");
    let bound = grid::bound_legend(record, &LINE);
    let bound = bound.map(|signs| format!("{signs}, the truth may lie further out"));
    let signs = [
        (
            true,
            "Ratio and its interval; a cell leads to its details. ▲ faster (− less)",
        ),
        (true, "▼ slower (+ more)"),
        (has(|one| one.verdict == Verdict::Equivalent), &equal),
        (has(grid::is_open), "? open"),
        (has(|one| one.too_few_blocks), grid::TOO_FEW_LEGEND),
        (
            has(|one| one.verdict == Verdict::Invalid),
            "✕ void: no claim can be made",
        ),
        (bound.is_some(), bound.as_deref().unwrap_or_default()),
        (has(|one| one.fragile), "~ fragile"),
        (
            has(|one| one.bounds().is_none() && one.plain_ratio().is_some()),
            &alone,
        ),
        (
            grid::has_instead(record),
            "c: CPU per response where the generator was the limit, with no claim of throughput",
        ),
        (grid::has_empty(record), grid::EMPTY_LEGEND),
    ];
    let said = signs.iter().filter(|(is_there, _)| *is_there);
    said.map(|(_, text)| *text).collect::<Vec<_>>().join(", ")
}
