//! Tables that a screen reader can walk: caption, scopes, and a frame that
//! scrolls by itself where the page is narrow.

use super::markup::{Element, Markup, element};

/// A table of texts.
pub(crate) struct Grid {
    /// What it shows.
    pub(crate) caption: String,
    pub(crate) headers: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// How many columns, from the left, name the row; the others hold figures.
    pub(crate) names: usize,
    pub(crate) cells: CellKind,
}

/// What stands in the cells that name no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellKind {
    /// Numbers, at the right.
    Figures,
    /// Words, at the left, in as many lines as they need.
    Words,
}

impl Grid {
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
        element("div")
            .class("scroll")
            .with("role", "region")
            .with("tabindex", 0)
            .with("aria-label", &self.caption)
            .add(table)
    }

    fn aligned(&self, cell: Element, column: usize) -> Element {
        match self.cells {
            CellKind::Figures if column >= self.names => cell.class("figure"),
            _ => cell,
        }
    }
}

/// Something that is there and folded away.
pub(crate) fn folded(summary: &str, inside: impl Into<Markup>) -> Element {
    element("details")
        .add(element("summary").text(summary))
        .add(inside)
}

/// A plot or table with its heading, what explains it, and the same as a table.
pub(crate) struct CaptionedFigure {
    /// What stands above it; nothing where the section says it.
    pub(crate) title: Option<String>,
    pub(crate) legend: Markup,
    pub(crate) body: Markup,
    /// What is to be known to read it.
    pub(crate) note: String,
    pub(crate) table: Option<Grid>,
}

impl CaptionedFigure {
    /// All of it.
    pub(crate) fn markup(self) -> Element {
        let mut figure = element("figure");
        if let Some(title) = &self.title {
            figure = figure.add(element("h3").add(element("bdi").text(title)));
        }
        figure = figure.add(self.legend).add(self.body);
        if !self.note.is_empty() {
            figure = figure.add(element("figcaption").text(&self.note));
        }
        match self.table {
            Some(table) => figure.add(folded("The same as a table", table.markup())),
            None => figure,
        }
    }
}

/// Figures in two columns where there is room and more than one.
pub(crate) fn side_by_side(figures: Vec<CaptionedFigure>) -> Markup {
    let frame = match figures.len() {
        0 => return Markup::new(),
        1 => element("div"),
        _ => element("div").class("pair"),
    };
    frame
        .add_all(figures.into_iter().map(CaptionedFigure::markup))
        .into()
}
