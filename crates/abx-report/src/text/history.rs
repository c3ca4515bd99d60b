//! The list of records: one line for each, and its file below.

use std::fmt::Write;

use abx_evidence::history::{Entry, History};

use crate::words::history::{COLUMN_NAMES, COLUMNS, Cells, cells, verdicts};
use crate::words::style::Style;
use crate::words::units::count;
use crate::words::wrap::{clean_name, columns, shorten, wrap};

/// The list of records, ready to be printed.
#[must_use]
pub fn history_text(history: &History, style: &Style) -> String {
    let mut out = String::new();
    let folder = clean_name(&history.folder);
    let head = match history.entries.len() {
        0 => format!("No matching record in {folder}"),
        _ => format!("Records in {folder}, newest first:"),
    };
    out.push_str(&style.paragraph(&head));
    if !history.entries.is_empty() {
        out.push_str(&rows(&history.entries, style));
    }
    let mut say = |text: &str| out.push_str(&style.paragraph(text));
    if history.left_out > 0 {
        let more = count(history.left_out as u64);
        say(&format!("{more} more: show them with `--limit N`."));
    }
    if history.unmeasured > 0 {
        let failed = match history.unmeasured {
            1 => "1 study failed before anything was measured: show it with `--all`.".to_owned(),
            several => format!(
                "{} studies failed before anything was measured: show them with `--all`.",
                count(several as u64)
            ),
        };
        say(&failed);
    }
    for one in &history.unread {
        let file = clean_name(&one.file);
        say(&format!("{file} is not listed: {}.", clean_name(&one.why)));
    }
    style.finish(&out)
}

/// A line of headers, and two lines for each record.
fn rows(entries: &[Entry], style: &Style) -> String {
    let headers = COLUMN_NAMES.map(str::to_owned);
    let lines: Vec<Cells> = entries.iter().map(cells).collect();
    let all = || std::iter::once(&headers).chain(&lines);
    let natural = |column: usize| {
        all()
            .map(|cells| columns(&cells[column]))
            .max()
            .unwrap_or(0)
    };
    let mut widths: [usize; COLUMNS] = std::array::from_fn(natural);
    let room = style.columns().saturating_sub(GAP.len() * (COLUMNS - 1));
    share_out(&mut widths, room);
    let mut out = String::new();
    line(&mut out, &headers, &widths);
    for (cells, entry) in lines.iter().zip(entries) {
        line(&mut out, cells, &widths);
        let below = format!("{}{GAP}", " ".repeat(widths[0]));
        let mut file = clean_name(&entry.file);
        if let Some(verdicts) = verdicts(entry) {
            file.push_str(&format!(": {verdicts}"));
        }
        out.push_str(&wrap(&file, &below, &below, style.columns()));
    }
    out
}

/// Takes from the widest of the columns that may be shortened until all fit.
fn share_out(widths: &mut [usize; COLUMNS], room: usize) {
    while widths.iter().sum::<usize>() > room {
        let widest = SHORTENED.into_iter().max_by_key(|column| widths[*column]);
        match widest.filter(|column| widths[*column] > 1) {
            Some(column) => widths[column] -= 1,
            None => return,
        }
    }
}

/// One line; figures stand on the right.
fn line(out: &mut String, cells: &Cells, widths: &[usize; COLUMNS]) {
    let mut text = String::new();
    for (column, (cell, width)) in cells.iter().zip(*widths).enumerate() {
        let gap = if column == 0 { "" } else { GAP };
        let cell = shorten(cell, width);
        let padding = " ".repeat(width.saturating_sub(columns(&cell)));
        let written = if column == COLUMNS - 1 {
            write!(text, "{gap}{padding}{cell}")
        } else {
            write!(text, "{gap}{cell}{padding}")
        };
        written.expect("a string takes everything");
    }
    out.push_str(text.trim_end());
    out.push('\n');
}
/// Columns that may be shortened: subjects, loads and verdicts.
const SHORTENED: [usize; 3] = [2, 3, 4];
const GAP: &str = "  ";
