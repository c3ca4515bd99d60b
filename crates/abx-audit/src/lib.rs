//! Audits the reports of load generators: what they show, and what they do not.
//!
//! The input is text that contains reports of ab, httperf, wrk, wrk2, hey, oha, h2load or
//! siege. The output is their figures with their line numbers, and findings based on them.
//! Nothing is guessed: ambiguous text is reported as unread. Start at [`audit`].
//!
//! Data flow: `text` normalises text, `read` finds reports in it, `checks` examines them,
//! `conclude` and `study` derive conclusions and a follow-up study, and `page` prints the audit.

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

/// A file to audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportText {
    pub file: String,
    /// The contents; `None` if the file is not text.
    pub text: Option<String>,
}

/// The result for one file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditedFile {
    pub file: String,
    /// The number of lines.
    pub lines: usize,
    pub reports: usize,
    pub is_text: bool,
    pub unread: Vec<Unread>,
}

/// The result of an audit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Audit {
    #[serde(flatten)]
    pub head: OutputHead,
    /// The files, in the order in which they were given.
    pub files: Vec<AuditedFile>,
    /// All reports, in the order of files and lines.
    pub reports: Vec<ToolReport>,
    /// What limits the reports, the most severe first.
    pub findings: Vec<AuditFinding>,
    /// What can still be concluded.
    pub conclusions: Vec<String>,
    /// The command of a study that would answer the open questions; `None` without a report.
    pub study: Option<String>,
}

/// Finds the reports in these texts, and checks them.
#[must_use]
pub fn audit(texts: &[ReportText]) -> Audit {
    let mut files = Vec::new();
    let mut reports = Vec::new();
    for text in texts {
        let mut reading = text
            .text
            .as_deref()
            .map(|contents| read::READER.read(&text.file, contents))
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

/// Limited because every report is compared with every other.
const REPORTS_MOST: usize = 1000;

impl Audit {
    /// Checks reports that already have their names.
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
