//! HTML: elements, and the pieces of pages.

mod element;
mod prose;

pub(crate) use self::element::{Element, Markup, element};
pub(crate) use self::prose::{folded, missing, note, paragraphs, quoting, scrolling, with_unit};
