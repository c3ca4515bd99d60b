//! The pages of the catalog's studies, beside the records that they have their figures from.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use abx_report::{ReportExtent, Style, study_text, verdict_matrix};
use abx_verdict::{Comparison, StudyRecord, Verdict};
use serde_json::Value;

/// `record.json.zst` of a study of the catalog, judged again.
pub fn record_of(study: &str) -> StudyRecord {
    read_record(&catalog().join(study).join("record.json.zst"))
}

/// Every record that a study of the catalog has (`record.json.zst`, and `record-WHAT.json.zst`
/// of a part of it), judged again, with its folder.
pub fn records() -> &'static [(PathBuf, StudyRecord)] {
    // Judging all of them takes seconds, and several tests read them.
    static RECORDS: LazyLock<Vec<(PathBuf, StudyRecord)>> = LazyLock::new(read_records);
    &RECORDS
}

fn read_records() -> Vec<(PathBuf, StudyRecord)> {
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("a folder of the catalog");
        entries.map(|entry| entry.expect("an entry").path())
    };
    let folders = entries(&catalog()).filter(|entry| entry.is_dir());
    let each = folders.flat_map(|folder| {
        let records = entries(&folder).filter(|file| is_record(file));
        records.map(move |file| (folder.clone(), read_record(&file)))
    });
    each.collect()
}

fn catalog() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies")
}

fn is_record(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("record") && name.ends_with(".json.zst")
}

/// The record in a compressed file, judged again.
pub fn read_record(file: &Path) -> StudyRecord {
    let packed = fs::File::open(file).expect("a record");
    let json = zstd::decode_all(packed).expect("a compressed record");
    read_json(&json)
}

/// A record judged again.
pub fn read_json(json: &[u8]) -> StudyRecord {
    serde_json::from_slice(json).expect("a record")
}

/// The page of a study with all verdicts of its records, and its text.
fn verdicts_pages() -> BTreeMap<PathBuf, String> {
    let mut pages = BTreeMap::new();
    for (folder, record) in records() {
        let name = folder
            .file_name()
            .expect("the name of a study")
            .to_string_lossy();
        let head = format!(
            "# Verdicts of {name}\n\nAll declared pairs, as `abx report --markdown` prints them. \
             [The study](README.md)\n"
        );
        let page: &mut String = pages.entry(folder.join("verdicts.md")).or_insert(head);
        page.push('\n');
        page.push_str(verdict_matrix(record).trim_end());
        page.push('\n');
    }
    pages
}

#[test]
fn each_study_has_a_page_with_the_verdicts_of_its_record() {
    // Method: each record beside a study, judged again, as tables; UPDATE=1 writes the pages.
    let pages = verdicts_pages();
    for (path, text) in &pages {
        if std::env::var_os("UPDATE").is_some() {
            fs::write(path, text).unwrap();
        }
        assert!(
            fs::read_to_string(path).unwrap_or_default() == *text,
            "{} does not have the verdicts of its record; write it again with: UPDATE=1 cargo test \
             -p abx-report --test report verdicts",
            path.display()
        );
    }
    assert!(pages.len() >= 2, "{} studies have a record", pages.len());
}

#[test]
fn a_record_has_the_questions_of_its_study() {
    // Method: each pair that a record declares beside the same pair in the study file.
    let mut asked = 0;
    for (folder, record) in records() {
        let file = fs::read_to_string(folder.join("study.toml")).unwrap();
        for contrast in &record.measured.settings.contrasts {
            let value = |block: &str, key: &str| {
                let begin = format!("{key} = \"");
                let value = block.lines().find_map(|line| line.strip_prefix(&begin))?;
                Some(value.trim_end_matches('"').to_owned())
            };
            let is_same = |block: &&str| {
                value(block, "subject").as_ref() == Some(&contrast.subject)
                    && value(block, "baseline").as_ref() == Some(&contrast.baseline)
            };
            let pair = format!("{} ÷ {}", contrast.subject, contrast.baseline);
            let block = file.split("[[contrast]]").skip(1).find(is_same);
            let block = block.unwrap_or_else(|| panic!("{}: {pair}", folder.display()));
            assert_eq!(contrast.question, value(block, "question"), "{pair}");
            asked += usize::from(contrast.question.is_some());
        }
    }
    assert!(asked > 80, "{asked} pairs have a question");
}

/// A figure with its interval, as a page prints it: `1.04 (0.96 to 1.12)`.
type Figure = [String; 3];

/// The figures of a page that have an interval.
fn figures(page: &str) -> Vec<Figure> {
    let mut figures = Vec::new();
    let open_ends = page.match_indices(" (");
    for (at, _) in open_ends {
        let before = page[..at].rsplit([' ', '|', '\n', '(']).next();
        let Some((inside, _)) = page[at + 2..].split_once(')') else {
            continue;
        };
        let ends = inside.split_whitespace().collect::<Vec<_>>();
        let (Some(value), &[low, "to", high]) = (before, ends.as_slice()) else {
            continue;
        };
        let figure = [value, low, high].map(|text| text.replace(',', ""));
        if figure.iter().all(|text| text.parse::<f64>().is_ok()) {
            figures.push(figure);
        }
    }
    figures
}

/// Every number of a record that has an interval: value, lower and upper end.
fn with_intervals(value: &Value, into: &mut Vec<[f64; 3]>) {
    if let Value::Object(fields) = value {
        let number = |name: &str| fields.get(name).and_then(Value::as_f64);
        if let (Some(low), Some(high)) = (number("low"), number("high")) {
            let values = fields.values().filter_map(Value::as_f64);
            into.extend(values.map(|value| [value, low, high]));
        }
        fields
            .values()
            .for_each(|value| with_intervals(value, into));
    }
    if let Value::Array(values) = value {
        values.iter().for_each(|value| with_intervals(value, into));
    }
}

/// Whether a number, printed with as many digits, is this text. A unit that is a thousandth
/// of the record's fits too.
fn prints_as(number: f64, text: &str) -> bool {
    let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    let scales = [1.0, 1e-3, 1e3, 1e6];
    let mut texts = scales
        .iter()
        .map(|scale| format!("{:.digits$}", number * scale));
    texts.any(|printed| printed == text)
}

#[test]
fn every_figure_on_the_page_of_a_study_is_in_its_record() {
    // Method: each number with an interval on each page, digit by digit, against everything
    // that has an interval in the record, judged again; the page of all studies against all
    // records; and a figure that no record has, which must be noticed.
    let mut known: BTreeMap<PathBuf, Vec<[f64; 3]>> = BTreeMap::new();
    let overview = catalog().join("README.md");
    for (folder, record) in records() {
        let mut numbers = Vec::new();
        let conclusions = &record.conclusions;
        let comparisons = serde_json::to_value(&conclusions.comparisons).unwrap();
        with_intervals(&comparisons, &mut numbers);
        with_intervals(&serde_json::to_value(conclusions).unwrap(), &mut numbers);
        known.entry(overview.clone()).or_default().extend(&numbers);
        let page = folder.join("README.md");
        known.entry(page).or_default().extend(numbers);
    }
    let is_known = |figure: &Figure, numbers: &[[f64; 3]]| {
        let mut pairs = numbers.iter().map(|number| number.iter().zip(figure));
        pairs.any(|mut pairs| pairs.all(|(number, text)| prints_as(*number, text)))
    };
    let mut unknown = Vec::new();
    let mut count = 0;
    for (page, numbers) in &known {
        let text = fs::read_to_string(page).unwrap();
        for figure in figures(&text) {
            count += 1;
            if !is_known(&figure, numbers) {
                unknown.push(format!("{}: {figure:?}", page.display()));
            }
        }
    }
    assert!(unknown.is_empty(), "in no record: {unknown:#?}");
    assert!(count > 300, "{count} figures");
    let wrong = figures("| 1.05 (0.96 to 1.12) ?").pop().unwrap();
    assert!(!is_known(
        &wrong,
        &known[&catalog().join("event-servers/README.md")]
    ));
}

#[test]
fn the_tour_prints_the_report_of_its_record() {
    // Method: the record judged again; the tour has its report word for word, and the page
    // that everybody reads first has what stands before the second table.
    let root = catalog().join("..");
    let record = read_record(&root.join("docs/start/tour.json.zst"));
    let report = study_text(&record, ReportExtent::Brief, &Style::plain());
    let (first, _) = report.split_once("\n\nAlso compared").expect("two tables");
    for (page, printed) in [
        ("docs/start/read-a-report.md", report.trim_end()),
        ("README.md", first),
    ] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        let block = format!("```\n{printed}\n```\n");
        assert!(text.contains(&block), "{page} has not this:\n\n{block}");
    }
}

#[test]
fn a_pair_has_the_same_verdict_in_a_table_and_in_a_ranking() {
    // Method: every primary comparison of every record beside the same pair in the
    // ranking by the same metric. A primary one is fragile only where the reading without
    // ranking by the same metric. A primary one is fragile only if the reading without
    // disturbed slices has another result, if the spread of the others makes a direction
    // certain that one of its own blocks contradicts, if it is undecided although its
    let mut pairs = 0;
    for (folder, record) in records() {
        for ranking in &record.conclusions.rankings {
            let asked = record.conclusions.primary();
            let asked = asked.filter(|comparison| {
                (&comparison.load, comparison.metric) == (&ranking.load, ranking.metric)
            });
            for comparison in asked {
                let mut comparisons = ranking.pairs.iter();
                let same = |pair: &&Comparison| {
                    let names = [&pair.subject, &pair.baseline];
                    names.contains(&&comparison.subject) && names.contains(&&comparison.baseline)
                };
                let Some(pair) = comparisons.find(same) else {
                    continue;
                };
                assert_eq!(pair, comparison, "{}", folder.display());
                pairs += 1;
            }
        }
        for comparison in record.conclusions.primary() {
            let other = comparison.undisturbed.as_ref().map(|other| other.verdict);
            let differs = other.is_some_and(|other| other != comparison.verdict);
            assert!(
                !comparison.fragile
                    || differs
                    || has_a_block_against(comparison)
                    || is_open_beside_1(comparison)
                    || is_same_beside_others(comparison),
                "{}: {comparison:?}",
                folder.display()
            );
        }
    }
    assert!(pairs > 100, "{pairs}");
}

/// Whether it is undecided, and its interval does not hold 1.
fn is_open_beside_1(comparison: &Comparison) -> bool {
    let is_beside = comparison.low > Some(1.0) || comparison.high.is_some_and(|high| high < 1.0);
    comparison.verdict == Verdict::Inconclusive && is_beside
}

/// Whether it is the same as its baseline by the spread of all pairs, and not by its own.
fn is_same_beside_others(comparison: &Comparison) -> bool {
    let second = comparison.second_verdict;
    comparison.verdict == Verdict::Equivalent && second == Some(Verdict::Inconclusive)
}

/// Whether it has a direction, and one of its blocks the other one.
fn has_a_block_against(comparison: &Comparison) -> bool {
    let above = |ratio: f64| ratio > 1.0;
    let mut blocks = comparison.per_block.iter().flatten();
    let side = comparison.ratio.map(above);
    comparison.verdict.is_directed() && blocks.any(|ratio| Some(above(*ratio)) != side)
}
