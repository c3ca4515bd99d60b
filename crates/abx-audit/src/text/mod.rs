//! Normalises pasted text: lines without terminal escapes, and a stream of the letters of all
//! lines, so that line breaks do not matter.

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
