//! Findings as a list: level, what was seen, what to do. Start at [`findings`] for each of
//! them, at [`by_cause`] for a line of each cause.

use abx_evidence::{Finding, FindingId, Level};

use crate::words::findings::{Cause, LoadCount, Told, causes, message_under, told};
use crate::words::prose::{first_sentence, message, remedy};
use crate::words::style::{Style, Tint};
use crate::words::units::count;
use crate::words::wrap::wrap;

/// The findings that are told; empty when there are none.
pub(crate) fn findings(all: &[Finding], loads: LoadCount, style: &Style) -> String {
    told(all)
        .iter()
        .map(|one| text(one, loads, style))
        .collect()
}

fn text(told: &Told, loads: LoadCount, style: &Style) -> String {
    let finding = told.finding;
    let message = message_under(finding, loads) + &told.likewise();
    entry(finding.level, &message, style) + &to_do(finding, style)
}

/// What limits the result, an entry per cause: the first message, and of what limits a claim
/// what to do, which stands once; of many notes the first ones, and what the others are.
pub(crate) fn by_cause(all: &[Finding], style: &Style) -> String {
    let (mut notes, limits): (Vec<Cause>, Vec<Cause>) =
        { causes(all).into_iter() }.partition(|cause| cause.level == Level::Note);
    // That it was stopped is told whatever else there is.
    notes.sort_by_key(|cause| *cause.id != FindingId::Interrupted);
    let mut out = String::new();
    let mut said: Vec<&str> = Vec::new();
    for cause in &limits {
        let first = cause.findings[0];
        out.push_str(&entry(cause.level, &first_message(cause), style));
        if !said.contains(&first.remedy.as_str()) {
            said.push(&first.remedy);
            out.push_str(&to_do(first, style));
        }
    }
    let shown = match notes.len() {
        few @ ..=NOTES_MAX => few,
        _ => NOTES_MAX - 1,
    };
    for cause in &notes[..shown] {
        out.push_str(&entry(Level::Note, &short_note(cause), style));
    }
    let rest: Vec<String> = notes[shown..].iter().map(Cause::counted).collect();
    if !rest.is_empty() {
        out.push_str(&entry(Level::Note, &rest.join(", "), style));
    }
    out
}

/// What limits the verdicts of a large study, a line for each level.
pub(crate) fn by_level(all: &[Finding], style: &Style) -> String {
    let causes = causes(all);
    let of = |level: Level, text: fn(&Cause) -> String, between: &str| {
        let all: Vec<String> = { causes.iter() }
            .filter(|one| one.level == level)
            .map(text)
            .collect();
        match all.is_empty() {
            true => String::new(),
            false => entry(level, &all.join(between), style),
        }
    };
    [
        of(Level::Void, |one| one.text(), "; "),
        of(Level::Bound, |one| one.text(), "; "),
        of(Level::Note, |one| one.counted(), ", "),
    ]
    .concat()
}

/// A level and what is said of it.
fn entry(level: Level, text: &str, style: &Style) -> String {
    let (word, tint) = match level {
        Level::Note => ("NOTE", Tint::Plain),
        Level::Bound => ("BOUND", Tint::Doubtful),
        Level::Void => ("VOID", Tint::Bad),
    };
    let blanks = " ".repeat(INDENT.len() - word.len());
    let first = format!("{}{blanks}", style.paint(word, tint));
    wrap(text, &first, INDENT, style.columns())
}

fn to_do(finding: &Finding, style: &Style) -> String {
    let [arrow, deeper] = ["→ ", "  "].map(|sign| format!("{INDENT}{sign}"));
    wrap(&remedy(finding), &arrow, &deeper, style.columns())
}

/// What was seen first, and how often the like of it was seen besides.
fn first_message(cause: &Cause) -> String {
    message(cause.findings[0]) + &others(cause)
}

/// The same of a note, in one sentence.
fn short_note(cause: &Cause) -> String {
    first_sentence(&message(cause.findings[0])).to_owned() + &others(cause)
}

/// How often the like was seen besides.
fn others(cause: &Cause) -> String {
    match cause.findings.len() - 1 {
        0 => String::new(),
        1 => " (and once more)".to_owned(),
        more => format!(" (and {} times more)", count(more as u64)),
    }
}

const INDENT: &str = "       ";
/// More causes than this are not told in a line each.
const NOTES_MAX: usize = 3;
