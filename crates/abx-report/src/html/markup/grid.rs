//! Tables that a screen reader can walk: caption, scopes, and a frame that
//! scrolls by itself where the page is narrow.

use super::element::{Element, element};

/// A table of texts.
pub(crate) struct Grid {
    /// What it shows.
    caption: String,
    headers: Vec<String>,
    rows: Vec<Vec<String>>,
    /// How many columns, from the left, name the row; the others hold figures.
    names: usize,
    cells: CellKind,
}

/// What stands in the cells that name no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CellKind {
    /// Numbers, at the right.
    Figures,
    /// Words, at the left, in as many lines as they need.
    Words,
}

impl Grid {
    /// A table of figures; the first column names the rows.
    pub(crate) fn figures<H: Into<String>, R: Into<Vec<String>>>(
        caption: impl Into<String>,
        headers: impl IntoIterator<Item = H>,
        rows: impl IntoIterator<Item = R>,
    ) -> Grid {
        Grid {
            caption: caption.into(),
            headers: headers.into_iter().map(Into::into).collect(),
            rows: rows.into_iter().map(Into::into).collect(),
            names: 1,
            cells: CellKind::Figures,
        }
    }

    /// A table of words; the first column names the rows.
    pub(crate) fn words<H: Into<String>, R: Into<Vec<String>>>(
        caption: impl Into<String>,
        headers: impl IntoIterator<Item = H>,
        rows: impl IntoIterator<Item = R>,
    ) -> Grid {
        Grid {
            cells: CellKind::Words,
            ..Grid::figures(caption, headers, rows)
        }
    }

    /// With so many columns that name a row.
    pub(crate) fn named_by(self, names: usize) -> Grid {
        Grid { names, ..self }
    }

    /// The table in its frame.
    pub(crate) fn markup(self) -> Element {
        let head = self.headers.iter().enumerate().map(|(column, header)| {
            let cell = element("th").with("scope", "col").text(header);
            self.aligned(cell, column)
        });
        let head = element("tr").add_all(head);
        let row = |row: &Vec<String>| {
            let cells = row.iter().enumerate().map(|(column, text)| {
                let text = element("bdi").text(text);
                if column < self.names {
                    return element("th").with("scope", "row").add(text);
                }
                self.aligned(element("td").add(text), column)
            });
            element("tr").add_all(cells)
        };
        let table = element("table")
            .add(element("caption").text(&self.caption))
            .add(element("thead").add(head))
            .add(element("tbody").add_all(self.rows.iter().map(row)));
        scrolling(&self.caption, table)
    }

    fn aligned(&self, cell: Element, column: usize) -> Element {
        match self.cells {
            CellKind::Figures if column >= self.names => cell.class("figure"),
            _ => cell,
        }
    }
}

/// A table in a frame that scrolls by itself.
pub(crate) fn scrolling(caption: &str, table: Element) -> Element {
    element("div")
        .class("scroll")
        .with("role", "region")
        .with("tabindex", 0)
        .with("aria-label", caption)
        .add(table)
}
