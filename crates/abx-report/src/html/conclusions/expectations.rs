//! What was expected of the study, and its answers, each with its sign.

use abx_evidence::{ExpectationResult, StudyRecord};

use crate::html::conclusions::signs::sign;
use crate::html::markup::{Markup, element};
use crate::words::expectations::{like, outcome, sentence};
use crate::words::metrics::capitalized;
use crate::words::verdict::word;

/// A card for each answer; nothing without any.
pub(crate) fn expectations(record: &StudyRecord, answers: &[ExpectationResult]) -> Markup {
    if answers.is_empty() {
        return Markup::new();
    }
    let cards = answers.iter().map(|answer| {
        let like = like(&answer.standing);
        let text = format!(
            "{}: {}",
            capitalized(outcome(&answer.standing)),
            sentence(record, answer)
        );
        element("li")
            .class(format!("verdict {}", word(like)))
            .add(sign(like))
            .add(element("div").add(element("p").text(&text)))
    });
    Markup::from(element("ul").class("verdicts").add_all(cards))
}
