//! The list of records.

use abx_evidence::OutputKind;
use abx_report::{Style, history_text};
use abx_verdict::bisect::BisectConclusion;
use abx_verdict::history::{
    Entry, History, Outline, OutlineComparison, OutlineSearch, OutlineSubject, RecordKind,
    UnreadFile,
};
use abx_verdict::{Metric, Verdict};
use insta::assert_snapshot;
use proptest::prelude::*;

fn entry(id: &str, subjects: &[&str], comparisons: Vec<OutlineComparison>) -> Entry {
    let named = |name: &&str| OutlineSubject {
        name: (*name).to_owned(),
        ..OutlineSubject::default()
    };
    Entry {
        id: id.to_owned(),
        file: format!("compare-1750000000-{id}.json"),
        outline: Outline {
            kind: RecordKind::Study,
            study: None,
            label: None,
            started_unix_ms: 1_750_000_000_000,
            elapsed_s: Some(38.2),
            subjects: subjects.iter().map(named).collect(),
            loads: vec!["c50".to_owned()],
            comparisons,
            blocks: 12,
            is_measured: true,
            throughput_per_s: None,
            search: None,
            machine: abx_verdict::Fingerprint::default(),
            seed: Some(42),
            abx_version: "0.1.0".to_owned(),
        },
    }
}

fn comparison(ratio: Option<f64>, verdict: Verdict) -> OutlineComparison {
    OutlineComparison {
        load: "c50".to_owned(),
        subject: "lighttpd".to_owned(),
        baseline: "nginx".to_owned(),
        metric: Metric::Throughput,
        ratio,
        low: ratio.map(|ratio| ratio * 0.98),
        high: ratio.map(|ratio| ratio * 1.02),
        verdict,
        blocks: 12,
    }
}

fn history(entries: Vec<Entry>) -> History {
    History {
        head: OutputKind::History.into(),
        folder: "/home/me/.local/state/abx".to_owned(),
        entries,
        left_out: 0,
        unmeasured: 0,
        unread: Vec::new(),
    }
}

/// A search for a commit with this conclusion.
fn searched(
    id: &str,
    comparisons: Vec<OutlineComparison>,
    conclusion: Option<BisectConclusion>,
) -> Entry {
    let mut entry = entry(id, &["v1.4", "main"], comparisons);
    entry.outline.kind = RecordKind::Bisect;
    entry.outline.loads = Vec::new();
    entry.outline.search = Some(OutlineSearch {
        commits: 64,
        conclusion,
    });
    entry.file = format!("bisect/{id}.json");
    entry
}

/// A record of each kind.
pub fn mixed() -> History {
    let faster = comparison(Some(1.12), Verdict::Faster);
    let mut several = entry(
        "0a1b2c",
        &["nginx", "lighttpd", "apache-event", "caddy-2.7"],
        vec![
            faster.clone(),
            comparison(Some(0.9), Verdict::Slower),
            faster.clone(),
            comparison(Some(1.0), Verdict::Equivalent),
        ],
    );
    several.outline.loads = ["small-c10", "large-c100"].map(str::to_owned).into();
    let mut run = entry("77aa00", &["http://127.0.0.1:8080/small.bin"], Vec::new());
    run.outline.kind = RecordKind::Run;
    run.outline.blocks = 0;
    run.outline.throughput_per_s = Some(41_234.5);
    run.file = "run-1750000000-77.json".to_owned();
    let wide = comparison(Some(1.02), Verdict::Inconclusive);
    let costlier = OutlineComparison {
        metric: Metric::ServerCpu,
        ..comparison(Some(1.31), Verdict::More)
    };
    let mut labelled = entry("3fa9c1", &["nginx", "lighttpd"], vec![faster.clone()]);
    labelled.outline.label = Some("nightly 7".to_owned());
    let slower = OutlineComparison {
        subject: "58f3a1c2d".to_owned(),
        ..comparison(Some(0.95), Verdict::Slower)
    };
    let mut history = history(vec![
        labelled,
        searched(
            "7b7b7b",
            vec![slower],
            Some(BisectConclusion::Culprit { position: 5 }),
        ),
        searched("8c8c8c", Vec::new(), None),
        entry("5b5b5b", &["nginx", "caddy"], vec![costlier]),
        entry("9c0d1e", &["nginx", "lighttpd"], vec![wide]),
        several,
        run,
        entry("e4f5a6", &["nginx", "lighttpd"], Vec::new()),
    ]);
    history.left_out = 1_234;
    history.unread = vec![UnreadFile {
        file: "mine.json".to_owned(),
        why: "expected value at line 1 column 1".to_owned(),
    }];
    history
}

#[test]
fn a_list_of_records() {
    // Method: every kind of verdict cell, records beyond the limit, and a foreign file.
    assert_snapshot!(history_text(&mixed(), &Style::plain()));
}

#[test]
fn a_list_of_records_in_ascii() {
    // Method: the list in ASCII.
    let style = Style {
        unicode: false,
        ..Style::plain()
    };
    let text = history_text(&mixed(), &style);
    assert!(text.is_ascii(), "{text}");
    assert_snapshot!(text);
}

#[test]
fn an_empty_list_has_a_sentence() {
    // Method: an empty list.
    let text = history_text(&history(Vec::new()), &Style::plain());
    assert_eq!(text, "No matching record in /home/me/.local/state/abx\n");
}

proptest! {
    #[test]
    fn a_list_fits(
        unicode in any::<bool>(),
        width in 60_usize..200,
        words in prop::collection::vec(any::<String>(), 5),
        numbers in any::<[u64; 3]>(),
        ratio in prop::option::of(prop::num::f64::ANY),
    ) {
        // Method: any names, files, times and figures, in Unicode and ASCII.
        let mut history = mixed();
        history.folder = words[0].clone();
        history.unread[0].file = words[1].clone();
        history.unread[0].why = words[2].clone();
        for entry in &mut history.entries {
            entry.file = words[3].clone();
            entry.outline.started_unix_ms = numbers[0];
            entry.outline.blocks = numbers[1] as u32 as usize;
            entry.outline.loads = vec![words[4].clone()];
            entry.outline.label = Some(words[3].clone());
            entry.outline.subjects[0].name = words[2].clone();
            entry.outline.throughput_per_s = ratio;
            for comparison in &mut entry.outline.comparisons {
                comparison.ratio = ratio;
            }
        }
        let style = Style { color: false, unicode, width };
        for line in history_text(&history, &style).lines() {
            prop_assert!(line.chars().count() <= width, "{width}: {line}");
            prop_assert!(!line.contains(char::is_control), "{line:?}");
        }
    }
}
