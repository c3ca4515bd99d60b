//! One model of what a theme says: text, HTML and Markdown are made of it.

mod parts;
mod table;

pub(crate) use self::parts::{Document, DocumentPart};
pub(crate) use self::table::CellKind;
pub use self::table::Table;
