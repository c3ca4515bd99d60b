//! A table whose last column is a bar, all of them on the axis below. It says
//! what its parts are, since a narrow page lays them out as no table.

use crate::html::markup::{Element, element};

/// A table of this caption: a header for each column, and rows of [`name_cell`],
/// [`cell`] and, at the end, [`picture_cell`].
pub(crate) fn bar_table<const N: usize>(
    caption: &str,
    headers: [&str; N],
    rows: impl IntoIterator<Item = [Element; N]>,
    axis: Element,
) -> Element {
    let line = || element("tr").with("role", "row");
    let group = |tag| element(tag).with("role", "rowgroup");
    let header = |text: &str| {
        let cell = element("th").with("scope", "col");
        cell.with("role", "columnheader").text(text)
    };
    let rows = rows.into_iter().map(|cells| line().add_all(cells));
    let gap = cell("gap", "").with("colspan", N - 1);
    element("table")
        .class("ratios")
        .with("role", "table")
        .add(element("caption").text(caption))
        .add(group("thead").add(line().add_all(headers.map(header))))
        .add(group("tbody").add_all(rows))
        .add(group("tfoot").add(line().add(gap).add(picture_cell(axis))))
}

pub(crate) fn name_cell(class: &str, text: &str) -> Element {
    let cell = element("th").with("scope", "row").with("role", "rowheader");
    cell.class(class).add(element("bdi").text(text))
}

pub(crate) fn cell(class: &str, text: &str) -> Element {
    let cell = element("td").with("role", "cell");
    cell.class(class).text(text)
}

pub(crate) fn picture_cell(picture: Element) -> Element {
    cell("picture", "").add(picture)
}
