//! The verdicts, as a matrix if they are many and as sentences.

use abx_verdict::{Comparison, ExpectationResult, Role, StudyRecord};

use crate::document::{Document, Statement};
use crate::sections::compared::alone::{is_alone, sentences};
use crate::sections::compared::findings::{limits_briefly, reasons};
use crate::sections::compared::grid;
use crate::sections::compared::overview::{
    at_a_glance, decided_and_first, deciding, overview, overview_of_page,
};
use crate::sections::compared::ratios::compared_table;
use crate::sections::measured::how_measured::when_and_where;
use crate::sections::measured::scope::scope;
use crate::sections::remarks::remarks;
use crate::words::style::{LINE, ReportExtent, Style};
use crate::words::units::percent;
use crate::words::verdict::{instead_of_throughput, name, place, sentence};
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
    if let Some(question) = only_question(record) {
        return clean_name(question);
    }
    if record.measured.settings.aa {
        return "How small a difference can this machine show?".to_owned();
    }
    match &names[..] {
        many if many.len() > NAMES_MAX => format!("Which of {} servers is faster?", many.len()),
        [others @ .., last] if !others.is_empty() => {
            format!("Which is faster: {} or {last}?", others.join(", "))
        }
        [only] if is_alone(record) => format!("How much can {only} serve?"),
        _ => "A comparison of web servers".to_owned(),
    }
}

/// The question that all pairs of a study share, if any.
fn only_question(record: &StudyRecord) -> Option<&str> {
    let contrasts = &record.measured.settings.contrasts;
    let mut questions = contrasts
        .iter()
        .map(|contrast| contrast.question.as_deref());
    let first = questions.next()??;
    questions
        .all(|question| question == Some(first))
        .then_some(first)
}

/// A statement with remarks for each comparison.
pub(crate) fn verdicts(record: &StudyRecord, style: &Style) -> Document {
    if is_alone(record) {
        return sentences(record).into_iter().collect();
    }
    let statement = |comparison: &Comparison| Statement {
        verdict: comparison.verdict,
        sentence: sentence(record, comparison, style),
        remarks: remarks(record, comparison),
        reasons: reasons(record, comparison),
    };
    let mut out = Document::default();
    out.statements(record.conclusions.primary().map(statement).collect());
    if out.is_empty() {
        out.paragraph("Nothing was compared.");
    }
    match instead_of_throughput(record) {
        Some(text) if !out.is_empty() => out.explained(text),
        _ => out,
    }
}

/// The first screen of a page: the result in a few sentences or boxes, the matrix of many
/// verdicts, their limits, time and machine. All of it in words is folded.
pub(crate) fn verdicts_of_page(record: &StudyRecord) -> Document {
    let mut out = Document::default();
    let mut in_words = Document::default();
    let verdicts = verdicts(record, &LINE);
    if grid::is_needed(record) {
        let [first, whole] = overview_of_page(record, &LINE);
        out.append(first);
        out.append(at_a_glance(record, ReportExtent::Brief, &LINE));
        in_words.folded(DECIDED, whole);
        in_words.folded(IN_WORDS, verdicts);
    } else {
        out.append(verdicts);
    }
    out.append(limits_briefly(&record.conclusions.validity.findings));
    out.paragraph(when_and_where(record));
    out.append(in_words);
    let mut meaning = Document::default();
    if let Some(first) = record.conclusions.primary().next() {
        meaning.note(format!(
            "A ratio is subject ÷ baseline. In {} of repeats of this study, the interval holds \
             the true ratio. A difference of up to {} does not matter here.",
            percent(first.confidence),
            percent(record.measured.settings.margin)
        ));
    }
    meaning.append(scope(record));
    out.folded(MEANING, meaning);
    out
}

/// The verdicts in Markdown: the result in words, unless checks head the report, one table of all
/// verdicts, and remarks.
pub(crate) fn verdicts_markdown(record: &StudyRecord, results: &[ExpectationResult]) -> String {
    let compared: Vec<&Comparison> = record.conclusions.primary().collect();
    if compared.is_empty() || is_alone(record) {
        return verdicts(record, &LINE).markdown();
    }
    let has_matrix = grid::is_needed(record);
    let mut out = match compared[..] {
        _ if !results.is_empty() => Document::default(),
        [only] => in_words(record, only),
        _ if has_matrix => overview(record, ReportExtent::Brief, &LINE),
        _ => decided_and_first(record),
    };
    let remarks = remarks_of_all(record);
    if has_matrix {
        out.append(at_a_glance(record, ReportExtent::Brief, &LINE));
        out.folded(REMARKS, remarks);
    } else {
        out.append(compared_table(record, Role::Primary));
        let several = Some(record).filter(|_| compared.len() > 1);
        out.append(several.and_then(deciding).into_iter().collect());
        out.append(remarks);
    }
    out.append(instead_of_throughput(record).into_iter().collect());
    out.markdown()
}

/// A comparison as a sentence without remarks.
fn in_words(record: &StudyRecord, comparison: &Comparison) -> Document {
    let mut out = Document::default();
    out.statements(vec![Statement {
        verdict: comparison.verdict,
        sentence: sentence(record, comparison, &LINE),
        remarks: Vec::new(),
        reasons: None,
    }]);
    out
}

/// Each remark once, after the comparisons that it is about if there are several.
fn remarks_of_all(record: &StudyRecord) -> Document {
    let mut by_remark: Vec<(String, Vec<String>)> = Vec::new();
    for comparison in record.conclusions.primary() {
        let about = format!(
            "{} ÷ {} {}",
            name(&comparison.subject),
            name(&comparison.baseline),
            place(record, &comparison.load)
        );
        for remark in remarks(record, comparison) {
            match by_remark.iter_mut().find(|(other, _)| *other == remark) {
                Some((_, comparisons)) => comparisons.push(about.clone()),
                None => by_remark.push((remark, vec![about.clone()])),
            }
        }
    }
    let is_only = record.conclusions.primary().count() == 1;
    let texts = by_remark.into_iter().map(|(remark, comparisons)| {
        if is_only {
            remark
        } else {
            format!("{}: {remark}", comparisons.join("; "))
        }
    });
    texts.collect()
}

const NAMES_MAX: usize = 5;
const DECIDED: &str = "Everything that is decided, in words";
const IN_WORDS: &str = "Each verdict in words";
const REMARKS: &str = "Remarks about single verdicts";
const MEANING: &str = "What the verdicts hold for";
