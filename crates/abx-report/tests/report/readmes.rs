//! The pages of the catalog's studies, compared with the records behind their figures.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};
use std::thread;

use abx_report::{ReportExtent, Style, study_text, verdict_matrix};
use abx_verdict::{Comparison, StudyRecord, Verdict};
use serde_json::Value;

/// A record of the catalog, which is read and judged at its first use: that takes a second.
struct SavedRecord {
    folder: PathBuf,
    file: PathBuf,
    record: OnceLock<StudyRecord>,
}

impl SavedRecord {
    fn read(&self) -> &StudyRecord {
        self.record.get_or_init(|| read_record(&self.file))
    }
}

/// Every record that a study of the catalog has (`record.json.zst`, and `record-WHAT.json.zst` of
/// a part of it).
static RECORDS: LazyLock<Vec<SavedRecord>> = LazyLock::new(|| {
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("a folder of the catalog");
        entries.map(|entry| entry.expect("an entry").path())
    };
    entries(&catalog())
        .filter(|entry| entry.is_dir())
        .flat_map(|folder| {
            let records = entries(&folder).filter(|file| is_record(file));
            records.map(move |file| SavedRecord {
                folder: folder.clone(),
                file,
                record: OnceLock::new(),
            })
        })
        .collect()
});

/// `record.json.zst` of a study of the catalog, judged again.
pub fn record_of(study: &str) -> StudyRecord {
    let file = catalog().join(study).join("record.json.zst");
    let saved = RECORDS.iter().find(|saved| saved.file == file);
    saved.expect("a record of the study").read().clone()
}

/// Every record of the catalog, judged again, with the folder of its study.
pub fn records() -> impl Iterator<Item = (&'static Path, &'static StudyRecord)> {
    thread::scope(|scope| {
        for saved in &*RECORDS {
            scope.spawn(|| saved.read());
        }
    });
    let records = RECORDS.iter();
    records.map(|saved| (saved.folder.as_path(), saved.read()))
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

/// The text of each page that has all verdicts of a study's records.
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
    // Method: each record of a study, judged again, as tables; UPDATE=1 writes the pages.
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
    // Method: each pair that a record declares, compared with the same pair in the study file.
    let mut questions = 0;
    for (folder, record) in records() {
        let file = fs::read_to_string(folder.join("study.toml")).unwrap();
        for contrast in &record.measured.settings.contrasts {
            let value = |block: &str, key: &str| {
                let prefix = format!("{key} = \"");
                let value = block.lines().find_map(|line| line.strip_prefix(&prefix))?;
                Some(value.trim_end_matches('"').to_owned())
            };
            let is_of_pair = |block: &&str| {
                value(block, "subject").as_ref() == Some(&contrast.subject)
                    && value(block, "baseline").as_ref() == Some(&contrast.baseline)
            };
            let pair = format!("{} ÷ {}", contrast.subject, contrast.baseline);
            let block = file.split("[[contrast]]").skip(1).find(is_of_pair);
            let block = block.unwrap_or_else(|| panic!("{}: {pair}", folder.display()));
            assert_eq!(contrast.question, value(block, "question"), "{pair}");
            questions += usize::from(contrast.question.is_some());
        }
    }
    assert!(questions > 80, "{questions} pairs have a question");
}

/// A figure with its interval, as a page prints it: `1.04 (0.96 to 1.12)`.
type Figure = [String; 3];

/// The figures of a page that have an interval.
fn figures(page: &str) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (at, _) in page.match_indices(" (") {
        let value = page[..at].rsplit([' ', '|', '\n', '(']).next();
        let Some((interval, _)) = page[at + 2..].split_once(')') else {
            continue;
        };
        let words = interval.split_whitespace().collect::<Vec<_>>();
        let (Some(value), &[low, "to", high]) = (value, words.as_slice()) else {
            continue;
        };
        let figure = [value, low, high].map(|text| text.replace(',', ""));
        if figure.iter().all(|text| text.parse::<f64>().is_ok()) {
            figures.push(figure);
        }
    }
    figures
}

/// Collects the numbers of a record that have an interval: value, lower and upper end.
fn collect_intervals(value: &Value, intervals: &mut Vec<[f64; 3]>) {
    match value {
        Value::Object(fields) => {
            let number = |name: &str| fields.get(name).and_then(Value::as_f64);
            if let (Some(low), Some(high)) = (number("low"), number("high")) {
                let values = fields.values().filter_map(Value::as_f64);
                intervals.extend(values.map(|value| [value, low, high]));
            }
            for field in fields.values() {
                collect_intervals(field, intervals);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect_intervals(item, intervals);
            }
        }
        _ => {}
    }
}

/// Whether a number prints as this text, with as many digits. The page may use a larger or
/// smaller unit than the record.
fn prints_as(number: f64, text: &str) -> bool {
    let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    [1.0, 1e-3, 1e3, 1e6]
        .iter()
        .any(|scale| format!("{:.digits$}", number * scale) == text)
}

#[test]
fn every_figure_on_the_page_of_a_study_is_in_its_record() {
    // Method: each number with an interval on each page, digit by digit, against every number
    // with an interval in the record, judged again; the page of all studies against all
    // records; and a figure that no record has, which the test must notice.
    let mut known: BTreeMap<PathBuf, Vec<[f64; 3]>> = BTreeMap::new();
    let overview = catalog().join("README.md");
    for (folder, record) in records() {
        let mut intervals = Vec::new();
        let conclusions = &record.conclusions;
        let comparisons = serde_json::to_value(&conclusions.comparisons).unwrap();
        collect_intervals(&comparisons, &mut intervals);
        let conclusions = serde_json::to_value(conclusions).unwrap();
        collect_intervals(&conclusions, &mut intervals);
        let of_overview = known.entry(overview.clone()).or_default();
        of_overview.extend(&intervals);
        let page = folder.join("README.md");
        known.entry(page).or_default().extend(intervals);
    }
    let is_known = |figure: &Figure, intervals: &[[f64; 3]]| {
        intervals.iter().any(|interval| {
            let mut pairs = interval.iter().zip(figure);
            pairs.all(|(number, text)| prints_as(*number, text))
        })
    };
    let mut unknown = Vec::new();
    let mut count = 0;
    for (page, intervals) in &known {
        let text = fs::read_to_string(page).unwrap();
        for figure in figures(&text) {
            count += 1;
            if !is_known(&figure, intervals) {
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
    // Method: the record judged again. The tour has the whole report word for word, and
    // README.md has the part before the second table.
    let root = catalog().join("..");
    let record = read_record(&root.join("docs/start/tour.json.zst"));
    let report = study_text(&record, ReportExtent::Brief, &Style::plain());
    let (first_part, _) = report.split_once("\n\nAlso compared").expect("two tables");
    for (page, printed) in [
        ("docs/start/read-a-report.md", report.trim_end()),
        ("README.md", first_part),
    ] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        let block = format!("```\n{printed}\n```\n");
        assert!(text.contains(&block), "{page} has not this:\n\n{block}");
    }
}

#[test]
fn a_pair_has_the_same_verdict_in_a_table_and_in_a_ranking() {
    // Method: every primary comparison of every record, compared with the same pair in the
    // ranking by the same metric. A primary comparison is fragile for one of four reasons: its
    // result differs without disturbed slices; one of its blocks contradicts a direction that the
    // spread of all pairs makes certain; it is undecided although its interval excludes 1; or
    // another method gives another verdict.
    let mut pairs = 0;
    for (folder, record) in records() {
        for ranking in &record.conclusions.rankings {
            let primary = record.conclusions.primary().filter(|comparison| {
                (&comparison.load, comparison.metric) == (&ranking.load, ranking.metric)
            });
            for comparison in primary {
                let is_same_pair = |other: &&Comparison| {
                    let names = [&other.subject, &other.baseline];
                    names.contains(&&comparison.subject) && names.contains(&&comparison.baseline)
                };
                let Some(ranked) = ranking.pairs.iter().find(is_same_pair) else {
                    continue;
                };
                assert_eq!(ranked, comparison, "{}", folder.display());
                pairs += 1;
            }
        }
        for comparison in record.conclusions.primary() {
            let undisturbed = comparison.undisturbed.as_ref();
            let differs = undisturbed.is_some_and(|other| other.verdict != comparison.verdict);
            assert!(
                !comparison.fragile
                    || differs
                    || has_contradicting_block(comparison)
                    || is_undecided_without_1(comparison)
                    || comparison.second_verdict.is_some(),
                "{}: {comparison:?}",
                folder.display()
            );
        }
    }
    assert!(pairs > 100, "{pairs}");
}

/// Whether a comparison is undecided although its interval excludes 1.
fn is_undecided_without_1(comparison: &Comparison) -> bool {
    let excludes_1 = comparison.low > Some(1.0) || comparison.high.is_some_and(|high| high < 1.0);
    comparison.verdict == Verdict::Inconclusive && excludes_1
}

/// Whether a block contradicts the direction of its comparison.
fn has_contradicting_block(comparison: &Comparison) -> bool {
    let above = |ratio: f64| ratio > 1.0;
    let mut blocks = comparison.per_block.iter().flatten();
    let side = comparison.ratio.map(above);
    comparison.verdict.is_directed() && blocks.any(|ratio| Some(above(*ratio)) != side)
}
