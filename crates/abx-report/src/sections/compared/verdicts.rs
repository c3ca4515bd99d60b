//! The verdicts: a matrix of many, and the sentences of the terminal, each with its sign.

use abx_verdict::{Comparison, Role, StudyRecord};

use crate::document::{Document, Statement};
use crate::sections::compared::alone::{is_alone, sentences};
use crate::sections::compared::findings::{limits_briefly, reasons};
use crate::sections::compared::grid;
use crate::sections::compared::overview::{at_a_glance, overview};
use crate::sections::compared::ratios::compared_table;
use crate::sections::measured::how_measured::when_and_where;
use crate::sections::measured::scope::scope;
use crate::words::style::{LINE, ReportExtent, Style};
use crate::words::units::percent;
use crate::words::verdict::{instead_of_throughput, name, remarks, sentence};
use crate::words::wrap::clean_name;

pub(crate) fn title(record: &StudyRecord) -> String {
    if let Some(run) = record.run() {
        return format!("One run against {}", clean_name(run.url()));
    }
    let names: Vec<String> = record
        .measured
        .subjects
        .iter()
        .map(|subject| name(&subject.name))
        .collect();
    if record.measured.settings.aa {
        return "How small a difference can this machine show?".to_owned();
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

/// A statement for each comparison, and what else is to be known of it.
pub(crate) fn verdicts(record: &StudyRecord, style: &Style) -> Document {
    let statement = |comparison: &Comparison| Statement {
        verdict: comparison.verdict,
        sentence: sentence(record, comparison, style),
        remarks: remarks(record, comparison),
        reasons: reasons(record, comparison),
    };
    let mut out = Document::default();
    if is_alone(record) {
        return sentences(record).into_iter().collect();
    }
    out.statements(record.conclusions.primary().map(statement).collect());
    if out.is_empty() {
        out.paragraph("Nothing was compared.");
    }
    match instead_of_throughput(record) {
        Some(text) if !out.is_empty() => out.explained(text),
        _ => out,
    }
}

/// What was found: at a glance where it is much, then each verdict in words, out of the way where
/// those are many, and what they hold for.
pub(crate) fn verdicts_of_page(record: &StudyRecord) -> Document {
    let mut out = Document::default();
    let verdicts = verdicts(record, &LINE);
    if grid::is_needed(record) {
        out.append(overview(record, ReportExtent::Brief, &LINE));
        out.append(at_a_glance(record, ReportExtent::Brief, &LINE));
        out.append(limits_briefly(&record.conclusions.validity.findings));
        out.paragraph(when_and_where(record));
    }
    if record.conclusions.primary().count() > CARDS_MAX {
        out.folded(IN_WORDS, verdicts);
    } else {
        out.append(verdicts);
    }
    if let Some(first) = record.conclusions.primary().next() {
        out.note(format!(
            "A ratio is subject ÷ baseline. In {} of repeats of this study, the interval holds \
             the true ratio. A difference of up to {} does not matter here.",
            percent(first.confidence),
            percent(record.measured.settings.margin)
        ));
    }
    out.append(scope(record));
    out
}

/// The same in Markdown, where tables stand for the matrix.
pub(crate) fn verdicts_markdown(record: &StudyRecord) -> String {
    let mut each = verdicts(record, &LINE);
    each.append(compared_table(record, Role::Primary));
    if !grid::is_needed(record) {
        return each.markdown();
    }
    let mut out = overview(record, ReportExtent::Brief, &LINE);
    out.append(at_a_glance(record, ReportExtent::Brief, &LINE));
    out.folded(IN_WORDS, each);
    out.markdown()
}

const NAMES_MAX: usize = 5;
const CARDS_MAX: usize = 6;
const IN_WORDS: &str = "Each verdict in words";
