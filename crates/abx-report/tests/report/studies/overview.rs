//! The first screen of large studies.

use abx_report::{ReportExtent, Style, study_markdown, study_text};
use abx_verdict::{Metric, Place, Ranking, StudyRecord, Verdict};

use crate::readmes::record_of;
use crate::support::study_html;

/// A wide terminal.
const WIDE: Style = Style {
    width: 100,
    ..Style::plain()
};

fn overview(record: &StudyRecord, style: &Style) -> String {
    study_text(record, ReportExtent::Brief, style)
}

#[test]
fn the_rows_of_the_largest_studies_have_whole_names() {
    // Method: 12 subjects under 5 loads, and 13 under 6, in three widths. No line is wider, and
    // each row has its whole name, on one line or on several.
    for study in ["http-servers", "static-files"] {
        let record = record_of(study);
        for width in [60, 80, 100] {
            let text = overview(&record, &Style { width, ..WIDE });
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{text}");
            let names = row_names(&text);
            for [subject, baseline] in record.measured.pairs() {
                let pair = format!("{subject}÷{baseline}");
                let is_named = names.iter().any(|name| name.starts_with(&pair));
                assert!(is_named, "{pair}: {names:?}: {text}");
            }
        }
    }
}

/// The names of the rows of a grid, without blanks. The legend may follow the last name.
fn row_names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in text.lines() {
        let name = line.split("  ").next().unwrap_or_default();
        let continuation = line
            .strip_prefix("  ")
            .filter(|rest| !rest.starts_with(' '));
        match (continuation, names.last_mut()) {
            (Some(rest), Some(last)) => last.push_str(&rest.replace(' ', "")),
            _ if name.is_empty() => {}
            _ => names.push(name.replace(' ', "")),
        }
    }
    names
}

#[test]
fn the_overview_has_every_primary_verdict() {
    // Method: a real record, in which each comparison has its ratio, interval and mark in the row
    // of its pair.
    let record = record_of("fastcgi");
    let text = overview(&record, &WIDE);
    let full = study_text(&record, ReportExtent::Full, &WIDE);
    assert!(full.len() > 2 * text.len() && text.contains("--full"));
    insta::assert_snapshot!(text);
}

#[test]
fn a_study_with_few_comparisons_has_no_matrix() {
    // Method: two servers under one load and under two, and a large study.
    let mut one_load = record_of("nginx-sendfile");
    let last = one_load.measured.loads.pop().unwrap().name;
    let conclusions = &mut one_load.conclusions;
    conclusions.comparisons.retain(|other| other.load != last);
    conclusions.summaries.retain(|other| other.load != last);
    let records = [
        (one_load, false),
        (record_of("nginx-sendfile"), true),
        (record_of("http-servers"), true),
    ];
    for (record, has_matrix) in records {
        let text = overview(&record, &WIDE);
        assert_eq!(text.contains("▲ better"), has_matrix, "{text}");
        assert!(text.len() < study_text(&record, ReportExtent::Full, &WIDE).len());
    }
}

#[test]
fn leaders_are_named_with_their_loads() {
    // Method: a subject that is first under two loads by throughput and under one by memory, and
    // two loads under which all subjects share the first place, by different metrics.
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
    let message = "First place: abx under echo-b5, held (memory per connection), echo-b20000.\n";
    assert!(text.contains(message), "{text}");
}

#[test]
fn a_subject_without_comparisons_does_not_share_the_first_place() {
    // Method: rankings of three subjects by their averages. The one that no comparison excludes
    // comes after a subject that is certainly not first, then next to the first; at last, the top
    // subject is certainly not first.
    let mut record = record_of("websocket");
    let ranking = |load: &str, places: [(&str, bool); 3]| Ranking {
        metric: Metric::Throughput,
        load: load.to_owned(),
        places: places
            .map(|(subject, tied_for_first)| Place {
                subject: subject.to_owned(),
                best: 1,
                worst: 3,
                tied_for_first,
            })
            .into(),
        pairs: Vec::new(),
    };
    record.conclusions.rankings = vec![
        ranking("b5", [("abx", true), ("ws", false), ("old", true)]),
        ranking("b6", [("abx", true), ("old", true), ("ws", false)]),
        ranking("b7", [("ws", false), ("abx", true), ("old", true)]),
    ];
    let text = overview(&record, &WIDE);
    let message = "First place: abx under b5 (old not excluded); abx, old (shared) under b6, b7.\n";
    assert!(text.contains(message), "{text}");
}

#[test]
fn a_matrix_marks_bounds() {
    // Method: no bound; then a bound on each side, an undecided one, and a missing comparison.
    let mut record = record_of("fastcgi");
    let comparisons = &mut record.conclusions.comparisons;
    comparisons
        .iter_mut()
        .for_each(|comparison| comparison.at_least = false);
    let reports = |record: &StudyRecord| [overview(record, &WIDE), study_html(record, &[])];
    for report in reports(&record) {
        assert!(!report.contains("at least or at most"), "{report}");
        assert!(!report.contains("or beyond"), "{report}");
    }
    let comparisons = &mut record.conclusions.comparisons;
    let results = [
        ([1.5, 1.4, 1.6], Verdict::Faster),
        ([0.5, 0.4, 0.6], Verdict::Slower),
        ([1.1, 0.9, 1.2], Verdict::Inconclusive),
    ];
    for (comparison, ([ratio, low, high], verdict)) in comparisons.iter_mut().zip(results) {
        comparison.at_least = true;
        comparison.fragile = false;
        (comparison.ratio, comparison.low, comparison.high) = (Some(ratio), Some(low), Some(high));
        comparison.verdict = verdict;
    }
    comparisons.remove(3);
    let [text, page] = reports(&record);
    for part in [
        "  ≥1.40 ▲",
        "  ≤0.60 ▼",
        "  ?b",
        "≥ at least, ≤ at most, b perhaps beyond the interval",
    ] {
        assert!(text.replace("\n ", "").contains(part), "{part}: {text}");
    }
    for part in [
        "≥ at least, ≤ at most, b perhaps beyond the interval",
        "1.10b<",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let full = study_text(&record, ReportExtent::Full, &WIDE);
    assert!(full.contains("0.90–1.20"), "{full}");
}

#[test]
fn a_question_heads_its_verdicts() {
    // Method: two questions, one of them without a decided comparison, in text, page and Markdown.
    let mut record = record_of("fastcgi");
    let contrasts = &mut record.measured.settings.contrasts;
    let [first, second] = ["What does TCP cost?", "Is <it> free?"];
    contrasts[0].question = Some(second.to_owned());
    contrasts[1].question = Some(first.to_owned());
    contrasts[2].question = Some(second.to_owned());
    let undecided = contrasts[1].clone();
    for comparison in &mut record.conclusions.comparisons {
        if [&comparison.subject, &comparison.baseline] == undecided.pair() {
            comparison.verdict = Verdict::Inconclusive;
        }
    }
    let text = overview(&record, &WIDE);
    let after = |question: &str| {
        text.split(&format!("{question}\n"))
            .nth(1)
            .unwrap()
            .to_owned()
    };
    let [subject, baseline] = undecided.pair();
    assert!(
        after(first).starts_with(&format!("Not decided: {subject} ÷ {baseline}.")),
        "{text}"
    );
    assert!(
        after(second).contains(" CPU per ") || after(second).contains(" as many "),
        "{text}"
    );
    assert!(study_html(&record, &[]).contains("<h3>Is &lt;it&gt; free?</h3>"));
    assert!(study_markdown(&record, &[]).contains("**Is &lt;it&gt; free?**"));
}

#[test]
fn families_of_faults_are_named() {
    // Method: the study of broken workers, with and without comparisons of their losses.
    let mut record = record_of("worker-faults");
    let full =
        |record: &StudyRecord| study_text(record, ReportExtent::Full, &WIDE).replace("\n ", "");
    assert!(full(&record).contains("loads, recoveries and losses, at least one"));
    record.conclusions.lost_to_faults.clear();
    assert!(full(&record).contains("loads and faults, at least one"));
}
