//! Findings as a list: level, what was seen, what to do.

use abx_evidence::{Finding, Level};

use crate::words::findings::{LoadCount, Told, told};
use crate::words::style::{Style, Tint};
use crate::words::wrap::{clean, clean_name, shorten, wrap};

/// The findings that are told; empty when there are none.
pub(crate) fn findings(all: &[Finding], loads: LoadCount, style: &Style) -> String {
    told(all)
        .iter()
        .map(|one| text(one, loads, style))
        .collect()
}

fn text(told: &Told, loads: LoadCount, style: &Style) -> String {
    let finding = told.finding;
    let (word, tint) = match finding.level {
        Level::Note => ("NOTE", Tint::Plain),
        Level::Bound => ("BOUND", Tint::Doubtful),
        Level::Void => ("VOID", Tint::Bad),
    };
    let blanks = " ".repeat(INDENT.len() - word.len());
    let first = format!("{}{blanks}", style.paint(word, tint));
    let message = clean(&finding.message);
    let message = match &finding.load {
        Some(load) if loads == LoadCount::Several => {
            let load = shorten(&clean_name(load), 30);
            format!("under {load}: {message}")
        }
        _ => message,
    };
    let message = message + &told.likewise();
    let message = wrap(&message, &first, INDENT, style.columns());
    let deeper = format!("{INDENT}  ");
    let remedy = clean(&finding.remedy);
    let arrow = format!("{INDENT}→ ");
    message + &wrap(&remedy, &arrow, &deeper, style.columns())
}
const INDENT: &str = "       ";
