//! What the words of a report mean, below it.

use crate::words::style::Style;
use crate::words::terms::Term;
use crate::words::wrap::wrap;

/// A paragraph for each word.
pub(crate) fn definitions(terms: &[Term], style: &Style) -> String {
    let each = terms.iter().map(|(term, text)| {
        let text = format!("{term}: {text}.");
        wrap(&text, "", INDENT, style.columns())
    });
    let each: String = each.collect();
    format!("What the words mean:\n{each}")
}

const INDENT: &str = "  ";
