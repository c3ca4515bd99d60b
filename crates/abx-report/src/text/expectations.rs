//! What was expected, and what the study says to it.

use abx_evidence::{ExpectationResult, Standing, StudyRecord};

use crate::words::expectations::reason;
use crate::words::style::{Style, Tint};
use crate::words::verdict::place;
use crate::words::wrap::clean_name;

/// A sentence for each answer, ready to be printed; empty when nothing was expected.
#[must_use]
pub fn expectations_text(
    record: &StudyRecord,
    answers: &[ExpectationResult],
    style: &Style,
) -> String {
    let sentence = |answer: &ExpectationResult| {
        let standing = style.paint(answer.standing.word(), tint(&answer.standing));
        let place = match answer.load.as_str() {
            "" => String::new(),
            load => format!(" {}", self::place(record, load)),
        };
        // Of several subjects each has its own result.
        let of = match (answer.goal, record.measured.subjects.len()) {
            (None, _) | (_, 1) => String::new(),
            _ => format!(" of {}", clean_name(&answer.subject)),
        };
        let text = format!(
            "Expected {}{of}{place}: {standing}: {}.",
            clean_name(&answer.expected),
            reason(record, answer)
        );
        style.paragraph(&text)
    };
    let text: String = answers.iter().map(sentence).collect();
    style.finish(&text)
}

fn tint(standing: &Standing) -> Tint {
    match standing {
        Standing::Holds => Tint::Good,
        Standing::Fails | Standing::Invalid(_) => Tint::Bad,
        Standing::Unsettled(_) => Tint::Doubtful,
    }
}
