//! The verdicts: a matrix of many, and the sentences of the terminal, each with its sign.

use abx_evidence::{Comparison, StudyRecord};

use crate::html::markup::{Element, LINE, Markup, element, folded, note};
use crate::html::sign::sign;
use crate::markdown::{UNBROKEN, details, escape, quoting};
use crate::sections::compared::alone::{is_alone, sentences};
use crate::sections::compared::findings::reasons;
use crate::sections::compared::grid;
use crate::sections::compared::grid::matrix_html;
use crate::sections::compared::grid::verdict_matrix;
use crate::sections::compared::overview::{counts, lacking, largest, leaders};
use crate::sections::compared::ratios::comparisons_markdown;
use crate::sections::measured::scope;
use crate::words::style::Style;
use crate::words::style::mark;
use crate::words::units::percent;
use crate::words::verdict::{instead_of_throughput, name, remarks, sentence, word};
use abx_evidence::Role;

pub(crate) fn title(record: &StudyRecord) -> String {
    let names: Vec<String> = record
        .measured
        .subjects
        .iter()
        .map(|subject| name(&subject.name))
        .collect();
    if record.measured.settings.aa {
        return "What can this machine tell apart?".to_owned();
    }
    match names.as_slice() {
        many if many.len() > NAMES_MAX => format!("Which of {} servers is faster?", many.len()),
        [others @ .., last] if !others.is_empty() => {
            format!("Which is faster: {} or {last}?", others.join(", "))
        }
        [only] if is_alone(record) => format!("How much can {only} serve?"),
        _ => "A comparison of web servers".to_owned(),
    }
}

/// A sentence for each comparison, and what else is to be known of it.
pub(crate) fn verdicts_text(record: &StudyRecord, style: &Style) -> String {
    let is_nothing = record.conclusions.primary().next().is_none();
    if is_nothing && record.measured.past_baseline.is_some() {
        return String::new();
    }
    if is_nothing {
        return "Nothing was compared.\n".to_owned();
    }
    let mut out = String::new();
    for comparison in record.conclusions.primary() {
        out.push_str(&style.paragraph(&sentence(record, comparison, style)));
        for remark in remarks(record, comparison) {
            out.push_str(&style.note(&remark));
        }
    }
    out + &instead_of_throughput(record).map_or_else(String::new, |text| style.note(text))
}

/// What was found: at a glance where it is much, and in a card for each comparison where
/// those are few.
pub(crate) fn verdicts_html(record: &StudyRecord) -> Markup {
    let scope = note(&scope::of_study(record));
    if is_alone(record) {
        let texts = sentences(record).into_iter();
        let message = texts.map(|text| element("p").text(&text));
        return message.chain([scope]).collect();
    }
    let Some(first) = record.conclusions.primary().next() else {
        let nothing = element("p").text("Nothing was compared.");
        return [nothing, scope].into_iter().collect();
    };
    let mut out = Markup::new();
    if grid::is_needed(record) {
        out.push(matrix_html(record));
        out.push(element("p").text(&counts(record)));
        out.push_all(lacking(record).map(|text| element("p").text(&text)));
        for comparison in largest(record) {
            out.push(element("p").text(&sentence(record, comparison, &LINE)));
        }
        out.push_all(leaders(record).iter().map(|line| element("p").text(line)));
    }
    let cards = record
        .conclusions
        .primary()
        .map(|comparison| card(record, comparison));
    let cards = element("ul").class("verdicts").add_all(cards);
    if record.conclusions.primary().count() > CARDS_MAX {
        out.push(folded("Each verdict in words", cards))
    } else {
        out.push(cards)
    }
    let how = format!(
        "Ratios are subject over baseline, with the interval in which the true ratio lies in {} of \
         such studies: repeats of this one in its scope. A difference of up to {} does not matter here.",
        percent(first.confidence),
        percent(record.measured.settings.margin)
    );
    out.push(scope);
    out.push(note(&how));
    out.push_all(scope::of_all(record).iter().map(|text| note(text)));
    out.push_all(instead_of_throughput(record).map(note));
    out
}

/// One comparison in words, with its sign, what else is to be known, and what limits it.
fn card(record: &StudyRecord, comparison: &Comparison) -> Element {
    let remarks = remarks(record, comparison);
    let remarks = remarks
        .iter()
        .map(|text| element("p").class("remark").text(text));
    let reasons = reasons(record, comparison).map(|why| element("p").class("remark").add(why));
    let reported_element = element("div")
        .add(element("p").text(&sentence(record, comparison, &LINE)))
        .add_all(remarks)
        .add_all(reasons);
    element("li")
        .class(format!("verdict {}", word(comparison.verdict)))
        .add(sign(comparison.verdict))
        .add(reported_element)
}

const NAMES_MAX: usize = 5;
const CARDS_MAX: usize = 6;

/// What was asked, in words and figures: at a glance where it is much, and each
/// answer out of the way.
pub(crate) fn verdicts_markdown(record: &StudyRecord) -> String {
    let each = format!(
        "{}\n{}",
        sentences_markdown(record),
        comparisons_markdown(record, Role::Primary)
    );
    match verdict_matrix(record) {
        matrix if matrix.is_empty() => each,
        matrix => {
            let lacking =
                lacking(record).map_or_else(String::new, |text| format!("\n{}\n", escape(&text)));
            let each = details("Each verdict in words", &each);
            format!("{matrix}{lacking}\n{each}")
        }
    }
}

fn sentences_markdown(record: &StudyRecord) -> String {
    let mut out = String::new();
    for comparison in record.conclusions.primary() {
        let mark = mark(comparison.verdict);
        let message = quoting(&sentence(record, comparison, &UNBROKEN));
        out.push_str(&format!("- {mark} **{message}**\n"));
        for remark in remarks(record, comparison) {
            out.push_str(&format!("  - {}\n", quoting(&remark)));
        }
    }
    if let Some(text) = instead_of_throughput(record) {
        out.push_str(&format!("\n{}\n", escape(text)));
    }
    if is_alone(record) {
        let texts = sentences(record).into_iter();
        return texts
            .map(|text| format!("- **{}**\n", escape(&text)))
            .collect();
    }
    if out.is_empty() && record.measured.past_baseline.is_none() {
        "**Nothing was compared.**\n".to_owned()
    } else {
        out
    }
}
