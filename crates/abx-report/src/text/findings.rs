//! Findings as a list: level, what was seen, what to do. Start at [`findings`] for each of
//! them, at [`by_cause`] for a line of each cause.

use abx_evidence::{Finding, FindingId, Level};

use crate::words::findings::{Cause, LoadCount, Told, causes, told};
use crate::words::style::{Style, Tint};
use crate::words::wrap::{clean, clean_name, columns, shorten, wrap};

/// The findings that are told; empty when there are none.
pub(crate) fn findings(all: &[Finding], loads: LoadCount, style: &Style) -> String {
    told(all)
        .iter()
        .map(|one| text(one, loads, style))
        .collect()
}

fn text(told: &Told, loads: LoadCount, style: &Style) -> String {
    let finding = told.finding;
    let message = clean(&finding.message);
    let message = match &finding.load {
        Some(load) if loads == LoadCount::Several => {
            let load = shorten(&clean_name(load), 30);
            format!("under {load}: {message}")
        }
        _ => message,
    };
    let message = message + &told.likewise();
    entry(finding.level, &message, style) + &remedy(&finding.remedy, style)
}

/// What limits the result, an entry for each cause: of what limits a claim the first
/// message and what to do, which stands once; of notes a line each, of many the first ones
/// and what the others are.
pub(crate) fn by_cause(all: &[Finding], style: &Style) -> String {
    let (mut notes, limits): (Vec<Cause>, Vec<Cause>) =
        { causes(all).into_iter() }.partition(|cause| cause.level == Level::Note);
    // That it was stopped is told whatever else there is.
    notes.sort_by_key(|cause| *cause.id != FindingId::Interrupted);
    let mut out = String::new();
    let mut said: Vec<&str> = Vec::new();
    for cause in &limits {
        let first = cause.findings[0];
        let message = clean(&first.message) + &others(cause);
        out.push_str(&entry(cause.level, &message, style));
        if !said.contains(&first.remedy.as_str()) {
            said.push(&first.remedy);
            out.push_str(&remedy(&first.remedy, style));
        }
    }
    let shown = match notes.len() {
        few @ ..=NOTES_MAX => few,
        _ => NOTES_MAX - 1,
    };
    for cause in &notes[..shown] {
        out.push_str(&entry(Level::Note, &one_line(cause, style), style));
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

fn remedy(text: &str, style: &Style) -> String {
    let [arrow, deeper] = ["→ ", "  "].map(|sign| format!("{INDENT}{sign}"));
    wrap(&clean(text), &arrow, &deeper, style.columns())
}

/// What was seen first, cut where a line ends, and how often it was seen besides.
fn one_line(cause: &Cause, style: &Style) -> String {
    let others = others(cause);
    let room = style.columns() - INDENT.len() - columns(&others);
    let text = cause.first_clause();
    if columns(&text) <= room {
        return text + &others;
    }
    let mut cut = String::new();
    for word in text.split(' ') {
        if columns(&cut) + 1 + columns(word) + 1 > room {
            break;
        }
        if !cut.is_empty() {
            cut.push(' ');
        }
        cut.push_str(word);
    }
    format!("{cut}…{others}")
}

/// How often it was seen besides.
fn others(cause: &Cause) -> String {
    match cause.findings.len() - 1 {
        0 => String::new(),
        1 => " (and once more)".to_owned(),
        more => format!(" (and {more} times more)"),
    }
}

const INDENT: &str = "       ";
/// More causes than this are not told in a line each.
const NOTES_MAX: usize = 3;
