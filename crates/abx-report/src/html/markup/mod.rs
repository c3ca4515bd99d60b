//! HTML: elements, and what pages are made of.

mod element;
mod figure;
mod prose;
mod table;

pub(crate) use self::element::{Element, Markup, element};
pub(crate) use self::figure::{CaptionedFigure, folded, side_by_side};
pub(crate) use self::prose::{LINE, missing, note, paragraphs, quoting, with_unit};
pub(crate) use self::table::scrolling;
