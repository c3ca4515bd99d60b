//! Services in reports: where they ran, and the resources that they used.

use crate::support::study_html;
use abx_fixtures::{MS, ROUNDS, all_slices, each_slice, pair, serve, sides};
use abx_report::{ReportExtent, Style, study_markdown, study_text};
use abx_verdict::StudyRecord;

#[test]
fn every_report_has_the_costs_of_services() {
    // Method: a service that used 30 of each 100 ms, with 9,000 responses of `old`; and a study
    // without services.
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
    for page in [study_html(&record, &[]), study_markdown(&record, &[])] {
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

#[test]
fn the_limit_is_named_if_throughput_is_not_compared() {
    // Method: a thread of the service, or the generator, is busy for 95 of each 100 ms; both
    // subjects are busy for 30 ms.
    let text = |by_service: bool| {
        let mut record = serve(pair(), "db");
        record.settings.subject_cpus = vec![0, 2];
        let busy = |is_busy| if is_busy { 95 * MS } else { 20 * MS };
        for subject in ["old", "new"] {
            each_slice(&mut record, subject, |slice| {
                slice.server_cpu_ns = Some(30 * MS);
                slice.services_cpu_ns = vec![Some(busy(by_service))];
                slice.services_thread_ns = vec![Some(busy(by_service))];
                slice.busiest_worker_ns = busy(!by_service);
            });
            sides(&mut record, subject)
                .for_each(|side| side.busiest_thread_ns = Some(30 * MS * ROUNDS as u64));
        }
        let record = StudyRecord::judged(record);
        let text = study_text(&record, ReportExtent::Full, &Style::plain());
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ")
    };
    for (by_service, limit, other) in [
        (true, "a service", "the generator"),
        (false, "the generator", "a service"),
    ] {
        let text = text(by_service);
        let names = |limit: &str| text.contains(&format!("compared if {limit} was the limit"));
        assert!(names(limit) && !names(other), "{text}");
    }
}
