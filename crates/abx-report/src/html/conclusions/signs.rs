//! The signs of verdicts.

use abx_evidence::Verdict;

use crate::html::markup::{Element, element};
use crate::words::verdict::word;

/// The sign of a verdict; the word beside it says the same.
pub(crate) fn sign(verdict: Verdict) -> Element {
    let sign = element("span").class(format!("sign {}", word(verdict)));
    sign.with("aria-hidden", "true").text(letter(verdict))
}

/// The sign of a verdict as a letter.
pub(crate) fn letter(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "▲",
        Verdict::Slower => "▼",
        Verdict::Less => "−",
        Verdict::More => "+",
        Verdict::Equivalent => "≈",
        Verdict::Inconclusive => "?",
        Verdict::Invalid => "✕",
    }
}
