//! A table with bars in its last column, which share the axis below. A narrow page does not lay it
//! out as a table, so the page's program names its parts.

use crate::html::markup::{Element, element};

/// A table of this caption: a header for each column, and rows of [`name_cell`],
/// [`cell`] and, at the end, [`picture_cell`].
pub(crate) fn bar_table<const N: usize>(
    caption: &str,
    headers: [&str; N],
    rows: impl IntoIterator<Item = [Element; N]>,
    axis: Element,
) -> Element {
    let line = || element("tr");
    let header = |text: &str| element("th").with("scope", "col").text(text);
    let rows = rows.into_iter().map(|cells| line().add_all(cells));
    let gap = cell("gap", "").with("colspan", N - 1);
    element("table")
        .class("ratios")
        .add(element("caption").text(caption))
        .add(element("thead").add(line().add_all(headers.map(header))))
        .add(element("tbody").add_all(rows))
        .add(element("tfoot").add(line().add(gap).add(picture_cell(axis))))
}

pub(crate) fn name_cell(class: &str, text: &str) -> Element {
    let cell = element("th").with("scope", "row");
    cell.class(class).isolated(text)
}

pub(crate) fn cell(class: &str, text: &str) -> Element {
    element("td").class(class).text(text)
}

pub(crate) fn picture_cell(picture: Element) -> Element {
    cell("picture", "").add(picture)
}
