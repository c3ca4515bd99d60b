//! The contents of a theme, in parts that text, HTML and Markdown each show in their way.

use abx_evidence::Level;
use abx_verdict::Verdict;

use super::figure::{CaptionedFigure, side_by_side};
use super::matrix::Matrix;
use super::table::Table;
use crate::html::markup::{Element, Markup};

pub(crate) enum DocumentPart {
    /// Stands above what follows; a table of a page states it in its caption.
    Heading(String),
    Paragraph(String),
    /// A question that the study asks, above its answers.
    Question(String),
    /// Explains what stands above it.
    Note(String),
    Table(Table),
    /// Verdicts at a glance.
    Matrix(Matrix),
    /// Names with their values, in a text the values behind so many columns.
    Pairs {
        caption: &'static str,
        pairs: Vec<(&'static str, String)>,
        columns: usize,
    },
    Statements(Vec<Statement>),
    /// What limits a result: what was seen, and what to do about it.
    Limit {
        level: Level,
        seen: Vec<String>,
        remedies: Vec<String>,
    },
    /// Lines that stay as they are: something to type, or a drawing of letters.
    Verbatim(String),
    /// What a reader opens who wants to know more; a text shows it.
    Folded(String, Document),
    /// What only a page can show, and what stands for it elsewhere.
    Picture {
        page: Markup,
        otherwise: Document,
    },
    /// Between tables that stand for themselves.
    Gap,
}

/// One sentence with the sign of its verdict, and what else is to be known of it.
pub(crate) struct Statement {
    pub(crate) verdict: Verdict,
    pub(crate) sentence: String,
    pub(crate) remarks: Vec<String>,
    /// Links of a page to what limits it.
    pub(crate) reasons: Option<Element>,
}

/// Parts in their order.
#[derive(Default)]
pub(crate) struct Document(pub(crate) Vec<DocumentPart>);

impl Document {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn heading(&mut self, text: impl Into<String>) {
        self.0.push(DocumentPart::Heading(text.into()));
    }

    pub(crate) fn paragraph(&mut self, text: impl Into<String>) {
        self.0.push(DocumentPart::Paragraph(text.into()));
    }

    pub(crate) fn question(&mut self, text: impl Into<String>) {
        self.0.push(DocumentPart::Question(text.into()));
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

    pub(crate) fn statements(&mut self, statements: Vec<Statement>) {
        if statements.is_empty() {
            return;
        }
        self.0.push(DocumentPart::Statements(statements));
    }

    pub(crate) fn picture(&mut self, page: impl Into<Markup>, otherwise: Document) {
        let page = page.into();
        self.0.push(DocumentPart::Picture { page, otherwise });
    }

    /// What a page alone shows; nothing without any.
    pub(crate) fn figures(&mut self, figures: Vec<CaptionedFigure>) {
        if !figures.is_empty() {
            self.picture(side_by_side(figures), Document::default());
        }
    }

    /// Unless there is nothing to be folded.
    pub(crate) fn folded(&mut self, summary: impl Into<String>, inside: Document) {
        if !inside.is_empty() {
            self.0.push(DocumentPart::Folded(summary.into(), inside));
        }
    }

    pub(crate) fn append(&mut self, other: Document) {
        self.0.extend(other.0);
    }

    /// The same with a note at its end, unless there is nothing.
    pub(crate) fn explained(mut self, note: &str) -> Document {
        if !self.is_empty() {
            self.note(note);
        }
        self
    }

    /// Others after each other, with a gap between them.
    pub(crate) fn joined(documents: impl IntoIterator<Item = Document>) -> Document {
        let mut out = Document::default();
        for document in documents {
            if !out.is_empty() {
                out.0.push(DocumentPart::Gap);
            }
            out.append(document);
        }
        out
    }
}

/// A paragraph for each.
impl<T: Into<String>> FromIterator<T> for Document {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Document {
        let paragraph = |text: T| DocumentPart::Paragraph(text.into());
        Document(texts.into_iter().map(paragraph).collect())
    }
}

impl From<Matrix> for Document {
    fn from(matrix: Matrix) -> Document {
        Document(vec![DocumentPart::Matrix(matrix)])
    }
}

impl From<Table> for Document {
    fn from(table: Table) -> Document {
        Document(vec![DocumentPart::Table(table)])
    }
}
