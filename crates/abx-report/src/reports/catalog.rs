//! What came of looking at the subjects of the catalog, as a table.

use abx_verdict::catalog::{CheckRecord, CheckedSubject, SubjectStatus};

use crate::document::{Document, Table, sections_text};
use crate::words::style::Style;
use crate::words::units::{bytes, or_unknown};
use crate::words::wrap::{clean, clean_name};

/// A table of all subjects, and below it why some are not ready.
#[must_use]
pub fn check_text(record: &CheckRecord, style: &Style) -> String {
    let table = Table::new(
        ["subject", "status", "ready s", "memory"],
        record.subjects.iter().map(row),
    );
    let reasons = record.subjects.iter().filter_map(|checked_subject| {
        let why = clean(checked_subject.why.as_deref()?);
        Some(format!("{}: {why}", name(checked_subject)))
    });
    let paragraphs = reasons.chain([totals(record)]);
    let paragraphs = paragraphs.map(|text| Document::from_iter([text]));
    sections_text([Document::from(table)].into_iter().chain(paragraphs), style)
}

fn row(checked_subject: &CheckedSubject) -> [String; 4] {
    [
        name(checked_subject),
        checked_subject.status.word().to_owned(),
        or_unknown(checked_subject.ready_s, |seconds| format!("{seconds:.2}")),
        or_unknown(checked_subject.rss_bytes, |rss| bytes(rss as f64)),
    ]
}

fn name(checked_subject: &CheckedSubject) -> String {
    format!(
        "{}/{}",
        clean_name(&checked_subject.study),
        clean_name(&checked_subject.subject)
    )
}

fn totals(record: &CheckRecord) -> String {
    let subject_statuses = [
        SubjectStatus::Ready,
        SubjectStatus::Missing,
        SubjectStatus::Broken,
        SubjectStatus::Skipped,
    ];
    let count = |status| {
        let subjects = record.subjects.iter();
        subjects
            .filter(|checked_subject| checked_subject.status == status)
            .count()
    };
    let words = subject_statuses.map(|status| format!("{} {}", count(status), status.word()));
    let end = if record.interrupted {
        "; interrupted"
    } else {
        ""
    };
    format!("{}{end}.", words.join(", "))
}
