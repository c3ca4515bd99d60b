//! The plots over time and the histogram on the page of a run.

use crate::support::study_html;
use abx_evidence::Course;
use abx_fixtures::{URL, histogram, times};
use abx_verdict::StudyRecord;
use insta::assert_snapshot;

use crate::pages::html::golden;
use crate::pages::page::Page;
use crate::support::run;

/// A run of 450 ms: a stall in its third interval, failures in its fourth, and two kinds of
/// requests.
fn with_course() -> StudyRecord {
    let mut record = run();
    let us = |times: [u64; 5]| times.map(|us| (us > 0).then_some(us)).to_vec();
    let course = Course {
        interval_ns: 100_000_000,
        until_ns: 450_000_000,
        ok: vec![800, 1_000, 0, 900, 500],
        failed: vec![0, 0, 0, 40, 0],
        p50_us: us([90, 80, 0, 85, 82]),
        p90_us: us([120, 110, 0, 130, 112]),
        p99_us: us([900, 700, 0, 12_000, 720]),
        max_us: us([1_000, 800, 0, 90_000, 800]),
    };
    let load = &mut record.measured.blocks[0].loads[0];
    load.courses.insert(URL.to_owned(), course);
    let counts = [
        (2_000, 80),
        (1_000, 110),
        (150, 900),
        (10, 12_000),
        (1, 90_000),
    ];
    times(&mut record.measured, URL).response = histogram(&counts);
    record
}

#[test]
fn a_page_of_a_run_over_time() {
    // Method: the part of the page from the plots over time to the quantiles.
    let html = golden(&study_html(&with_course(), &[]));
    let from = html.find("<div class=\"body\" id=\"course\"").expect(&html);
    let to = html.find("Quantiles of response").expect(&html);
    assert_snapshot!(&html[from..to]);
}

#[test]
fn a_stall_interrupts_the_curves_and_failures_have_their_own() {
    // Method: the label of each mark. An interval without a request has a throughput of zero and
    // no time. A run without failures has no curve of them, and a run without a course no plots.
    let record = with_course();
    let html = study_html(&record, &[]);
    let page = Page::read(&html);
    let labels: Vec<String> = page
        .values("aria-label")
        .map(|label| label.replace('\u{a0}', " "))
        .collect();
    let counts = [
        "0.20 to 0.30 s: 0.00 requests/s",
        "0.30 to 0.40 s: 400 requests/s",
        "0.40 to 0.45 s: 10,000 requests/s",
        "0.30 to 0.40 s: 12 ms",
    ]
    .map(|label| labels.iter().filter(|text| *text == label).count());
    assert_eq!(counts, [2, 1, 1, 1], "{labels:?}");
    let of_times = |label: &&String| label.contains(" s: ") && !label.contains("requests");
    assert_eq!(labels.iter().filter(of_times).count(), 3 * 4, "{labels:?}");
    let has_failures = |html: &str| html.contains("400 requests/s");
    assert!(has_failures(&html));
    let mut calm = record.clone();
    let course = calm.measured.blocks[0].loads[0].courses.get_mut(URL);
    course.unwrap().failed = vec![0; 5];
    assert!(!has_failures(&study_html(&calm, &[])));
    assert!(!study_html(&run(), &[]).contains("id=\"course\""));
}

#[test]
fn the_columns_of_the_histogram_hold_every_request() {
    // Method: the labels of the columns, added up; the last one stands for a single request.
    let html = study_html(&with_course(), &[]);
    let page = Page::read(&html);
    let counted = page.values("aria-label").filter_map(|label| {
        let (_, rest) = label.split_once(": ")?;
        let (count, _) = rest
            .split_once(" request")
            .filter(|(_, end)| end.starts_with(" (") || end.starts_with("s ("))?;
        count.replace(',', "").parse::<u64>().ok()
    });
    let counts: Vec<u64> = counted.collect();
    let sum: u64 = counts.iter().sum();
    // Each label is rounded.
    assert!(
        sum.abs_diff(3_161) <= counts.len() as u64,
        "{sum} {counts:?}"
    );
    assert_eq!(counts.last(), Some(&1), "{counts:?}");
}
