//! Text as people paste it, made readable: lines without what steers a terminal, and
//! the letters of all lines one after the other, so that line breaks break nothing.

mod clean;
mod encoding;
mod number;
mod prefix;
mod stream;
mod text_line;

pub(crate) use clean::lines;
pub use encoding::text_of;
pub(crate) use number::{Digits, NumberTrouble, Numeral, numeral};
pub(crate) use stream::LetterStream;
pub(crate) use text_line::TextLine;
