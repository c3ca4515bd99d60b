//! The signs of verdicts.

use abx_verdict::Verdict;

use crate::html::markup::{Element, element};
use crate::words::style::mark;
use crate::words::verdict::class;

/// The mark of a verdict, hidden from screen readers, because the word next to it means the same.
pub(crate) fn sign(verdict: Verdict) -> Element {
    let sign = element("span").class(format!("sign {}", class(verdict)));
    sign.with("aria-hidden", "true").text(mark(verdict))
}
