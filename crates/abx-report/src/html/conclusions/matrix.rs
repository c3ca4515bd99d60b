//! The verdicts of a study that compares much, at a glance: a row for each subject or pair, a
//! column for each load, and each cell a link to its details.

use abx_evidence::{Comparison, StudyRecord, Verdict};

use crate::html::conclusions::links::ratio_id;
use crate::html::conclusions::signs::sign;
use crate::html::markup::{Element, LINE, Markup, element, note, scrolling};
use crate::words::grid::{self, GridCell, GridColumn, GridRow, row_name};
use crate::words::metrics::metric_under;
use crate::words::verdict::{TOO_FEW_BLOCKS, name, sentence, word};

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
    let legend = format!(
        "Ratio and its interval; a cell leads to its details. {}",
        grid::legend(record, &LINE)
    );
    [heading, frame, note(&legend)].into_iter().collect()
}

fn cell(record: &StudyRecord, row: GridRow, column: GridColumn) -> Element {
    match grid::cell(record, row, column) {
        GridCell::One => element("td").class("cell one").text("1"),
        GridCell::Found(one) => found(record, one, ""),
        GridCell::Instead(one) => found(record, one, &format!(" {}", grid::INSTEAD)),
        GridCell::Nothing => element("td").class("cell"),
    }
}

/// Sign, ratio and interval of one comparison, which lead to its details.
fn found(record: &StudyRecord, one: &Comparison, mark: &str) -> Element {
    let (figures, open) = (grid::cell_figures(one, &LINE), grid::open_bound(one));
    let fragile = if one.fragile { "~" } else { "" };
    let [ratio, interval] = figures.unwrap_or_else(|| match one.verdict {
        Verdict::Invalid => ["no result".to_owned(), String::new()],
        _ if one.too_few_blocks => [TOO_FEW_BLOCKS.to_owned(), String::new()],
        _ => ["undecided".to_owned(), String::new()],
    });
    let few = grid::too_few(one);
    let ratio = element("b").text(&format!("{ratio}{fragile}{mark}{open}{few}"));
    let interval = element("small").text(&interval);
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
