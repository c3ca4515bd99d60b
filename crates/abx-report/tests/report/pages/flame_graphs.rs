//! Flame graphs in pages.

use abx_report::{EXPORTERS, RecordPlace};
use abx_verdict::StudyRecord;
use proptest::prelude::*;
use serde_json::json;

use crate::pages::html::{hostile, measured};
use crate::pages::page::Page;
use crate::support::{load, study_html};

/// A study with samples of both subjects in each block, in a function of this name.
fn sampled(name: &str, loads: usize) -> StudyRecord {
    let mut record = measured(3, 2).measured;
    let first = record.blocks[0].loads[0].load.clone();
    record.loads = (0..loads)
        .map(|number| load(&format!("{first}{number}"), 100))
        .collect();
    for block in &mut record.blocks {
        let part = block.loads.remove(0);
        for load in &record.loads {
            let mut part = part.clone();
            part.load.clone_from(&load.name);
            for (number, subject) in record.subjects.iter().enumerate() {
                let stacks = json!({
                    "lines": ["system call read", "user a"], "names": ["main", name],
                    "node_parents": [0, 1], "node_names": [0, 1], "stack_nodes": [1, 2],
                    "stack_lines": [0, 1], "stack_samples": [10 + number, 20],
                });
                let ledger = json!({
                    "sampled_ns": 200_000_000, "samples_per_s": 3_989, "completed": 1_000,
                    "server_cpu_ns": 100_000_000, "samples": 30 + number, "lost": 0,
                    "lines": {"system call read": 10 + number, "user a": 20}, "stacks": stacks,
                    "without_symbols": 0,
                });
                let ledger = serde_json::from_value(ledger).expect("a ledger");
                part.ledgers.insert(subject.name.clone(), ledger);
            }
            block.loads.push(part);
        }
    }
    StudyRecord::judged(record)
}

#[test]
fn a_page_has_a_flame_graph_of_each_subject_and_of_the_pair() {
    // Method: one load; and five loads, for which the page leaves out some graphs.
    for (loads, graphs) in [(1, 3), (5, 8)] {
        let html = study_html(&sampled("work", loads), &[]);
        let page = Page::read(&html);
        let drawn = page
            .values("class")
            .filter(|class| *class == "flame")
            .count();
        assert_eq!(drawn, graphs);
        assert_eq!(html.contains("8 of 15 flame graphs are drawn"), loads == 5);
    }
    let html = study_html(&measured(3, 2), &[]);
    assert!(!html.contains("class=\"flame\""));
}

#[test]
fn folded_stacks_begin_with_their_subject_and_load() {
    // Method: three blocks with the same samples of two call chains; and a record without samples.
    let folded = |record: &StudyRecord| {
        let exporter = EXPORTERS
            .iter()
            .find(|exporter| exporter.flag == "--folded");
        let exporter = exporter.expect("the format of a flag");
        (exporter.texts)(record, &[], RecordPlace::default())
    };
    let texts = folded(&sampled("work", 1));
    let lines: Vec<&str> = texts[0].text.lines().collect();
    let expected = [
        "nginx;c1000;main 30",
        "nginx;c1000;main;work 60",
        "lighttpd;c1000;main 33",
        "lighttpd;c1000;main;work 60",
    ];
    assert_eq!(lines, expected);
    assert_eq!(folded(&measured(3, 2)), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_function_name_escapes_its_box(name in hostile()) {
        // Method: a function of any name. The elements and attributes of the page do not change.
        let html = study_html(&sampled(&format!("a{name}"), 1), &[]);
        let plain = study_html(&sampled("a", 1), &[]);
        prop_assert_eq!(Page::read(&html).names(), Page::read(&plain).names());
    }
}
