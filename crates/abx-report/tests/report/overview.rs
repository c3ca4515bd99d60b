//! The first screen of studies that compare much.

use std::collections::BTreeSet;

use abx_evidence::StudyRecord;
use abx_report::{ReportExtent, Style, study_text};

use crate::readmes::record_of;

/// A wide terminal.
const WIDE: Style = Style {
    width: 100,
    ..Style::plain()
};

fn overview(record: &StudyRecord, style: &Style) -> String {
    study_text(record, ReportExtent::Brief, style)
}

#[test]
fn the_largest_studies_fit_on_a_screen() {
    // Method: 9 subjects under 11 loads, and 19 under 7: no more than 60 lines of 100 columns
    // for the first, and not wider anywhere, also where a terminal is narrow.
    let events = record_of("event-servers");
    let text = overview(&events, &WIDE);
    assert!(text.lines().count() <= 60, "{}", text.lines().count());
    for record in [events, record_of("static-files")] {
        for width in [60, 80, 100] {
            let text = overview(&record, &Style { width, ..WIDE });
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{text}");
            let pairs = record.measured.pairs().len();
            let lines = text
                .lines()
                .filter(|line| line.contains(['+', '-', '=', '?']));
            let rows = lines.filter(|line| line.contains('–') || line.contains("void"));
            let names = rows.filter_map(|line| line.split("  ").next());
            let names: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
            assert!(names.len() >= pairs, "{} names: {text}", names.len());
        }
    }
}

#[test]
fn every_primary_verdict_stands_in_the_overview() {
    // Method: each comparison of a real record has its ratio, interval and sign in the row of
    // its pair.
    let record = record_of("fastcgi");
    let text = overview(&record, &WIDE);
    let full = study_text(&record, ReportExtent::Full, &WIDE);
    assert!(full.len() > 2 * text.len() && text.contains("--full"));
    insta::assert_snapshot!(text);
}

#[test]
fn what_compares_little_is_told_without_a_grid() {
    // Method: the study of two servers under one way of sending, and a large one.
    for (study, is_large) in [("nginx-sendfile", false), ("event-servers", true)] {
        let record = record_of(study);
        assert_eq!(record.conclusions.primary().count() > 4, is_large);
        let text = overview(&record, &WIDE);
        assert_eq!(text.contains("+ better"), is_large, "{text}");
        assert!(text.len() < study_text(&record, ReportExtent::Full, &WIDE).len());
    }
}
