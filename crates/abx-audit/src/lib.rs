//! What reports of load generators show, and what they do not.
//!
//! Text goes in: reports of ab, httperf, wrk, wrk2, hey, oha, h2load and siege, with
//! whatever stands around them. Out come their figures with their places, and findings
//! that rest on these. Nothing is guessed: what cannot be read in one way is named.
//! Start at [`audit`].
//!
//! The way of the data: `text` makes text readable, `read` finds reports in it, `checks`
//! examines them, `conclude` and `study` derive what is left; `page` prints it.

mod checks;
mod conclude;
mod figure;
mod finding;
mod naming;
mod page;
mod read;
mod report;
mod study;
mod text;

use abx_evidence::{OutputHead, OutputKind};
use serde::Serialize;

pub use figure::PrintedFigure;
pub use finding::{AuditFinding, AuditFindingId, FileLine};
pub use page::audit_text;
pub use read::Unread;
pub use report::{FigureKey, LoadTool, PrintedQuantile, PrintedWord, ToolReport, WordKey};
pub use text::text_of;

/// A text and what its file is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportText {
    pub file: String,
    /// What stands in it; `None` when it is no text.
    pub text: Option<String>,
}

/// What was found in one file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedFile {
    pub file: String,
    /// How many lines it has.
    pub lines: usize,
    pub reports: usize,
    pub is_text: bool,
    pub unread: Vec<Unread>,
}

/// Everything that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audit {
    #[serde(flatten)]
    pub head: OutputHead,
    /// The files, in their order.
    pub files: Vec<AuditedFile>,
    /// All reports, in the order of files and lines.
    pub reports: Vec<ToolReport>,
    /// What limits them, the weightiest first.
    pub findings: Vec<AuditFinding>,
    /// What can still be concluded.
    pub conclusions: Vec<String>,
    /// The study that would settle the rest, as a command; `None` without a report.
    pub study: Option<String>,
}

/// Reads texts, and returns what the reports in them show.
#[must_use]
pub fn audit(texts: &[ReportText]) -> Audit {
    let mut files = Vec::new();
    let mut reports = Vec::new();
    for text in texts {
        let mut reading = text
            .text
            .as_deref()
            .map(|own_text| read::READER.read(&text.file, own_text))
            .unwrap_or_default();
        let room = REPORTS_MOST - reports.len();
        if let Some(first) = reading.reports.get(room) {
            reading.unread.push(Unread {
                line: first.line,
                why: "1,000 reports come before this one, and the rest is left out: audit fewer \
                      reports at once"
                    .to_owned(),
            });
            reading.reports.truncate(room);
        }
        files.push(AuditedFile {
            file: text.file.clone(),
            lines: reading.lines,
            reports: reading.reports.len(),
            is_text: text.text.is_some(),
            unread: reading.unread,
        });
        reports.extend(reading.reports);
    }
    naming::name(&mut reports);
    Audit::of(files, reports)
}

/// Every report is compared with every other.
const REPORTS_MOST: usize = 1000;

impl Audit {
    /// What these reports show, which have their names.
    fn of(files: Vec<AuditedFile>, reports: Vec<ToolReport>) -> Audit {
        let findings = checks::findings(&reports);
        Audit {
            head: OutputKind::Audit.into(),
            conclusions: conclude::conclusions(&reports, &findings),
            study: study::command(&reports),
            files,
            reports,
            findings,
        }
    }
}
