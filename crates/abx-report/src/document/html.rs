//! Documents as HTML. For screen readers, tables have captions, scopes, and a frame that scrolls
//! by itself.

use super::parts::{Document, DocumentPart, Statement};
use super::table::{CellKind, Table};
use crate::html::markup::{Element, Markup, element, folded, note, paragraphs, quoting, scrolling};
use crate::html::sign::sign;
use crate::words::prose::level_tag;
use crate::words::verdict::class;

/// Sections of a page, each with its id and title.
pub(crate) fn pages<const N: usize>(
    sections: [(&'static str, &'static str, Document); N],
) -> [(&'static str, &'static str, Markup); N] {
    sections.map(|(id, title, document)| (id, title, document.html()))
}

impl Document {
    pub(crate) fn html(self) -> Markup {
        self.0.into_iter().map(DocumentPart::html).collect()
    }
}

impl DocumentPart {
    fn html(self) -> Markup {
        match self {
            DocumentPart::Heading(_) | DocumentPart::Gap => Markup::new(),
            DocumentPart::Paragraph(text) => paragraphs(&text),
            DocumentPart::Title(text) => element("h3").text(&text).into(),
            DocumentPart::Note(text) => note(&text).into(),
            DocumentPart::Table(table) => table.markup().into(),
            DocumentPart::Matrix(matrix) => matrix.markup(),
            DocumentPart::Pairs { caption, pairs, .. } => {
                Table::pairs(caption, pairs).markup().into()
            }
            DocumentPart::Statements(statements) => element("ul")
                .class("verdicts")
                .add_all(statements.into_iter().map(card))
                .into(),
            DocumentPart::Limit {
                level,
                seen,
                remedies,
            } => {
                let mut tag = Some(element("b").text(level_tag(level).0));
                let texts = seen.iter().chain(&remedies);
                let texts = texts.map(|text| {
                    let tag = tag.take().into_iter();
                    let tag = tag.flat_map(|tag| [tag.into(), Markup::text(": ")]);
                    element("p").add_all(tag).add(quoting(text))
                });
                texts.collect()
            }
            DocumentPart::Verbatim(text) => element("pre")
                .with("tabindex", 0)
                .add(element("code").text(&text))
                .into(),
            DocumentPart::Folded(summary, inside) => folded(&summary, inside.html()).into(),
            DocumentPart::Picture { page, .. } => page,
        }
    }
}

/// One statement, with its sign, its remarks and the findings that limit it.
fn card(statement: Statement) -> Element {
    let remark = || element("p").class("remark");
    let remarks = statement.remarks.iter().map(|text| remark().text(text));
    let inside = element("div")
        .add(element("p").text(&statement.sentence))
        .add_all(remarks)
        .add_all(statement.reasons.map(|why| remark().add(why)));
    element("li")
        .class(format!("verdict {}", class(statement.verdict)))
        .add(sign(statement.verdict))
        .add(inside)
}

impl Table {
    pub(crate) fn markup(self) -> Element {
        let head = self
            .headers
            .iter()
            .map(|header| element("th").with("scope", "col").text(header));
        let head = element("tr").add_all(head);
        let row = |row: &Vec<String>| {
            let cells = row.iter().enumerate().map(|(column, text)| {
                let cell = if column < self.names {
                    element("th").with("scope", "row")
                } else {
                    element("td")
                };
                cell.isolated(text)
            });
            element("tr").add_all(cells)
        };
        let table = element("table");
        let table = match self.cells {
            CellKind::Figures => table.class(format!("figures after-{}", self.names)),
            CellKind::Words => table,
        };
        let table = table
            .add(element("caption").text(&self.caption))
            .add(element("thead").add(head))
            .add(element("tbody").add_all(self.rows.iter().map(row)));
        scrolling(&self.caption, table)
    }
}
