//! Reports that begin with the results of expectations, and reports of studies with fewer blocks
//! than a verdict needs.

use abx_report::{
    ReportExtent, Style, expectations_text, record_json, settling_flag, study_junit,
    study_markdown, study_svg, study_text,
};
use abx_verdict::expectation::{KnownNames, expectation_results};
use abx_verdict::{Comparison, Expectation, ExpectationResult, StudyRecord, Verdict};

use crate::support::study_html;
use crate::support::{comparison, set_blocks, study, subject};

/// The results of these expectations; the ratio of the usual study is 1.12 (1.08 to 1.16).
fn results_of(record: &StudyRecord, texts: &[&str]) -> Vec<ExpectationResult> {
    let known = KnownNames {
        subjects: ["nginx", "lighttpd"].map(str::to_owned).into(),
        loads: vec!["c100".to_owned()],
    };
    let read = |text: &&str| Expectation::parse(text, &known).expect("the names are those above");
    let expectations: Vec<Expectation> = texts.iter().map(read).collect();
    expectation_results(record, &expectations)
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn head(record: &StudyRecord, results: &[ExpectationResult], extent: ReportExtent) -> String {
    let text = expectations_text(record, results, extent, &Style::plain());
    words(&text)
}

#[test]
fn the_result_of_expectations_heads_every_report() {
    // Method: the first words of each report, for an expectation that passes although the verdict
    // is `slower`, one that fails although it is `faster`, an undecided one, and all three.
    let mut slower = study();
    slower.conclusions.comparisons = vec![comparison(
        "lighttpd",
        Some([0.96, 0.95, 0.97]),
        Verdict::Slower,
    )];
    let three = [
        "lighttpd >= 1.05 * nginx",
        "lighttpd > 1.1 * nginx",
        "lighttpd <= nginx",
    ];
    let cases: [(StudyRecord, &[&str], &str, &str); 4] = [
        (slower, &["lighttpd >= 0.9 * nginx"], "▲", "Passed"),
        (study(), &["lighttpd <= nginx"], "▼", "Failed"),
        (study(), &["lighttpd > 1.1 * nginx"], "?", "Undecided"),
        (study(), &three, "▼", "Failed"),
    ];
    for (record, texts, mark, word) in cases {
        let results = results_of(&record, texts);
        let headline = match texts {
            [only] => format!("{word}: {only}"),
            _ => format!("{word}: 3 checks, 1 failed, 1 undecided, 1 passed"),
        };
        let text = head(&record, &results, ReportExtent::Brief);
        assert!(text.starts_with(&headline), "{text}");
        let escaped = headline
            .replace('>', "&gt;")
            .replace('<', "&lt;")
            .replace('*', "\\*");
        let markdown = study_markdown(&record, &results);
        let first_line = markdown.lines().next().unwrap();
        assert_eq!(first_line, format!("### {mark} abx: {escaped}"));
        let html = study_html(&record, &results);
        let heading = headline.replace('<', "&lt;").replace('>', "&gt;");
        assert!(html.contains(&format!("<h1>{heading}</h1>")), "{heading}");
        let [expected, verdicts] = ["id=\"expected\"", "id=\"verdicts\""].map(|id| html.find(id));
        assert!(expected.unwrap() < verdicts.unwrap());
        let junit = study_junit(&record, &results);
        let property = format!("name=\"expectations\" value=\"{}\"", word.to_lowercase());
        assert!(junit.contains(&property), "{junit}");
        let [expected, compared] = ["abx.expectation", "abx.comparison"].map(|id| junit.find(id));
        assert!(expected.unwrap() < compared.unwrap());
    }
    assert!(!study_html(&study(), &[]).contains("id=\"expected\""));
    assert!(!study_junit(&study(), &[]).contains("name=\"expectations\""));
}

#[test]
fn brief_reports_only_count_many_passed_checks() {
    // Method: ten expectations that pass and one that fails.
    let record = study();
    let mut texts = vec!["lighttpd >= nginx"; 10];
    texts.push("lighttpd <= nginx");
    let results = results_of(&record, &texts);
    let brief = head(&record, &results, ReportExtent::Brief);
    assert!(brief.starts_with("Failed: 11 checks, 1 failed, 10 passed. Failed: lighttpd <= nginx"));
    assert!(
        !brief.contains("Passed:") && brief.ends_with("that passed."),
        "{brief}"
    );
    let full = head(&record, &results, ReportExtent::Full);
    assert_eq!(
        full.matches("Passed: lighttpd >= nginx").count(),
        10,
        "{full}"
    );
}

#[test]
fn an_undecided_expectation_names_the_flag_that_settles_it() {
    // Method: a ratio of 1.12 in six blocks of 6 s, 1.8 % above the limit, with an interval of
    // 3.6 % to each side: 6 · (3.57 / 1.80)² − 6 = 17.6, so 18 more blocks. 38 s and 18 blocks
    // are 153 s; plus a tenth, this is 3 minutes. A limit at the ratio itself has no such number.
    let mut record = study();
    let undecided = "lighttpd > 1.1 * nginx";
    let results = results_of(&record, &[undecided]);
    let flag = settling_flag(&record, &results).unwrap();
    assert_eq!(flag, "--blocks 24");
    record.measured.settings.blocks = None;
    record.conclusions.comparisons[0].blocks = 7;
    set_blocks(&mut record, 7);
    let results = results_of(&record, &[undecided]);
    let flag = settling_flag(&record, &results).unwrap();
    assert_eq!(flag, "--budget 3m");
    let text = head(&record, &results, ReportExtent::Brief);
    assert!(
        text.contains("would decide it: use `--budget 3m`."),
        "{text}"
    );
    let at_limit = results_of(&record, &["lighttpd > 1.12 * nginx"]);
    assert_eq!(settling_flag(&record, &at_limit), None);
    let passed = results_of(&record, &["lighttpd > nginx"]);
    assert_eq!(settling_flag(&record, &passed), None);
    record.conclusions.comparisons[0].blocks = 5;
    set_blocks(&mut record, 5);
    let results = results_of(&record, &["lighttpd > nginx"]);
    // Two blocks of 7.6 s after 38 s.
    let flag = settling_flag(&record, &results).unwrap();
    assert_eq!(flag, "--budget 60s");
    let text = head(&record, &results, ReportExtent::Brief);
    assert!(
        text.contains("too few blocks, it needs at least 7, 2 more blocks"),
        "{text}"
    );
}

/// A study of the baseline and `others` subjects, which its budget ended after four blocks.
fn short(others: usize) -> StudyRecord {
    let mut record = study();
    record.measured.settings.blocks = None;
    set_blocks(&mut record, 4);
    let names: Vec<String> = (0..others)
        .map(|number| format!("server-{number}"))
        .collect();
    record.measured.subjects.truncate(1);
    record
        .measured
        .subjects
        .extend(names.iter().map(|name| subject(name)));
    record.conclusions.summaries.truncate(1);
    let compared = names.iter().map(|name| Comparison {
        blocks: 4,
        too_few_blocks: true,
        blocks_more: Some(3),
        ..comparison(name, Some([0.246, 0.241, 0.250]), Verdict::Inconclusive)
    });
    record.conclusions.comparisons = compared.collect();
    record
}

#[test]
fn every_view_reports_too_few_blocks_and_the_missing_time() {
    // Method: four blocks of 9.6 s with one comparison, and with enough for a grid. Each view has
    // this reason only, and names the missing blocks.
    for others in [1, 6] {
        let record = short(others);
        let text = |extent| study_text(&record, extent, &Style::plain());
        let views = [
            text(ReportExtent::Brief),
            text(ReportExtent::Explained),
            text(ReportExtent::Full),
            study_markdown(&record, &[]).replace("\\`", "`"),
            visible(&study_html(&record, &[])),
        ];
        for view in &views {
            let text = words(view);
            for part in ["oo few blocks", "3 more blocks (29 s): use `--budget 80s`"] {
                assert!(text.contains(part), "{others} {part}: {text}");
            }
        }
        assert!(visible(&study_svg(&record)).contains("too few blocks"));
        let json: serde_json::Value = serde_json::from_str(&record_json(&record)).unwrap();
        let comparison = &json["comparisons"][0];
        assert_eq!(comparison["verdict"], "inconclusive");
        assert_eq!(comparison["too_few_blocks"], true);
    }
    let json: serde_json::Value = serde_json::from_str(&record_json(&study())).unwrap();
    assert_eq!(json["comparisons"][0].get("too_few_blocks"), None);
}

/// The visible text of a page: without its tags, styles and programs.
fn visible(page: &str) -> String {
    let after = |text: &str, end: &str| text.find(end).map_or(text.len(), |at| at + end.len());
    let mut out = String::new();
    let mut rest = page;
    while let Some((before, tag)) = rest.split_once('<') {
        out.push_str(before);
        rest = tag;
        for element in ["style", "script"] {
            if tag.starts_with(element) {
                rest = &tag[after(tag, &format!("</{element}"))..];
            }
        }
        rest = &rest[after(rest, ">")..];
        out.push(' ');
    }
    out + rest
}
