//! The results of checks of the catalog's subjects.

use abx_evidence::OutputKind;
use abx_report::{Style, check_text};
use abx_verdict::catalog::{CheckRecord, CheckedSubject, SubjectStatus};
use insta::assert_snapshot;

fn subject(name: &str, status: SubjectStatus, why: Option<&str>) -> CheckedSubject {
    let is_ready = status == SubjectStatus::Ready;
    CheckedSubject {
        study: "static-files".to_owned(),
        subject: name.to_owned(),
        status,
        ready_s: is_ready.then_some(0.123),
        rss_bytes: is_ready.then_some(2_600_000),
        why: why.map(str::to_owned),
    }
}

fn record() -> CheckRecord {
    CheckRecord {
        head: OutputKind::Check.into(),
        abx_version: "0.1.0".to_owned(),
        interrupted: false,
        subjects: vec![
            subject("lighttpd", SubjectStatus::Ready, None),
            subject(
                "nginx",
                SubjectStatus::Missing,
                Some("needs the package nginx-light: apt-get install nginx-light"),
            ),
            subject(
                "apache",
                SubjectStatus::Broken,
                Some(
                    "apache ended before it was ready (exit 1); the end of its output:\n\u{1b}[31mno",
                ),
            ),
            subject("lighttpd-1.5", SubjectStatus::Skipped, Some("bring it")),
        ],
    }
}

#[test]
fn a_check_of_subjects() {
    // Method: a subject of each status. The output of a program must not colour the terminal.
    let text = check_text(&record(), &Style::plain());
    assert!(!text.contains('\u{1b}'), "{text}");
    assert_snapshot!(text);
}

#[test]
fn a_stopped_check() {
    // Method: a check of the catalog that was interrupted before its first subject.
    let mut record = record();
    record.subjects.clear();
    record.interrupted = true;
    assert_snapshot!(check_text(&record, &Style::plain()));
}
