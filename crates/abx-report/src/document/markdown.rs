//! Documents as Markdown.

use super::parts::{Document, DocumentPart, Statement};
use super::table::{CellKind, Table};
use crate::markdown::{details, escape, fenced, quoting, row};
use crate::words::metrics::capitalized;
use crate::words::prose::level_tag;
use crate::words::style::{LINE, mark};

impl Document {
    pub(crate) fn markdown(&self) -> String {
        // Successive limits are one list.
        let is_limit = |part: &DocumentPart| matches!(part, DocumentPart::Limit { .. });
        let chunks = self
            .0
            .chunk_by(|part, next| is_limit(part) && is_limit(next));
        let texts = chunks.map(|chunk| chunk.iter().map(DocumentPart::markdown).collect());
        let texts: Vec<String> = texts.filter(|text: &String| !text.is_empty()).collect();
        texts.join("\n")
    }
}

/// Sections after the texts above them, without the empty ones.
pub(crate) fn sections_markdown<const N: usize>(
    head: [String; N],
    sections: &[Document],
) -> String {
    let texts = head
        .into_iter()
        .chain(sections.iter().map(Document::markdown));
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    LINE.finish(&texts.join("\n"))
}

impl DocumentPart {
    fn markdown(&self) -> String {
        match self {
            DocumentPart::Paragraph(text) | DocumentPart::Heading(text) if text.is_empty() => {
                String::new()
            }
            DocumentPart::Title(text) => format!("**{}**\n", quoting(text)),
            DocumentPart::Heading(text)
            | DocumentPart::Paragraph(text)
            | DocumentPart::Note(text) => quoting(text) + "\n",
            DocumentPart::Table(table) => table.markdown(),
            DocumentPart::Matrix(matrix) if matrix.legend.is_empty() => matrix.markdown(),
            DocumentPart::Matrix(matrix) => {
                let legend = escape(&capitalized(&matrix.legend));
                format!("{}\n{legend}\n", matrix.markdown())
            }
            DocumentPart::Pairs { caption, pairs, .. } => {
                Table::pairs(caption, pairs.clone()).markdown()
            }
            DocumentPart::Statements(statements) => statements.iter().map(statement).collect(),
            DocumentPart::Limit {
                level,
                seen,
                remedies,
            } => {
                let seen: Vec<String> = seen.iter().map(|text| quoting(text)).collect();
                let remedies = remedies.iter();
                let remedies =
                    remedies.map(|remedy| format!("<br>→ {}", quoting(&capitalized(remedy))));
                let (word, seen) = (level_tag(*level).0, seen.join("<br>"));
                format!("- **{word}** {seen}{}\n", remedies.collect::<String>())
            }
            DocumentPart::Verbatim(text) => fenced(text),
            DocumentPart::Folded(summary, inside) => details(summary, &inside.markdown()),
            DocumentPart::Picture { otherwise, .. } => otherwise.markdown(),
            DocumentPart::Gap => String::new(),
        }
    }
}

fn statement(statement: &Statement) -> String {
    let (mark, sentence) = (mark(statement.verdict), quoting(&statement.sentence));
    let remarks = statement.remarks.iter();
    let remarks = remarks.map(|remark| format!("  - {}\n", quoting(remark)));
    format!("- {mark} **{sentence}**\n{}", remarks.collect::<String>())
}

impl Table {
    /// Names at the left, figures at the right.
    pub(crate) fn markdown(&self) -> String {
        let table = self.narrow();
        let rule = (0..table.headers.len()).map(|column| match (column, table.cells) {
            (0, _) | (_, CellKind::Words) => "---".to_owned(),
            _ => "---:".to_owned(),
        });
        let escaped = |cells: &Vec<String>| {
            let cells = cells.iter().map(|cell| escape(cell));
            row(&cells.collect::<Vec<_>>())
        };
        let rows: String = table.rows.iter().map(escaped).collect();
        let rule = row(&rule.collect::<Vec<_>>());
        format!("{}{rule}{rows}", escaped(&table.headers))
    }
}
