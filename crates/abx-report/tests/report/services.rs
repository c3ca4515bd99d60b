//! What reports say of services: where they ran, and what they used.

use abx_evidence::StudyRecord;
use abx_fixtures::{MS, all_slices, pair, serve};
use abx_report::{ReportExtent, Style, study_html, study_markdown, study_text};

#[test]
fn every_report_has_what_services_used_and_where() {
    // Method: a service that used 30 of each 100 ms, beside 9,000 answers of `old`; and the
    // same study without one.
    let mut record = serve(pair(), "db");
    all_slices(&mut record).for_each(|slice| slice.services_cpu_ns = vec![Some(30 * MS)]);
    let record = StudyRecord::judged(record);
    let plain = |text: String| text.replace('\u{a0}', " ");
    let text = plain(study_text(&record, ReportExtent::Full, &Style::plain()));
    for part in [
        "db for old",
        "3.33",
        "30 %",
        "50",
        "servers and their services",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for page in [study_html(&record), study_markdown(&record, &[])] {
        let page = plain(page);
        assert!(
            page.contains("db for old") && page.contains("3.33"),
            "{page}"
        );
    }
    let without = study_text(
        &StudyRecord::judged(pair()),
        ReportExtent::Full,
        &Style::plain(),
    );
    assert!(!without.contains("service"), "{without}");
}
