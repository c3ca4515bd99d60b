//! Formats for other programs. The texts are files under `snapshots/`;
//! `crates/abx/tests/output/formats.rs` tests that foreign programs read them.

use abx_evidence::record::{Histograms, Round, SliceRecord};
use abx_evidence::{Figure, FindingId, Histogram, Level, Outcomes, SliceTally};
use abx_report::{
    ReportExtent, Style, comparisons_csv, expectations_text, slices_csv, study_hgrm, study_junit,
    study_markdown, study_openmetrics, study_otlp,
};
use abx_verdict::expectation::{KnownNames, expectation_results};
use abx_verdict::{
    Comparison, Expectation, ExpectationResult, StudyRecord, Validity, Verdict, new_finding,
};
use insta::assert_snapshot;
use serde_json::Value;

use crate::support::{comparison, finding, overloaded_run, run, set_blocks, study, subject};

/// Results of each kind: expectations that pass, fail, are undecided, and were not compared.
fn expected(record: &StudyRecord) -> Vec<ExpectationResult> {
    let known = KnownNames {
        subjects: record
            .measured
            .subjects
            .iter()
            .map(|subject| subject.name.clone())
            .collect(),
        loads: record
            .measured
            .loads
            .iter()
            .map(|load| load.name.clone())
            .collect(),
    };
    let texts = [
        "lighttpd >= 0.97 * nginx",
        "nginx >= lighttpd @ c100",
        "lighttpd > 1.1 * nginx",
        "memory: lighttpd <= nginx",
    ];
    let read = |text: &&str| Expectation::parse(text, &known).expect("the names are those above");
    let mut expectations: Vec<Expectation> = texts.iter().map(read).collect();
    expectations.extend(Expectation::not_slower(0.03));
    expectation_results(record, &expectations)
}

/// A record with an invalid comparison, and text that every format interprets in all places that
/// a subject or a person may fill.
fn hostile() -> StudyRecord {
    const WORDS: &str = "a|b `c` <img src=x> \"d\" & 'e', *f* @team [g](h)\n\u{1b}[31m]]> \\";
    let mut record = study();
    record.measured.subjects[1] = subject("127.0.0.1:8081");
    record.measured.subjects[1].version = Some(WORDS.to_owned());
    record.measured.command = vec!["abx".to_owned(), WORDS.to_owned(), "```".to_owned()];
    record.measured.label = Some(WORDS.to_owned());
    record.conclusions.summaries[1].subject = "127.0.0.1:8081".to_owned();
    let void = new_finding(FindingId::FailedRequests, WORDS)
        .at(Level::Void)
        .with_remedy(WORDS);
    let mut comparison = comparison("127.0.0.1:8081", None, Verdict::Invalid);
    comparison.findings = vec![0];
    record.conclusions.comparisons = vec![comparison];
    record.conclusions.validity = Validity::of(vec![void]);
    record
}

/// The usual study with two blocks in which all slices differ.
fn measured() -> StudyRecord {
    let mut record = study();
    set_blocks(&mut record, 2);
    for (block_index, block) in record.measured.blocks.iter_mut().enumerate() {
        let part = &mut block.loads[0];
        for (index, name) in ["nginx", "lighttpd"].into_iter().enumerate() {
            let mut slice = SliceRecord::of(name, &SliceTally::default());
            slice.wall_ns = 100_000_000;
            slice.ok = 1_000 + 10 * block_index as u64 + index as u64;
            slice.clocked = slice.ok;
            slice.server_cpu_ns = (index == 0).then_some(7);
            slice.outcomes = outcomes(slice.ok);
            let round = Round {
                disturbed: Vec::new(),
                slices: vec![slice],
            };
            part.rounds.push(round);
            let mut response = Histogram::new();
            let longest_ms = 100 * (1 + block_index as u64) + index as u64;
            for time_ms in 1..=longest_ms {
                response.record_ns(time_ms * 1_000_000);
            }
            let histograms = Histograms {
                response,
                ..Histograms::default()
            };
            part.histograms.insert(name.to_owned(), histograms);
        }
    }
    record
}

fn outcomes(ok: u64) -> Outcomes {
    crate::support::outcomes(&format!(r#"{{"ok":{ok},"reset":2}}"#))
}

#[test]
fn expectations_are_reported_in_sentences() {
    // Method: expectations with each kind of result, and one about an invalid comparison.
    let record = study();
    let text = |record: &StudyRecord, results: &[ExpectationResult]| {
        expectations_text(record, results, ReportExtent::Brief, &Style::plain())
    };
    assert_snapshot!(text(&record, &expected(&record)));
    let record = hostile();
    let not_slower = Expectation::not_slower(0.03).expect("a share");
    let text_of_hostile = text(&record, &expectation_results(&record, &[not_slower]));
    let words: Vec<&str> = text_of_hostile.split_whitespace().collect();
    let words = words.join(" ");
    assert!(words.starts_with("No result: "), "{words}");
    let message = "; no result, because a|b `c`";
    assert!(words.contains(message), "{words}");
    assert!(!text_of_hostile.contains('\u{1b}'), "{words}");
    assert_eq!(text(&record, &[]), "");
}

#[test]
fn markdown() {
    // Method: a certain difference with a note and expectations.
    let mut record = study();
    record.conclusions.validity = Validity::of(vec![finding(Level::Note)]);
    assert_snapshot!(study_markdown(&record, &expected(&record)));
}

#[test]
fn markdown_has_each_verdict_in_one_table() {
    // Method: one comparison, enough for a list and enough for a matrix, all with the same remark.
    // Only one comparison has a sentence above it, unless a check is there.
    for (count, cell) in [
        (1, "| ▲ faster, fragile |"),
        (3, "| ▲ faster, fragile |"),
        (5, "▲ **faster** \\~ |"),
    ] {
        let mut record = study();
        let names: Vec<String> = (0..count).map(|number| format!("s{number}")).collect();
        record.measured.subjects.truncate(1);
        record
            .measured
            .subjects
            .extend(names.iter().map(|name| subject(name)));
        let comparisons = names.iter().map(|name| Comparison {
            fragile: true,
            ..comparison(name, Some([1.12, 1.08, 1.16]), Verdict::Faster)
        });
        record.conclusions.comparisons = comparisons.collect();
        let text = study_markdown(&record, &[]);
        assert_eq!(text.matches(cell).count(), count, "{text}");
        let sentences = text.matches(" serves 1.12×").count();
        assert_eq!(sentences, usize::from(count == 1), "{text}");
        assert_eq!(text.matches("Fragile: another").count(), 1, "{text}");
        let not_slower: Vec<Expectation> = Expectation::not_slower(0.03).into_iter().collect();
        let checked = study_markdown(&record, &expectation_results(&record, &not_slower));
        assert_eq!(checked.matches(cell).count(), count, "{checked}");
        assert!(!checked.contains(" serves 1.12×"), "{checked}");
    }
}

#[test]
fn a_command_that_has_its_seed_gets_no_second_one() {
    // Method: no seed, a seed as a separate word, and one after an equals sign.
    let mut record = study();
    for words in [
        "abx compare",
        "abx compare --seed 42",
        "abx compare --seed=42",
    ] {
        record.measured.command = words.split(' ').map(str::to_owned).collect();
        let text = study_markdown(&record, &[]);
        let line = text.lines().find(|line| line.starts_with("abx compare"));
        let seeds = line.map(|line| line.matches("--seed").count());
        assert_eq!(seeds, Some(1), "{words}: {line:?}");
    }
}

#[test]
fn markdown_of_hostile_words() {
    // Method: outside the block of code there is no tag, no mention and no control letter. Tables
    // have only the bars that end a cell.
    let text = study_markdown(&hostile(), &[]);
    let (before, rest) = text.split_once("````text\n").expect("a longer fence");
    let (_, after) = rest.split_once("\n````\n").expect("its end");
    for part in [before, after] {
        assert!(!part.contains("<img"), "{text}");
        assert!(!part.contains("@team"), "{text}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let bars = line.replace("\\|", "").matches('|').count();
        assert!([7, 10].contains(&bars), "{line}");
    }
    assert_snapshot!(text);
}

#[test]
fn markdown_of_a_run() {
    // Method: a run whose times are bounds, with the finding about them.
    assert_snapshot!(study_markdown(&overloaded_run(), &[]));
}

#[test]
fn csv_of_slices() {
    // Method: two blocks. Each row has as many fields as the header. In one slice, `clocked` is
    // not `ok`.
    let mut record = measured();
    let round = &mut record.measured.blocks[0].loads[0].rounds[0];
    round.slices[0].clocked = 998;
    let text = slices_csv(&record);
    let mut lines = text.lines();
    let columns = lines.next().map(|line| line.split(',').count());
    let rows: Vec<&str> = lines.collect();
    assert_eq!(rows.len(), 4);
    assert!(
        rows.iter()
            .all(|row| Some(row.split(',').count()) == columns)
    );
    assert_snapshot!(text);
}

#[test]
fn csv_of_comparisons() {
    // Method: a comparison with figures, and one without, whose fields are empty.
    let mut record = study();
    let mut hostile = hostile().conclusions;
    record.conclusions.validity = hostile.validity;
    let without = hostile.comparisons.remove(0);
    record.conclusions.comparisons.push(without);
    assert_snapshot!(comparisons_csv(&record));
}

#[test]
fn junit() {
    // Method: expectations with each kind of result, and a certain comparison.
    let record = study();
    assert_snapshot!(study_junit(&record, &expected(&record)));
}

#[test]
fn junit_of_an_invalid_comparison() {
    // Method: an error with letters that XML forbids.
    let record = hostile();
    let not_slower = Expectation::not_slower(0.03).expect("a share");
    assert_snapshot!(study_junit(
        &record,
        &expectation_results(&record, &[not_slower])
    ));
}

#[test]
fn openmetrics() {
    // Method: a study with a finding, expectations, and times that are bounds.
    let mut record = study();
    record.conclusions.validity = Validity::of(vec![finding(Level::Note)]);
    record.conclusions.summaries[0].response_time_us.at_least = vec![Figure::Max];
    assert_snapshot!(study_openmetrics(&record, &expected(&record)));
}

#[test]
fn openmetrics_of_a_run() {
    // Method: a run with every figure.
    assert_snapshot!(study_openmetrics(&run(), &[]));
}

#[test]
fn otlp_has_the_points_of_openmetrics() {
    // Method: both have the same points with the same numbers; OTLP has times in ns as strings.
    let record = study();
    let results = expected(&record);
    let body: Value = serde_json::from_str(&study_otlp(&record, &results)).expect("JSON");
    let scope = &body["resourceMetrics"][0]["scopeMetrics"][0];
    let metrics = scope["metrics"].as_array().expect("a list");
    let mut otlp_values = Vec::new();
    for metric in metrics {
        let data = if metric["sum"].is_object() {
            &metric["sum"]
        } else {
            &metric["gauge"]
        };
        for point in data["dataPoints"].as_array().expect("a list") {
            assert_eq!(point["startTimeUnixNano"], "1750000000000000000");
            assert_eq!(point["timeUnixNano"], "1750000038200000000");
            let value = match point["asInt"].as_str() {
                Some(count) => count.parse::<f64>().ok(),
                None => point["asDouble"].as_f64(),
            };
            otlp_values.extend(value);
        }
    }
    let text = study_openmetrics(&record, &results);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let values: Vec<f64> = lines
        .filter_map(|line| line.rsplit(' ').next()?.parse().ok())
        .collect();
    assert_eq!(otlp_values, values);
    assert!(values.len() > 30);
    let requests = metrics
        .iter()
        .find(|metric| metric["name"] == "abx.requests");
    assert_snapshot!(serde_json::to_string_pretty(&requests).expect("JSON"));
    assert!(study_otlp(&run(), &[]).contains("abx.throughput"));
}

#[test]
fn percentiles_merge_all_blocks() {
    // Method: times of 1 to 100 ms in one block and of 1 to 200 ms in the other. Half of them are
    // at most 75 ms.
    let percentiles = study_hgrm(&measured());
    let names: Vec<[&str; 2]> = percentiles
        .iter()
        .map(|percentiles| [percentiles.subject.as_str(), percentiles.load.as_str()])
        .collect();
    assert_eq!(names, [["nginx", "c100"], ["lighttpd", "c100"]]);
    let line = percentiles[0]
        .text
        .lines()
        .find(|line| line.contains(" 0.500000000000 "));
    let words: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
    assert_eq!(words, ["75.007", "0.500000000000", "150", "2.00"]);
    assert_snapshot!(percentiles[0].text);
}
