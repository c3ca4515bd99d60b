//! The parts of a section, which text, HTML and Markdown each render in their own way.

use abx_evidence::Level;
use abx_verdict::Verdict;

use super::figure::{CaptionedFigure, side_by_side};
use super::matrix::Matrix;
use super::table::Table;
use crate::html::markup::{Element, Markup};

pub(crate) enum DocumentPart {
    /// Heads the next part. A page has none, because its tables have captions.
    Heading(String),
    Paragraph(String),
    /// Heads several parts, such as the sentences that answer a question of the study.
    Title(String),
    /// Explains the part above it.
    Note(String),
    Table(Table),
    /// Verdicts at a glance.
    Matrix(Matrix),
    /// Names with their values, which start at this column of a text.
    Pairs {
        caption: &'static str,
        pairs: Vec<(&'static str, String)>,
        columns: usize,
    },
    Statements(Vec<Statement>),
    /// A limit of the result: the messages of its findings, and their remedies.
    Limit {
        level: Level,
        seen: Vec<String>,
        remedies: Vec<String>,
    },
    /// Lines that are printed unchanged: a command, or a drawing of characters.
    Verbatim(String),
    /// A summary, and details that a page folds. A text shows only the details.
    Folded(String, Document),
    /// Markup for a page, and its replacement elsewhere.
    Picture {
        page: Markup,
        otherwise: Document,
    },
    /// An empty line of a text.
    Gap,
}

/// One sentence with the sign of its verdict, and remarks.
pub(crate) struct Statement {
    pub(crate) verdict: Verdict,
    pub(crate) sentence: String,
    pub(crate) remarks: Vec<String>,
    /// Links of a page to the findings that limit the verdict.
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

    pub(crate) fn title(&mut self, text: impl Into<String>) {
        self.0.push(DocumentPart::Title(text.into()));
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.0.push(DocumentPart::Note(text.into()));
    }

    /// A table with its legend; nothing without a table.
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

    /// Figures, which only a page shows; nothing without any.
    pub(crate) fn figures(&mut self, figures: Vec<CaptionedFigure>) {
        if !figures.is_empty() {
            self.picture(side_by_side(figures), Document::default());
        }
    }

    /// Nothing if `inside` is empty.
    pub(crate) fn folded(&mut self, summary: impl Into<String>, inside: Document) {
        if !inside.is_empty() {
            self.0.push(DocumentPart::Folded(summary.into(), inside));
        }
    }

    pub(crate) fn append(&mut self, other: Document) {
        self.0.extend(other.0);
    }

    /// The document with a note at its end, unless it is empty.
    pub(crate) fn explained(mut self, note: &str) -> Document {
        if !self.is_empty() {
            self.note(note);
        }
        self
    }

    /// Documents one after another, with gaps between them.
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

/// A paragraph for each text.
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
