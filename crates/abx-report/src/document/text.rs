//! Documents as text for a terminal.

use abx_evidence::Level;

use super::parts::{Document, DocumentPart};
use crate::words::prose::{LEVEL_INDENT, level_start};
use crate::words::style::Style;
use crate::words::wrap::{clean, wrap};

impl Document {
    pub(crate) fn text(&self, style: &Style) -> String {
        self.0.iter().map(|part| part.text(style)).collect()
    }
}

impl DocumentPart {
    fn text(&self, style: &Style) -> String {
        match self {
            DocumentPart::Heading(text)
            | DocumentPart::Paragraph(text)
            | DocumentPart::Title(text) => style.paragraph(&clean(text)),
            DocumentPart::Note(text) => style.note(text),
            DocumentPart::Table(table) => table.text(style.columns()),
            DocumentPart::Matrix(matrix) => matrix.text(style),
            DocumentPart::Pairs { pairs, columns, .. } => {
                let blanks = " ".repeat(*columns);
                let line = |(name, value): &(&str, String)| {
                    wrap(value, &format!("{name:columns$}"), &blanks, style.columns())
                };
                pairs.iter().map(line).collect()
            }
            DocumentPart::Statements(statements) => {
                let statements = statements.iter().map(|statement| {
                    let remarks = statement.remarks.iter().map(|text| style.note(text));
                    style.paragraph(&statement.sentence) + &remarks.collect::<String>()
                });
                statements.collect()
            }
            DocumentPart::Limit {
                level,
                seen,
                remedies,
            } => limit(*level, seen, remedies, style),
            DocumentPart::Verbatim(text) => text.clone(),
            DocumentPart::Folded(_, inside) => inside.text(style),
            DocumentPart::Picture { otherwise, .. } => otherwise.text(style),
            DocumentPart::Gap => "\n".to_owned(),
        }
    }
}

fn limit(level: Level, seen: &[String], remedies: &[String], style: &Style) -> String {
    let start = level_start(level, style);
    let [arrow, deeper] = ["→ ", "  "].map(|sign| format!("{LEVEL_INDENT}{sign}"));
    let mut out = String::new();
    for (number, text) in seen.iter().enumerate() {
        let first = match number {
            0 => start.as_str(),
            _ => LEVEL_INDENT,
        };
        out.push_str(&wrap(text, first, LEVEL_INDENT, style.columns()));
    }
    for remedy in remedies {
        out.push_str(&wrap(remedy, &arrow, &deeper, style.columns()));
    }
    out
}

/// Sections with an empty line between them, without the empty ones.
pub(crate) fn sections_text(sections: impl IntoIterator<Item = Document>, style: &Style) -> String {
    let texts = sections.into_iter().map(|section| section.text(style));
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    style.finish(&texts.join("\n"))
}
