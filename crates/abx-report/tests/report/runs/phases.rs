//! The phases of a response time in reports.

use abx_evidence::Phase;
use abx_report::{ReportExtent, Style, study_markdown, study_openmetrics, study_otlp, study_text};
use abx_verdict::StudyRecord;
use insta::assert_snapshot;

use crate::pages::page::Page;
use crate::support::study_html;
use crate::support::{figures, load, phases, run, set_blocks, slice, study, summary};

/// A third of lighttpd's time is connecting; nginx has the usual phases.
fn connecting() -> StudyRecord {
    let mut record = study();
    record.measured.loads[0].settings.keep_alive = false;
    record.conclusions.summaries[1].phases = Some(phases([2.25, 810.0, 1_580.0, 38.5]));
    record
}

/// The part of a text from `from` to before `to`.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap_or_else(|| panic!("{from}: {text}"));
    let end = text[start..].find(to).map_or(text.len(), |end| start + end);
    &text[start..end]
}

#[test]
fn a_run_has_a_table_of_phases() {
    // Method: a run whose connections were open before it.
    let text = study_text(&run(), ReportExtent::Full, &Style::plain());
    assert_snapshot!(between(&text, "where time goes", "\n\n"));
}

#[test]
fn a_study_has_phases_if_the_first_byte_is_not_all() {
    // Method: a subject that connects for a third of its time; then subjects that only wait for
    // the first byte, whose report has no phases.
    let text = study_text(&connecting(), ReportExtent::Full, &Style::plain());
    assert_snapshot!(between(&text, "Where the time goes", "\n\n"));
    assert!(
        !study_text(&study(), ReportExtent::Full, &Style::plain()).contains("Where the time goes")
    );
}

#[test]
fn markdown_has_the_table_of_phases() {
    // Method: two loads, one of them with notable phases.
    let mut record = connecting();
    record.measured.loads.push(load("c1000", 1_000));
    for subject in ["nginx", "lighttpd"] {
        record
            .conclusions
            .summaries
            .push(summary(subject, "c1000", 30_000.0));
    }
    set_blocks(&mut record, 6);
    let text = study_markdown(&record, &[]);
    assert_snapshot!(between(&text, "Where the time goes", "<details>"));
}

#[test]
fn metrics_have_each_recorded_phase() {
    // Method: lighttpd has all four phases, in µs, which become seconds. nginx opened no
    // connections, and a study without phases has no such line.
    let text = study_openmetrics(&connecting(), &[]);
    let of = |subject: &str| {
        let labels = format!("abx_phase_time_seconds{{load=\"c100\",subject=\"{subject}\",");
        let lines = text.lines().filter(|line| line.starts_with(&labels));
        lines
            .map(|line| line[labels.len()..].to_owned())
            .collect::<Vec<_>>()
    };
    let connect = r#"phase="connect",figure="mean"} 0.00081"#;
    assert!(of("lighttpd").iter().any(|line| line == connect), "{text}");
    let first_byte = r#"phase="first_byte",figure="mean"} 0.00158"#;
    assert!(
        of("lighttpd").iter().any(|line| line == first_byte),
        "{text}"
    );
    assert!(!of("nginx").is_empty());
    assert!(
        !of("nginx").iter().any(|line| line.contains("connect")),
        "{text}"
    );
    let mut none = study();
    none.conclusions
        .summaries
        .iter_mut()
        .for_each(|summary| summary.phases = None);
    assert!(!study_openmetrics(&none, &[]).contains("phase"));
    // A run has them too, and OTLP by the name of the same series.
    assert!(study_openmetrics(&run(), &[]).contains("abx_phase_time_seconds{url="));
    assert!(study_otlp(&run(), &[]).contains("abx.phase_time"));
}

#[test]
fn bars_of_all_subjects_share_one_axis() {
    // Method: two subjects with the same mean. A phase without time has no part of a bar, and each
    // part has a label.
    let html = study_html(&connecting(), &[]);
    let page = Page::read(&html);
    let parts = |phase: &str| {
        let class = format!("pt phase {phase}");
        page.values("class").filter(|text| *text == class).count()
    };
    let numbers = ["waiting", "connect", "first-byte", "body"].map(parts);
    assert_eq!(numbers, [2, 1, 2, 2]);
    let tips: Vec<&str> = page.values("aria-label").collect();
    assert!(
        tips.contains(&"connect 810\u{a0}µs (33\u{a0}%)"),
        "{tips:?}"
    );
    assert!(
        tips.iter()
            .any(|tip| tip.starts_with("waiting 2.50\u{a0}µs")),
        "{tips:?}"
    );
    // 2,431 µs of an axis that ends at 3,000.
    let body = between(&html, "pt phase connect", "/>");
    assert!(body.contains("x=\"0.08%\" width=\"27%\""), "{body}");
    for phase in Phase::ALL {
        let key = format!("</svg>{}</li>", phase.name());
        assert!(html.contains(&key), "{key}");
    }
}

#[test]
fn a_note_replaces_phases_that_were_not_recorded() {
    // Method: records without phases, and a run without any response.
    let mut run_record = run();
    figures(&mut run_record).phases = None;
    let mut record = study();
    record
        .conclusions
        .summaries
        .iter_mut()
        .for_each(|summary| summary.phases = None);
    let message = "Where the time goes: not recorded.";
    for text in [
        study_text(&run_record, ReportExtent::Full, &Style::plain()),
        study_html(&run_record, &[]),
        study_html(&record, &[]),
    ] {
        assert!(text.contains(message), "{text}");
    }
    slice(&mut run_record).completed = 0;
    assert!(!study_text(&run_record, ReportExtent::Full, &Style::plain()).contains(message));
    assert!(!study_html(&run_record, &[]).contains(message));
    // The bar and the figure of one of two subjects are missing.
    record.conclusions.summaries[1].phases = Some(phases([2.0, 0.0, 900.0, 100.0]));
    let html = study_html(&record, &[]);
    assert!(!html.contains(message));
    let row = between(&html, "<th scope=\"row\" class=\"who\">nginx", "</tr>");
    assert!(row.contains("class=\"ratio\">-</td>"), "{row}");
}
