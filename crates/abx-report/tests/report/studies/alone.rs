//! A subject without a comparison: its capacity, its knee, its curve.

use abx_report::{ReportExtent, Style, study_markdown, study_text};
use abx_verdict::{Axis, Capacity, Knee, Metric, StudyRecord, Sweep};

use crate::support::study_html;
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
    // Method: three loads of one server. The terminal, the page and Markdown have the same words,
    // and none mentions a comparison.
    let mut record = alone();
    let bar = format!("c100 {} 9,000", "█".repeat(40));
    let terminal = text(&record);
    for part in [
        "At 10 or more connections, nginx reaches 95 %",
        &bar,
        "c10 8,800",
    ] {
        assert!(terminal.contains(part), "{part}: {terminal}");
    }
    let (html, markdown) = (study_html(&record, &[]), study_markdown(&record, &[]));
    for report in [&terminal, &html, &markdown] {
        assert!(report.contains("At 10 or more connections"), "{report}");
        assert!(!report.contains("Nothing was compared"), "{report}");
    }
    for word in ["crossover", "baseline", "Which is faster"] {
        for report in [&terminal, &markdown] {
            assert!(!report.contains(word), "{word}: {report}");
        }
    }
    assert!(html.contains("How much can nginx serve?"));
    record.conclusions.sweeps[0].knees[0].connections = None;
    assert!(text(&record).contains("with the most connections tried"));
}

/// The same server under three rates. It does not keep up with the last one.
fn along_rates() -> StudyRecord {
    let mut record = alone();
    let rates = [("r100", 100.0), ("r200", 200.0), ("r400", 400.0)];
    record.measured.loads = rates
        .map(|(name, rate)| {
            let mut load = load(name, 10);
            load.settings.arrivals.rate_per_s = Some(rate);
            load
        })
        .into();
    let times = [(58.0, 134.0), (25.0, 7_047.0), (26.0, 30_495.0)];
    record.conclusions.summaries = rates
        .iter()
        .zip(times)
        .map(|((name, rate), (p50, p99))| {
            let mut summary = summary("nginx", name, *rate);
            summary.response_time_us.p50 = Some(p50 as u64);
            summary.response_time_us.p99 = Some(p99 as u64);
            summary
        })
        .collect();
    let sweep = &mut record.conclusions.sweeps[0];
    sweep.axis = Axis::Rate;
    sweep.metric = Metric::ResponseP99;
    sweep.loads = rates.map(|(name, _)| name.to_owned()).into();
    sweep.at = rates.map(|(_, rate)| rate).into();
    sweep.knees.clear();
    record
}

#[test]
fn bars_along_rates_show_response_times() {
    // Method: three rates of one server, whose p99 grows 228-fold. Each time has the unit of its
    // size, and every output has a sentence about the ends of the curve.
    let record = along_rates();
    let terminal = text(&record);
    for part in [
        format!("400/s {} 30.50\u{a0}ms", "█".repeat(40)),
        format!("200/s {} 7.05\u{a0}ms", "█".repeat(9)),
        "100/s 134\u{a0}µs".to_owned(),
    ] {
        let part = part.replace('\u{a0}', " ");
        assert!(terminal.contains(&part), "{part}: {terminal}");
    }
    assert!(!terminal.contains("requests/s, from zero"), "{terminal}");
    let sentence = "is 134 µs at 100 requests/s and 30.50 ms at 400 requests/s.";
    for page in [
        terminal,
        study_markdown(&record, &[]),
        study_html(&record, &[]),
    ] {
        let page = page.replace('\u{a0}', " ");
        assert!(page.contains(sentence), "{page}");
    }
}

#[test]
fn the_page_of_one_server_begins_with_its_curve_and_has_a_row_per_load() {
    // Method: the order of the page's parts, one table for all loads, and no empty column.
    let mut record = along_rates();
    for summary in &mut record.conclusions.summaries {
        summary.ready_s = None;
    }
    let page = study_html(&record, &[]);
    let place = |id: &str| {
        page.find(&format!("id=\"{id}\""))
            .unwrap_or_else(|| panic!("{id}"))
    };
    assert!(place("verdicts") < place("sweep") && place("sweep") < place("figures"));
    assert!(page.contains(">Result</h2>"), "{page}");
    let figures = &page[place("figures")..];
    let figures = &figures[..figures.find("</section>").unwrap()];
    assert_eq!(figures.matches("<table").count(), 1, "{figures}");
    for load in ["r100", "r200", "r400"] {
        assert!(figures.contains(load), "{load}: {figures}");
    }
    assert!(!figures.contains(">ready<"), "{figures}");
    assert!(!page.contains("<small>baseline</small>"));
}

#[test]
fn a_capacity_has_a_sentence_for_each_kind_of_bound() {
    // Method: a capacity with both ends, with one end, and outside the tried rates.
    let mut record = alone();
    let objective = "p99<50ms,errors<0.1%";
    for (rate_per_s, low, high, message) in [
        (
            Some(5_000.0),
            Some(4_800.0),
            Some(5_200.0),
            "up to 5,000 requests/s (4,800 to 5,200,",
        ),
        (None, Some(4_800.0), None, "up to at least 4,800 requests/s"),
        (None, None, Some(5_200.0), "up to 5,200 requests/s at most"),
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
            text.contains(message) && text.contains(objective),
            "{message}: {text}"
        );
    }
}
