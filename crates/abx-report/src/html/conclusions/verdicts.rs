//! The verdicts: the sentences of the terminal, each with its sign.

use abx_evidence::{StudyRecord, Verdict};

use crate::html::markup::{Element, LINE, Markup, element, note};
use crate::words::scope;
use crate::words::units::percent;
use crate::words::verdict::{instead_of_throughput, name, remarks, sentence, word};

/// What the page is about, as a question.
pub(crate) fn title(record: &StudyRecord) -> String {
    let names: Vec<String> = record
        .measured
        .subjects
        .iter()
        .map(|one| name(&one.name))
        .collect();
    if record.measured.settings.aa {
        return "What can this machine tell apart?".to_owned();
    }
    match names.as_slice() {
        [others @ .., last] if !others.is_empty() => {
            format!("Which is faster: {} or {last}?", others.join(", "))
        }
        _ => "A comparison of web servers".to_owned(),
    }
}

/// A card for each comparison.
pub(crate) fn verdicts(record: &StudyRecord) -> Markup {
    let scope = note(&scope::of_study(record));
    let Some(first) = record.conclusions.primary().next() else {
        let nothing = element("p").text("Nothing was compared.");
        return [nothing, scope].into_iter().collect();
    };
    let cards = record.conclusions.primary().map(|one| {
        let told = element("p").text(&sentence(record, one, &LINE));
        let remarks = remarks(record, one);
        let remarks = remarks
            .iter()
            .map(|text| element("p").class("remark").text(text));
        let told = element("div").add(told).add_all(remarks);
        element("li")
            .class(format!("verdict {}", word(one.verdict)))
            .add(sign(one.verdict))
            .add(told)
    });
    let how = format!(
        "Ratios are subject over baseline, with the interval in which the true ratio lies in {} of \
         such studies: repeats of this one in its scope. A difference of up to {} does not matter here.",
        percent(first.confidence),
        percent(record.measured.settings.margin)
    );
    let list = element("ul").class("verdicts").add_all(cards);
    let of_all = scope::of_all(record);
    let of_all = of_all.iter().map(|text| note(text));
    let instead = instead_of_throughput(record).map(note);
    let all = [list, scope, note(&how)].into_iter();
    all.chain(of_all).chain(instead).collect()
}

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
