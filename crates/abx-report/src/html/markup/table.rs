//! Tables that a screen reader can walk: caption, scopes, and a frame that
//! scrolls by itself where the page is narrow.

use super::element::{Element, element};
use crate::document::{CellKind, Table};

impl Table {
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

pub(crate) fn scrolling(caption: &str, table: Element) -> Element {
    element("div")
        .class("scroll")
        .with("role", "region")
        .with("tabindex", 0)
        .with("aria-label", caption)
        .add(table)
}
