//! A subject that is compared with nothing: its capacity, its knee, its curve.

use abx_evidence::{Axis, Capacity, Knee, Metric, StudyRecord, Sweep};
use abx_report::{ReportExtent, Style, study_html, study_markdown, study_text};

use crate::support::{load, study, summary};

/// One server under three loads.
fn alone() -> StudyRecord {
    let mut record = study();
    record.measured.subjects.truncate(1);
    record.conclusions.comparisons.clear();
    let loads = [
        ("c1", 1, 900.0),
        ("c10", 10, 8_800.0),
        ("c100", 100, 9_000.0),
    ];
    record.measured.loads = loads
        .map(|(name, connections, _)| load(name, connections))
        .into();
    record.conclusions.summaries = loads
        .map(|(name, _, throughput)| summary("nginx", name, throughput))
        .into();
    record.conclusions.sweeps = vec![Sweep {
        axis: Axis::Connections,
        metric: Metric::Throughput,
        loads: loads.map(|(name, ..)| name.to_owned()).into(),
        at: vec![1.0, 10.0, 100.0],
        crossovers: Vec::new(),
        scalability: Vec::new(),
        knees: vec![Knee {
            subject: "nginx".to_owned(),
            connections: Some(10.0),
            highest_per_s: 9_000.0,
        }],
    }];
    record
}

fn text(record: &StudyRecord) -> String {
    let text = study_text(record, ReportExtent::Brief, &Style::plain());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_curve_has_a_line_and_a_bar_for_each_load_and_its_knee() {
    // Method: three loads of one server; the words are on the terminal, on the page and in
    // Markdown, where nothing speaks of a comparison.
    let mut record = alone();
    let bar = format!("c100 {} 9,000", "█".repeat(40));
    let said = text(&record);
    for part in [
        "From 10 connections on, nginx gives 95 %",
        &bar,
        "c10 8,800",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let (html, markdown) = (study_html(&record), study_markdown(&record, &[]));
    for page in [&said, &html, &markdown] {
        assert!(page.contains("From 10 connections on"), "{page}");
        assert!(!page.contains("Nothing was compared"), "{page}");
    }
    for word in ["crossover", "baseline", "Which is faster"] {
        assert!(!(said.contains(word) || markdown.contains(word)), "{word}");
    }
    assert!(html.contains("How much can nginx serve?"));
    record.conclusions.sweeps[0].knees[0].connections = None;
    assert!(text(&record).contains("with the most connections that were tried"));
}

#[test]
fn a_capacity_is_told_as_far_as_it_is_known() {
    // Method: with both ends, with one, and outside of what was tried.
    let mut record = alone();
    let objective = "p99<50ms,errors<0.1%";
    for (rate_per_s, low, high, said) in [
        (
            Some(5_000.0),
            Some(4_800.0),
            Some(5_200.0),
            "up to 5,000 requests/s (4,800 to 5,200,",
        ),
        (None, Some(4_800.0), None, "at 4,800 requests/s at least"),
        (None, None, Some(5_200.0), "at 5,200 requests/s at most"),
        (None, None, None, "outside those that were tried"),
    ] {
        record.conclusions.capacities = vec![Capacity {
            subject: "nginx".to_owned(),
            objective: objective.parse().unwrap(),
            load: "c10".to_owned(),
            rate_per_s,
            low,
            high,
            held_per_s: rate_per_s,
            missed_per_s: high,
            confidence: 0.95,
            blocks: 6,
        }];
        let text = text(&record);
        assert!(
            text.contains(said) && text.contains(objective),
            "{said}: {text}"
        );
    }
}
