//! Properties of the audit of any text, called by the fuzz target and by property tests.

use abx_audit::{Audit, ReportText, audit};

/// Audits a text, and checks that every line of a figure and of a finding is in it.
///
/// # Panics
/// If a property does not hold.
pub fn any_text(text: &str) {
    let first = of(text);
    let lines = text
        .split(if text.contains('\n') { '\n' } else { '\r' })
        .count();
    for report in &first.reports {
        assert!(report.line >= 1 && report.last_line <= lines, "{report:?}");
        let times = report.quantiles.iter().map(|quantile| &quantile.time);
        for figure in report.figures.values().chain(times) {
            assert!((1..=lines).contains(&figure.line), "{figure:?}");
            assert!(figure.low <= figure.value, "{figure:?}");
            assert!(figure.value <= figure.high, "{figure:?}");
        }
    }
    let names: Vec<&str> = first
        .reports
        .iter()
        .map(|report| report.name.as_str())
        .collect();
    for finding in &first.findings {
        assert!(!finding.reports.is_empty(), "{finding:?}");
        assert!(!finding.rests_on.is_empty(), "{finding:?}");
        for place in &finding.rests_on {
            assert!((1..=lines).contains(&place.line), "{finding:?}");
        }
        for name in &finding.reports {
            assert!(names.contains(&name.as_str()), "{finding:?}");
        }
    }
    let unread = first.files.iter().flat_map(|file| &file.unread);
    for unread in unread {
        assert!((1..=lines).contains(&unread.line), "{unread:?}");
    }
    assert_eq!(first.study.is_some(), !first.reports.is_empty());
    if first.reports.is_empty() {
        return;
    }
    // Files are independent: a second, empty one changes nothing.
    let again = audit(&[source("text", text), source("empty", "")]);
    assert_eq!(again.findings, first.findings);
}

/// The audit of one text.
#[must_use]
pub fn of(text: &str) -> Audit {
    audit(&[source("text", text)])
}

fn source(file: &str, text: &str) -> ReportText {
    ReportText {
        file: file.to_owned(),
        text: Some(text.to_owned()),
    }
}
