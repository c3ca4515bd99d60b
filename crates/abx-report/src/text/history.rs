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
    let urls = { lines.iter() }.map(|cells| &cells[SUBJECTS]);
    let hosts = urls
        .filter(|text| text.contains("://"))
        .map(|url| columns(host(url)));
    share_out(&mut widths, room, hosts.max().unwrap_or(1).min(HOST_WIDTH));
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

/// Takes from the widest of the columns that may be shortened until all fit. Subjects keep room
/// for a host if they can.
fn share_out(widths: &mut [usize; COLUMNS], room: usize, host: usize) {
    for least in [host, 1] {
        let least_of = |column: usize| if column == SUBJECTS { least } else { 1 };
        while widths.iter().sum::<usize>() > room {
            let wide =
                { SHORTENED.into_iter() }.filter(|column| widths[*column] > least_of(*column));
            match wide.max_by_key(|column| widths[*column]) {
                Some(column) => widths[column] -= 1,
                None => break,
            }
        }
    }
}

/// A URL's host and port; all of any other text.
fn host(text: &str) -> &str {
    let url = text.split_once("://").map_or(text, |(_, rest)| rest);
    match text.contains("://") {
        true => url.split(['/', '?']).next().unwrap_or(url),
        false => text,
    }
}

/// Subjects in so many columns. A URL keeps its host and port for longer than its scheme and its
/// path, since those tell servers apart.
fn shorten_subjects(text: &str, width: usize) -> String {
    let host = host(text);
    if columns(text) <= width || host.len() == text.len() || text.contains(", ") {
        return shorten(text, width);
    }
    let path = text.split_once(host).map_or("", |(_, path)| path);
    let room = width.saturating_sub(columns(host));
    let path = match columns(path) <= room {
        true => path.to_owned(),
        false if room > 1 => shorten(path, room),
        false => String::new(),
    };
    // Of a host without room its end remains, which has the port.
    let host: Vec<char> = host.chars().collect();
    match host.len() <= width {
        true => host
            .iter()
            .chain(&path.chars().collect::<Vec<_>>())
            .collect(),
        false => {
            let end = &host[host.len() - width.saturating_sub(1)..];
            std::iter::once(&'…').chain(end).collect()
        }
    }
}

/// One line; figures stand on the right.
fn line(out: &mut String, cells: &Cells, widths: &[usize; COLUMNS]) {
    let mut text = String::new();
    for (column, (cell, width)) in cells.iter().zip(*widths).enumerate() {
        let gap = if column == 0 { "" } else { GAP };
        let cell = match column {
            SUBJECTS => shorten_subjects(cell, width),
            _ => shorten(cell, width),
        };
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
const SHORTENED: [usize; 3] = [SUBJECTS, 3, 4];
const SUBJECTS: usize = 2;
/// The widest host for which other columns are shortened first.
const HOST_WIDTH: usize = 30;
const GAP: &str = "  ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_is_too_long_keeps_its_host_and_port() {
        // Method: a URL in less and less room, and subjects that are none.
        let url = "http://127.0.0.1:3000/items/of/a/shop";
        for (width, shown) in [
            (37, url),
            (36, "127.0.0.1:3000/items/of/a/shop"),
            (30, "127.0.0.1:3000/items/of/a/shop"),
            (24, "127.0.0.1:3000/item…shop"),
            (16, "127.0.0.1:3000/…"),
            (14, "127.0.0.1:3000"),
            (8, "….1:3000"),
        ] {
            assert_eq!(shorten_subjects(url, width), shown, "{width}");
            assert!(columns(shown) <= width);
        }
        assert_eq!(
            shorten_subjects("ws://127.0.0.1:8090", 15),
            "127.0.0.1:8090"
        );
        assert_eq!(
            shorten_subjects("event, thread", 7),
            shorten("event, thread", 7)
        );
    }

    #[test]
    fn other_columns_are_shortened_before_a_host_is() {
        // Method: wide loads beside a host, in a room for all but a part of the loads, and in
        // one without room for the host.
        let mut widths = [6, 16, 40, 60, 40, 6];
        share_out(&mut widths, 80, 20);
        assert_eq!(widths[SUBJECTS], 20);
        assert_eq!(widths.iter().sum::<usize>(), 80);
        let mut widths = [6, 16, 40, 60, 40, 6];
        share_out(&mut widths, 40, 30);
        assert_eq!(widths.iter().sum::<usize>(), 40);
    }
}
