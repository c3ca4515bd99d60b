//! Text as people paste it, made readable: lines without what steers a terminal, and
//! the letters of all lines one after the other, so that line breaks break nothing.

mod clean;
mod number;
mod stream;

pub use clean::text_of;
pub(crate) use clean::{TextLine, lines};
pub(crate) use number::{Digits, NumberTrouble, Numeral, numeral};
pub(crate) use stream::LetterStream;
