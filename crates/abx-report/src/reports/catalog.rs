//! A table of the checks of the catalog's subjects.

use abx_verdict::catalog::{CheckRecord, CheckedSubject, SubjectStatus};

use crate::document::{Document, Table, sections_text};
use crate::words::style::Style;
use crate::words::units::{bytes, or_unknown};
use crate::words::wrap::{clean, clean_name};

/// A table of all subjects, with reasons below it for those that are not ready.
#[must_use]
pub fn check_text(record: &CheckRecord, style: &Style) -> String {
    let table = Table::new(
        ["subject", "status", "ready s", "memory"],
        record.subjects.iter().map(row),
    );
    let reasons = record.subjects.iter().filter_map(|subject| {
        let why = clean(subject.why.as_deref()?);
        Some(format!("{}: {why}", name(subject)))
    });
    let paragraphs = reasons.chain([totals(record)]);
    let paragraphs = paragraphs.map(|text| Document::from_iter([text]));
    sections_text([Document::from(table)].into_iter().chain(paragraphs), style)
}

fn row(subject: &CheckedSubject) -> [String; 4] {
    [
        name(subject),
        subject.status.word().to_owned(),
        or_unknown(subject.ready_s, |seconds| format!("{seconds:.2}")),
        or_unknown(subject.rss_bytes, |rss| bytes(rss as f64)),
    ]
}

fn name(subject: &CheckedSubject) -> String {
    let [study, subject] = [&subject.study, &subject.subject].map(|text| clean_name(text));
    format!("{study}/{subject}")
}

fn totals(record: &CheckRecord) -> String {
    let statuses = [
        SubjectStatus::Ready,
        SubjectStatus::Missing,
        SubjectStatus::Broken,
        SubjectStatus::Skipped,
    ];
    let count = |status| {
        let subjects = record.subjects.iter();
        subjects.filter(|subject| subject.status == status).count()
    };
    let words = statuses.map(|status| format!("{} {}", count(status), status.word()));
    let end = if record.interrupted {
        "; interrupted"
    } else {
        ""
    };
    format!("{}{end}.", words.join(", "))
}
