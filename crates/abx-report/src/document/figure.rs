//! Figures with a heading, a legend and a note.

use super::table::Table;
use crate::html::markup::{Element, Markup, element, folded};

/// A plot with its heading, a legend, a note, and its values as a table.
pub(crate) struct CaptionedFigure {
    /// The title above it; `None` if the section states it.
    pub(crate) title: Option<String>,
    pub(crate) legend: Markup,
    pub(crate) body: Markup,
    pub(crate) note: String,
    pub(crate) table: Option<Table>,
}

impl CaptionedFigure {
    pub(crate) fn markup(self) -> Element {
        let mut figure = element("figure");
        if let Some(title) = &self.title {
            figure = figure.add(element("h3").isolated(title));
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

/// Several figures in two columns if the page has room.
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
