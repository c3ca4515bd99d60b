//! What a theme says, in parts that text, HTML and Markdown each show in their way.

use super::table::Table;
use crate::words::style::Style;

pub(crate) enum DocumentPart {
    /// Stands above what follows; a table of a page says it in its caption.
    Heading(String),
    Paragraph(String),
    /// Explains what stands above it.
    Note(String),
    Table(Table),
    /// Between tables that stand for themselves.
    Gap,
}

/// Parts in their order.
#[derive(Default)]
pub(crate) struct Document(pub(crate) Vec<DocumentPart>);

impl Document {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn heading(&mut self, text: String) {
        self.0.push(DocumentPart::Heading(text));
    }

    pub(crate) fn paragraph(&mut self, text: String) {
        self.0.push(DocumentPart::Paragraph(text));
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.0.push(DocumentPart::Note(text.into()));
    }

    /// A table and what explains it; nothing without one.
    pub(crate) fn table(&mut self, table: Option<Table>, legend: &str) {
        let Some(table) = table else {
            return;
        };
        self.0.push(DocumentPart::Table(table));
        if !legend.is_empty() {
            self.note(legend);
        }
    }

    /// Others after each other, with a gap between them.
    pub(crate) fn joined(documents: impl IntoIterator<Item = Document>) -> Document {
        let mut out = Document::default();
        for document in documents {
            if !out.is_empty() {
                out.0.push(DocumentPart::Gap);
            }
            out.0.extend(document.0);
        }
        out
    }

    /// As a terminal shows it.
    pub(crate) fn text(&self, style: &Style) -> String {
        let part = |part: &DocumentPart| match part {
            DocumentPart::Heading(text) | DocumentPart::Paragraph(text) => style.paragraph(text),
            DocumentPart::Note(text) => style.note(text),
            DocumentPart::Table(table) => table.text(style.columns()),
            DocumentPart::Gap => "\n".to_owned(),
        };
        self.0.iter().map(part).collect()
    }
}
