//! Searches for a commit with each conclusion.

use std::time::Duration;

use abx_evidence::OutputKind;
use abx_report::{Style, bisect_line, bisect_text};
use abx_verdict::Metric;
use abx_verdict::bisect::{
    BisectConclusion, BisectRecord, BlockRatios, BuildPair, CommitRecord, Confirmation, EndsRecord,
    TrialOutcome, TrialRecord,
};
use insta::assert_snapshot;

/// The fifth commit is 5 % slower; the third does not build.
pub fn record() -> BisectRecord {
    let commit = |position: usize| CommitRecord {
        commit: format!("{position}8f3a1c2d04b7e90a15f6c3d2b1a09f8e7d6c5b{position}4"),
        author_date: format!("2026-11-2{position}T03:12:21+01:00"),
        subject_line: format!("Change number {position} of the parser, which is described here"),
        parents: position.checked_sub(1).into_iter().collect(),
    };
    let trial = |position, outcome, center| TrialRecord {
        position,
        outcome,
        why: None,
        ratios: around(center),
        record: Some("3fa9c1".to_owned()),
    };
    BisectRecord {
        head: OutputKind::Bisect.into(),
        abx_version: "0.1.0".to_owned(),
        started_unix_ms: 1_750_000_000_000,
        command: words("abx bisect v1 main --build make --by 2% './server --port {port}'"),
        label: None,
        revisions: ["v1", "main"].map(str::to_owned),
        build: vec!["make".to_owned()],
        server: "./server --port {port}".to_owned(),
        metric: Metric::Throughput,
        by: 0.02,
        commits: (0..=8).map(commit).collect(),
        ends: Some(EndsRecord {
            ratios: around(-0.05),
            record: "0a1b2c".to_owned(),
        }),
        trials: vec![
            trial(4, TrialOutcome::LikeGood, 0.002),
            trial(6, TrialOutcome::LikeBad, -0.048),
            trial(5, TrialOutcome::LikeBad, -0.051),
        ],
        confirmation: None,
        conclusion: None,
        elapsed_s: 300.0,
    }
}

fn words(command: &str) -> Vec<String> {
    shell_words::split(command).expect("quotes that close")
}

/// Eight blocks whose log ratios have this mean.
fn around(center: f64) -> BlockRatios {
    let offsets = [-0.01, -0.005, 0.005, 0.01].repeat(2);
    let logs: Vec<f64> = offsets.iter().map(|offset| center + offset).collect();
    BlockRatios::of_logs(&logs)
}

fn confirmation(center: f64) -> Option<Confirmation> {
    let pair = |build: usize, parent_build: usize| BuildPair {
        build,
        parent_build,
        ratios: around(center + 0.004 * build as f64 - 0.004 * parent_build as f64),
    };
    Some(Confirmation {
        parent: record().commits[4].commit.clone(),
        pairs: vec![pair(1, 1), pair(1, 2), pair(2, 1), pair(2, 2)],
        record: "77aa00".to_owned(),
    })
}

#[test]
fn a_found_commit() {
    // Method: a search that found a commit and skipped another one.
    let mut record = record();
    record.trials.push(TrialRecord {
        position: 3,
        outcome: TrialOutcome::Skipped,
        why: Some("the build command `make` failed (exit 2)\nits output".to_owned()),
        ratios: BlockRatios::default(),
        record: None,
    });
    record.confirmation = confirmation(-0.05);
    record.conclusion = Some(BisectConclusion::Culprit { position: 5 });
    record.label = Some("nightly\n\u{1b}[31m7".to_owned());
    assert_snapshot!(bisect_text(&record, None, &Style::plain()));
}

#[test]
fn every_other_conclusion() {
    // Method: the first paragraph of one search with each other conclusion.
    let mut record = record();
    record.confirmation = confirmation(-0.004);
    let position = 5;
    let conclusions = [
        None,
        Some(BisectConclusion::NothingToFind),
        Some(BisectConclusion::NotConfirmed { position }),
        Some(BisectConclusion::Spread { position }),
        Some(BisectConclusion::Undecided { position }),
        Some(BisectConclusion::AllSkipped {
            suspects: vec![4, 5],
        }),
    ];
    let texts = conclusions.map(|conclusion| {
        record.conclusion = conclusion;
        let text = bisect_text(&record, None, &Style::plain());
        let paragraph = text.split("\n\n").next();
        paragraph.unwrap_or_default().to_owned()
    });
    assert_snapshot!(texts.join("\n\n"));
}

#[test]
fn the_effect_of_a_change_is_worded_by_its_metric() {
    // Method: a ratio below 1 and above it, of a speed, a time and a cost.
    let table = [
        (Metric::Throughput, -0.05, "slower"),
        (Metric::Throughput, 0.05, "faster"),
        (Metric::ResponseP99, -0.05, "faster"),
        (Metric::ResponseP99, 0.05, "slower"),
        (Metric::ServerCpu, -0.05, "need less"),
        (Metric::ServerCpu, 0.05, "need more"),
    ];
    for (metric, center, expected) in table {
        let record = BisectRecord {
            metric,
            confirmation: confirmation(center),
            conclusion: Some(BisectConclusion::Culprit { position: 5 }),
            ..record()
        };
        let text = bisect_text(&record, None, &Style::plain());
        let sentence = format!("made the server {expected}: ");
        assert!(text.contains(&sentence), "{metric:?} {center}: {text}");
    }
}

#[test]
fn a_progress_line_counts_remaining_commits() {
    // Method: the line after both ends, after a decided commit, after a skipped one, and after the
    // last one.
    let mut record = record();
    let trials = std::mem::take(&mut record.trials);
    let step_time = Some(Duration::from_secs(20));
    let first = bisect_line(&record, None);
    record.trials.push(trials[0].clone());
    let second = bisect_line(&record, step_time);
    record.trials.push(TrialRecord {
        position: 6,
        outcome: TrialOutcome::Skipped,
        why: Some("it does not build\nand more".to_owned()),
        ratios: BlockRatios::default(),
        record: None,
    });
    let third = bisect_line(&record, step_time);
    let last = bisect_line(&self::record(), step_time);
    assert_snapshot!([first, second, third, last].join("\n"));
}
