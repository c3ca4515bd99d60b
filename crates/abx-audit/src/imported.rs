//! The report of another tool as a record: what it printed, and what follows from that.
//! It holds nothing that was not printed, so it has no interval and no verdict.

use abx_evidence::history::IMPORTED_SCHEMA;
use serde::{Deserialize, Serialize};

use crate::finding::AuditFinding;
use crate::read::Unread;
use crate::report::{LoadTool, ToolReport};
use crate::{Audit, AuditedFile};

/// One report of another tool, kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "ImportedFile")]
pub struct ImportedRecord {
    /// [`IMPORTED_SCHEMA`].
    pub schema: String,
    /// The version of abx that imported it.
    pub abx_version: String,
    /// When it was imported, in milliseconds since 1970-01-01 UTC; when it was measured,
    /// such reports do not say.
    pub imported_unix_ms: u64,
    /// How many runs it is of: one.
    pub runs: u32,
    /// Whether anything was measured side by side with it: nothing was.
    pub is_paired: bool,
    /// What was printed.
    pub report: ToolReport,
    /// What of it cannot be read.
    pub unread: Vec<Unread>,
    /// What limits it, read from the report.
    pub findings: Vec<AuditFinding>,
    /// What can still be concluded, read from the report.
    pub conclusions: Vec<String>,
    /// The study that would settle the rest, as a command.
    pub study: Option<String>,
}

/// The part of a record's file that is read; the rest follows from it.
#[derive(Deserialize)]
struct ImportedFile {
    abx_version: String,
    imported_unix_ms: u64,
    report: ToolReport,
    #[serde(default)]
    unread: Vec<Unread>,
}

impl From<ImportedFile> for ImportedRecord {
    fn from(file: ImportedFile) -> ImportedRecord {
        let audit = audit_of([(&file.report, &file.unread[..])].into_iter());
        ImportedRecord {
            schema: IMPORTED_SCHEMA.to_owned(),
            abx_version: file.abx_version,
            imported_unix_ms: file.imported_unix_ms,
            runs: 1,
            is_paired: false,
            findings: audit.findings,
            conclusions: audit.conclusions,
            study: audit.study,
            report: file.report,
            unread: file.unread,
        }
    }
}

impl ImportedRecord {
    /// The audit of this report alone.
    #[must_use]
    pub fn audit(&self) -> Audit {
        audit_of([(&self.report, &self.unread[..])].into_iter())
    }
}

/// A record of each report that was found. Rows of tables are none: nobody knows what they
/// were measured by.
#[must_use]
pub fn imported(audit: &Audit, abx_version: &str, now_unix_ms: u64) -> Vec<ImportedRecord> {
    let is_report = |report: &&ToolReport| report.tool != LoadTool::Table;
    let reports: Vec<&ToolReport> = audit.reports.iter().filter(is_report).collect();
    let mut unread: Vec<Vec<Unread>> = reports.iter().map(|_| Vec::new()).collect();
    for file in &audit.files {
        for one in &file.unread {
            // A line that cannot be read may be the last of its report.
            let of_file = |report: &&ToolReport| report.file == file.file;
            let begun = |report: &&ToolReport| of_file(report) && report.line <= one.line;
            let owner = reports.iter().rposition(begun);
            if let Some(owner) = owner.or_else(|| reports.iter().position(of_file)) {
                unread[owner].push(one.clone());
            }
        }
    }
    let record = |(report, unread): (&ToolReport, Vec<Unread>)| {
        ImportedRecord::from(ImportedFile {
            abx_version: abx_version.to_owned(),
            imported_unix_ms: now_unix_ms,
            report: report.clone(),
            unread,
        })
    };
    reports.into_iter().zip(unread).map(record).collect()
}

/// What reports show that have their names, each with what of it cannot be read.
pub(crate) fn audit_of<'a>(
    reports: impl Iterator<Item = (&'a ToolReport, &'a [Unread])> + Clone,
) -> Audit {
    let mut files: Vec<AuditedFile> = Vec::new();
    for (report, unread) in reports.clone() {
        let found = files.iter().position(|one| one.file == report.file);
        let place = found.unwrap_or(files.len());
        if found.is_none() {
            files.push(AuditedFile {
                file: report.file.clone(),
                lines: 0,
                reports: 0,
                is_text: true,
                unread: Vec::new(),
            });
        }
        let file = &mut files[place];
        file.lines = file.lines.max(report.last_line);
        file.reports += 1;
        file.unread.extend(unread.iter().cloned());
    }
    Audit::of(files, reports.map(|(report, _)| report.clone()).collect())
}
