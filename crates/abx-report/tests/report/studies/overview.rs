//! The first screen of studies that compare much.

use abx_report::{ReportExtent, Style, study_html, study_text};
use abx_verdict::{Metric, Place, Ranking, StudyRecord, Verdict};

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
    // for the first, and not wider anywhere, also where a terminal is narrow. The name of each
    // row is whole, on one line or on several.
    let events = record_of("event-servers");
    let text = overview(&events, &WIDE);
    assert!(text.lines().count() <= 60, "{}", text.lines().count());
    for record in [events, record_of("static-files")] {
        for width in [60, 80, 100] {
            let text = overview(&record, &Style { width, ..WIDE });
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{text}");
            let names = row_names(&text);
            for [subject, baseline] in record.measured.pairs() {
                let whole = format!("{subject}/{baseline}");
                let has = names.iter().any(|name| name.starts_with(&whole));
                assert!(has, "{whole}: {names:?}: {text}");
            }
        }
    }
}

/// What begins the rows of a grid, without blanks; behind the last one stands the legend.
fn row_names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in text.lines() {
        let begins = line.split("  ").next().unwrap_or_default();
        let goes_on = line
            .strip_prefix("  ")
            .filter(|rest| !rest.starts_with(' '));
        match (goes_on, names.last_mut()) {
            (Some(rest), Some(last)) => last.push_str(&rest.replace(' ', "")),
            _ if begins.is_empty() => {}
            _ => names.push(begins.replace(' ', "")),
        }
    }
    names
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
        assert_eq!(text.contains("▲ better"), is_large, "{text}");
        assert!(text.len() < study_text(&record, ReportExtent::Full, &WIDE).len());
    }
}

#[test]
fn leaders_are_told_by_what_they_lead() {
    // Method: one who leads two loads by what it serves and one by memory, and two loads of
    // which all share the first place, by different metrics.
    let mut record = record_of("websocket");
    let ranking = |load: &str, metric, first: &[&str]| Ranking {
        metric,
        load: load.to_owned(),
        places: ["abx", "ws"]
            .map(|subject| Place {
                subject: subject.to_owned(),
                best: 1,
                worst: 2,
                tied_for_first: first.contains(&subject),
            })
            .into(),
        pairs: Vec::new(),
    };
    record.conclusions.rankings = vec![
        ranking("echo-b5", Metric::Throughput, &["abx"]),
        ranking("echo-b5000", Metric::ServerCpu, &["abx", "ws"]),
        ranking("held", Metric::MemoryPerConnection, &["abx"]),
        ranking("echo-b20000", Metric::Throughput, &["abx"]),
        ranking("room", Metric::Throughput, &["abx", "ws"]),
    ];
    let text = overview(&record, &WIDE);
    let message = "abx leads under echo-b5, echo-b20000; by memory per connection under held.\n\
                No leader is certain by CPU per response under echo-b5000; under room.\n";
    assert!(text.contains(message), "{text}");
}

#[test]
fn a_grid_marks_bounds_and_says_what_is_empty() {
    // Method: no bound and nothing missing; then a bound on each side, one that is open, and
    // one comparison that is not there.
    let mut record = record_of("fastcgi");
    let comparisons = &mut record.conclusions.comparisons;
    comparisons
        .iter_mut()
        .for_each(|comparison| comparison.at_least = false);
    let notice = |record: &StudyRecord| [overview(record, &WIDE), study_html(record, &[])];
    for report in notice(&record) {
        assert!(!report.contains(" a bound"), "{report}");
        assert!(!report.contains("or beyond"), "{report}");
        assert!(!report.contains("empty: not asked for"), "{report}");
    }
    let comparisons = &mut record.conclusions.comparisons;
    let pairs = [
        ([1.5, 1.4, 1.6], Verdict::Faster),
        ([0.5, 0.4, 0.6], Verdict::Slower),
        ([1.1, 0.9, 1.2], Verdict::Inconclusive),
    ];
    for (comparison, ([ratio, low, high], verdict)) in comparisons.iter_mut().zip(pairs) {
        comparison.at_least = true;
        comparison.fragile = false;
        (comparison.ratio, comparison.low, comparison.high) = (Some(ratio), Some(low), Some(high));
        comparison.verdict = verdict;
    }
    comparisons.remove(3);
    let [text, page] = notice(&record);
    for part in [
        "  ≥1.40 ▲",
        "  ≤0.60 ▼",
        " 1.10 0.90–1.20 ?b",
        "≥ ≤ a bound, b: or beyond the interval",
        "empty: not asked for",
    ] {
        assert!(text.replace("\n ", "").contains(part), "{part}: {text}");
    }
    for part in [
        "≥ ≤ a bound, b: or beyond the interval",
        "empty: not asked for",
        "1.10b<",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let full = study_text(&record, ReportExtent::Full, &WIDE);
    assert!(full.contains("(0.90 to 1.20, or beyond)"), "{full}");
}

#[test]
fn families_of_faults_are_named() {
    // Method: the study of broken workers, whose losses are compared, with and without them.
    let mut record = record_of("worker-faults");
    let text = overview(&record, &WIDE).replace("\n ", "");
    let message = "Each load is a family of its own, and so are the recoveries and the losses of each \
                fault: over all";
    assert!(text.contains(message), "{text}");
    record.conclusions.lost_to_faults.clear();
    let text = overview(&record, &WIDE).replace("\n ", "");
    let message = "Each load and each fault is a family of its own: over all";
    assert!(text.contains(message), "{text}");
}
