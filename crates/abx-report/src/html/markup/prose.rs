//! Words of reports as markup: paragraphs, quotes, figures with their units.

use super::element::{Element, Markup, element};
use crate::document::{Document, DocumentPart};
use crate::words::prose::{SentencePart, parts};
use crate::words::style::Style;
use crate::words::units::GLUE;

/// What the terminal would print, on one line.
pub(crate) const LINE: Style = Style {
    color: false,
    unicode: true,
    width: usize::MAX / 2,
};

pub(crate) fn paragraphs(text: &str) -> Markup {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| element("p").text(line.trim())).collect()
}

impl Document {
    /// As a page shows it.
    pub(crate) fn html(self) -> Markup {
        let part = |part: DocumentPart| match part {
            DocumentPart::Heading(_) | DocumentPart::Gap => Markup::new(),
            DocumentPart::Paragraph(text) => paragraphs(&text),
            DocumentPart::Note(text) => note(&text).into(),
            DocumentPart::Table(table) => table.markup().into(),
        };
        self.0.into_iter().map(part).collect()
    }
}

pub(crate) fn note(text: &str) -> Element {
    element("p").class("note").text(text)
}

pub(crate) fn quoting(text: &str) -> Markup {
    let markup = |part: SentencePart| match part {
        SentencePart::Words(words) => Markup::text(words),
        SentencePart::Code(code) => element("code").text(code).into(),
    };
    parts(text).map(markup).collect()
}

/// What a person asked for and does not see: each thing, and why; nothing where
/// all is there.
pub(crate) fn missing(pairs: impl Iterator<Item = (String, String)>) -> Markup {
    let entries: Markup = pairs
        .map(|(what, why)| {
            let what = element("bdi").text(&what);
            element("li").add(what).add(quoting(&why))
        })
        .collect();
    if entries.is_empty() {
        entries
    } else {
        element("ul").add(entries).into()
    }
}

/// A figure with its unit, which stay on one line.
pub(crate) fn with_unit(figure: &str, unit: &str) -> String {
    format!("{figure}{GLUE}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_types_stands_in_code() {
        // Method: two of them, and a backtick that opens nothing.
        let markup = quoting("use `-t 2` or `<b>`, it`s said").into_string();
        assert_eq!(
            markup,
            "use <code>-t 2</code> or <code>&lt;b&gt;</code>, it`s said"
        );
    }
}
