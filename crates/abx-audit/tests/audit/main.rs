//! Tests of the public interface: reports of every tool, complete, damaged, and in many layouts.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

mod copied;
mod damaged;
mod findings;
mod fuzz;
mod hard;
mod layouts;
mod properties;
mod shared;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};

use abx_audit::{Audit, AuditFinding, AuditFindingId, FigureKey, ReportText, ToolReport, audit};

/// The folder of reports.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports")
}

/// The text of a report in the folder.
fn text(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap()
}

/// The names and texts of all reports in the folder.
fn all() -> Vec<(String, String)> {
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let texts = names.iter().map(|name| text(name)).collect::<Vec<_>>();
    names.into_iter().zip(texts).collect()
}

/// The audit of texts with file names.
fn of_texts(texts: &[(&str, &str)]) -> Audit {
    let texts: Vec<ReportText> = texts
        .iter()
        .map(|(file, text)| ReportText {
            file: (*file).to_owned(),
            text: Some((*text).to_owned()),
        })
        .collect();
    audit(&texts)
}

/// The audit of one text.
fn of(text: &str) -> Audit {
    of_texts(&[("text.txt", text)])
}

/// The audit of files of the folder.
fn of_files(names: &[&str]) -> Audit {
    let texts: Vec<String> = names.iter().map(|name| text(name)).collect();
    let pairs: Vec<(&str, &str)> = names
        .iter()
        .zip(&texts)
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    of_texts(&pairs)
}

/// The findings of this kind.
fn found(audit: &Audit, id: AuditFindingId) -> Vec<&AuditFinding> {
    audit
        .findings
        .iter()
        .filter(|finding| finding.id == id)
        .collect()
}

/// A figure as printed; empty if it is missing.
fn printed(report: &ToolReport, key: FigureKey) -> &str {
    report
        .figures
        .get(&key)
        .map_or("", |figure| &figure.printed)
}

/// The value of a figure; NaN if it is missing.
fn value(report: &ToolReport, key: FigureKey) -> f64 {
    report
        .figures
        .get(&key)
        .map_or(f64::NAN, |figure| figure.value)
}

/// The printed figures of each report, without line numbers, which depend on the layout.
fn figures(audit: &Audit) -> Vec<Vec<(FigureKey, String)>> {
    let of_report = |report: &ToolReport| {
        let figures = report.figures.iter();
        figures
            .map(|(key, figure)| (*key, figure.printed.clone()))
            .collect()
    };
    audit.reports.iter().map(of_report).collect()
}
