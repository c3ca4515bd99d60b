//! A line of a text.

/// A line of a file, with its number from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextLine {
    pub(crate) number: usize,
    pub(crate) text: String,
}
