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

/// The findings in their order, each text once; empty when there are none.
pub(crate) fn findings(all: &[Finding], loads: Loads, style: &Style) -> String {
    let mut texts: Vec<String> = Vec::new();
    for finding in all {
        let text = one(finding, loads, style);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.concat()
}

fn one(finding: &Finding, loads: Loads, style: &Style) -> String {
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
    let message = wrap(&message, &first, INDENT, style.columns());
    let deeper = format!("{INDENT}  ");
    let remedy = clean(&finding.remedy);
    let arrow = format!("{INDENT}→ ");
    message + &wrap(&remedy, &arrow, &deeper, style.columns())
}

const INDENT: &str = "       ";
