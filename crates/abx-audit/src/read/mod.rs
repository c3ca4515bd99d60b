//! Finds reports in text: every line that a tool prints is searched for in the whole text, and
//! lines in that tool's order make one report.

mod assembly;
mod cells;
mod columns;
mod command;
mod rows;
mod scan;
mod table;
mod template;

use std::sync::LazyLock;

use crate::report::ToolReport;
use crate::text::{TextLine, lines};
use assembly::Assembly;
use scan::LineTemplates;

pub use assembly::Unread;

/// The contents of one text.
#[derive(Debug, Default)]
pub(crate) struct TextReading {
    pub(crate) reports: Vec<ToolReport>,
    pub(crate) unread: Vec<Unread>,
    pub(crate) lines: usize,
}

pub(crate) struct Reader {
    templates: LineTemplates,
}

/// Shared, because making the templates takes longer than reading a report.
pub(crate) static READER: LazyLock<Reader> = LazyLock::new(|| Reader {
    templates: LineTemplates::new(),
});

impl Reader {
    /// Reads the reports of a text, in the order of their lines.
    pub(crate) fn read(&self, file: &str, text: &str) -> TextReading {
        let read = start_of(text);
        let lines = lines(read);
        let mut reading = TextReading {
            lines: lines_of(text),
            ..TextReading::default()
        };
        for passage in columns::apart(&lines, &self.templates) {
            self.read_passage(file, &passage, &mut reading);
        }
        reading.reports.sort_by_key(|report| report.line);
        if read.len() < text.len() {
            let megabytes = TEXT_MOST >> 20;
            reading.unread.push(Unread {
                line: lines_of(read),
                why: format!("only the first {megabytes} MiB are read: split the file"),
            });
        }
        reading.unread.sort_by_key(|unread| unread.line);
        reading
    }

    fn read_passage(&self, file: &str, passage: &[TextLine], reading: &mut TextReading) {
        let mut assembly = Assembly::new(file, passage);
        for sighting in self.templates.sightings(passage) {
            assembly.take(sighting);
        }
        let (mut reports, unread) = assembly.finish();
        command::attach(passage, &mut reports);
        for report in &mut reports {
            report.settle();
        }
        let is_outside = |line: &&TextLine| {
            let next = reports.partition_point(|report| report.last_line < line.number);
            let begins_after = |report: &ToolReport| report.line > line.number;
            reports.get(next).is_none_or(begins_after)
        };
        let outside: Vec<&TextLine> = passage.iter().filter(is_outside).collect();
        let (rows, unread_rows) = table::rows(file, &outside);
        reading.reports.extend(reports);
        reading.reports.extend(rows);
        reading.unread.extend(unread);
        reading.unread.extend(unread_rows);
    }
}

/// The number of lines of a text.
fn lines_of(text: &str) -> usize {
    let end = if text.contains('\n') { '\n' } else { '\r' };
    text.split(end).count() - usize::from(text.ends_with('\n'))
}

/// The complete lines at the start of a text, up to the limit.
fn start_of(text: &str) -> &str {
    if text.len() <= TEXT_MOST {
        return text;
    }
    let end = (0..=TEXT_MOST)
        .rev()
        .find(|end| text.is_char_boundary(*end));
    let start = &text[..end.unwrap_or_default()];
    start
        .rfind(['\n', '\r'])
        .map_or(start, |end| &start[..=end])
}

/// Reports are text for people; a larger file is something else.
const TEXT_MOST: usize = 32 << 20;
