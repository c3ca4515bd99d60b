//! The times of `Server-Timing` headers in reports.

use abx_report::{ReportExtent, Style, study_markdown, study_text};
use abx_verdict::{MeanInterval, ServerTime, ServerTimeDifference};

use crate::support::study;
use crate::support::study_html;

#[test]
fn every_report_has_the_server_timings_of_subjects() {
    // Method: a time with an interval, a time of a single block whose name looks like markup, and a
    // difference; and a study without these times.
    let mut record = study();
    let without = study_text(&record, ReportExtent::Full, &Style::plain());
    assert!(!without.contains("Server-Timing"), "{without}");
    let subject = record.conclusions.summaries[0].subject.clone();
    let baseline = record.conclusions.summaries[1].subject.clone();
    let load = record.conclusions.summaries[0].load.clone();
    let us = |ends: Option<[f64; 2]>| MeanInterval {
        mean: 312.4,
        low: ends.map(|[low, _]| low),
        high: ends.map(|[_, high]| high),
    };
    let time = |name: &str, us: MeanInterval| ServerTime {
        load: load.clone(),
        subject: subject.clone(),
        name: name.to_owned(),
        count: 1_200,
        us,
    };
    record.conclusions.server_times = vec![
        time("connect", us(Some([301.0, 324.0]))),
        time("<b>", us(None)),
    ];
    record.conclusions.server_time_differences = vec![ServerTimeDifference {
        load: load.clone(),
        subject: subject.clone(),
        baseline: baseline.clone(),
        name: "render".to_owned(),
        us: MeanInterval {
            mean: -7.5,
            low: Some(-9.0),
            high: Some(-6.0),
        },
    }];
    let plain = |text: String| text.replace('\u{a0}', " ");
    let text = plain(study_text(&record, ReportExtent::Full, &Style::plain()));
    let line = |start: &str| {
        let line = text.lines().find(|line| line.starts_with(start));
        let line = line.unwrap_or_else(|| panic!("{start}: {text}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        line("connect of"),
        format!("connect of {subject} 312 301 to 324 1,200")
    );
    assert_eq!(line("<b> of"), format!("<b> of {subject} 312 - 1,200"));
    assert_eq!(
        line("render of"),
        format!("render of {subject} minus {baseline} -7.50 -9.00 to -6.00 -")
    );
    assert!(text.contains("Server-Timing"), "{text}");
    for page in [study_html(&record, &[]), study_markdown(&record, &[])] {
        let page = plain(page);
        assert!(page.contains("301 to 324"), "{page}");
        assert!(!page.contains("<b> of"), "{page}");
    }
}
