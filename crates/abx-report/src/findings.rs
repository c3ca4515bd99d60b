//! Findings as a list: level, what was seen, what to do.

use abx_evidence::{Finding, Level};

use crate::style::{Style, Tint};
use crate::wrap::{clean, clean_name, shorten, wrap};

/// Which findings need the name of their load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loads {
    One,
    Several,
}

/// The findings in their order, each text once; empty when there are none. Of
/// notes that were made of the same subject under many loads the first is told,
/// and where the others were.
pub(crate) fn findings(all: &[Finding], loads: Loads, style: &Style) -> String {
    let mut texts: Vec<String> = Vec::new();
    for (place, finding) in all.iter().enumerate() {
        let is_like = |other: &&Finding| {
            other.level == Level::Note
                && (&other.id, &other.subject, other.level)
                    == (&finding.id, &finding.subject, finding.level)
                && other.load.is_some()
                && other.load != finding.load
        };
        if all[..place].iter().any(|other| is_like(&other)) {
            continue;
        }
        let others: Vec<&str> = { all[place..].iter().filter(is_like) }
            .filter_map(|other| other.load.as_deref())
            .collect();
        let text = one(finding, &others, loads, style);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.concat()
}

fn one(finding: &Finding, others: &[&str], loads: Loads, style: &Style) -> String {
    let (word, tint) = match finding.level {
        Level::Note => ("NOTE", Tint::Plain),
        Level::Bound => ("BOUND", Tint::Doubtful),
        Level::Void => ("VOID", Tint::Bad),
    };
    let blanks = " ".repeat(INDENT.len() - word.len());
    let first = format!("{}{blanks}", style.paint(word, tint));
    let message = clean(&finding.message);
    let message = match &finding.load {
        Some(load) if loads == Loads::Several => {
            let load = shorten(&clean_name(load), 30);
            format!("under {load}: {message}")
        }
        _ => message,
    };
    let message = message + &likewise(others);
    let message = wrap(&message, &first, INDENT, style.columns());
    let deeper = format!("{INDENT}  ");
    let remedy = clean(&finding.remedy);
    let arrow = format!("{INDENT}→ ");
    message + &wrap(&remedy, &arrow, &deeper, style.columns())
}

/// Under which other loads the same was seen, with other figures.
fn likewise(others: &[&str]) -> String {
    let mut names: Vec<String> = Vec::new();
    for other in others {
        let name = shorten(&clean_name(other), 30);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.len() {
        0 => String::new(),
        1..=NAMED => format!(" (likewise under {})", names.join(", ")),
        more => format!(
            " (likewise under {} and {} more)",
            names[..NAMED].join(", "),
            more - NAMED
        ),
    }
}

/// So many other loads are named.
const NAMED: usize = 4;
const INDENT: &str = "       ";
