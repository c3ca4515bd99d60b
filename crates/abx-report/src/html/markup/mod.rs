//! HTML: elements, and what pages are made of.

mod element;
mod figure;
mod grid;
mod prose;

pub(crate) use self::element::{Element, Markup, element};
pub(crate) use self::figure::{CaptionedFigure, folded, side_by_side};
pub(crate) use self::grid::{Grid, scrolling};
pub(crate) use self::prose::{LINE, missing, note, paragraphs, quoting, with_unit};
