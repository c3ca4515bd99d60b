//! The model of reports: sections are made of parts, which text, HTML and Markdown each render.

mod figure;
mod html;
mod markdown;
mod matrix;
mod matrix_column;
mod matrix_fold;
mod matrix_text;
mod parts;
mod table;
mod text;

pub(crate) use self::figure::CaptionedFigure;
pub(crate) use self::html::pages;
pub(crate) use self::markdown::sections_markdown;
pub(crate) use self::matrix::{
    CellDetail, CellRatio, Matrix, MatrixCell, MatrixHeader, MatrixRow, MatrixVerdict,
};
pub(crate) use self::parts::{Document, DocumentPart, Statement};
pub use self::table::Table;
pub(crate) use self::text::sections_text;
