//! What the pages of the catalog's studies say, beside the records that they have it from.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use abx_report::{ReportExtent, Style, study_text, verdict_matrix};
use abx_verdict::{Comparison, StudyRecord};

/// `record.json.zst` of a study of the catalog, judged anew.
pub fn record_of(study: &str) -> StudyRecord {
    read(&catalog().join(study).join("record.json.zst"))
}

/// Every record that a study of the catalog has (`record.json.zst`, and `record-WHAT.json.zst`
/// of a part of it), judged anew, with its folder.
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
        records.map(move |file| (folder.clone(), read(&file)))
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

fn read(file: &Path) -> StudyRecord {
    let packed = fs::File::open(file).expect("a record");
    let json = zstd::decode_all(packed).expect("a compressed record");
    read_json(&json)
}

/// A record judged anew.
pub fn read_json(json: &[u8]) -> StudyRecord {
    serde_json::from_slice(json).expect("a record")
}

#[test]
fn a_page_of_a_study_has_the_verdicts_of_its_record() {
    // Method: each record beside a page, judged anew, as tables; the page has
    // each of them word for word. When it has not, they are printed, to be put there.
    let pairs = records();
    for (folder, record) in pairs {
        let page = fs::read_to_string(folder.join("README.md")).unwrap();
        let matrix = verdict_matrix(record);
        for table in matrix.split("\n\n") {
            assert!(
                page.contains(table.trim_end()),
                "{} has not these tables:\n\n{matrix}",
                folder.join("README.md").display()
            );
        }
    }
    assert!(pairs.len() >= 2, "{} studies have a record", pairs.len());
}

#[test]
fn the_report_of_the_tour_has_its_record_beside_it() {
    // Method: the record judged anew; the tour has its report word for word, and the page
    // that everybody reads first has what stands before the second table.
    let root = catalog().join("..");
    let record = read(&root.join("docs/tour.json.zst"));
    let report = study_text(&record, ReportExtent::Brief, &Style::plain());
    let (first, _) = report.split_once("\n\nAlso compared").expect("two tables");
    for (page, printed) in [("docs/tour.md", report.trim_end()), ("README.md", first)] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        let block = format!("```\n{printed}\n```\n");
        assert!(text.contains(&block), "{page} has not this:\n\n{block}");
    }
}

#[test]
fn a_pair_has_the_same_verdict_in_a_table_and_in_a_ranking() {
    // Method: every primary comparison of every record beside the same pair in the
    // ranking by the same metric. A primary one is fragile only where the reading without
    // disturbed slices says something else, or where the spread of the others makes a
    // direction certain that one of its own blocks speaks against.
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
                !comparison.fragile || differs || has_a_block_against(comparison),
                "{}: {comparison:?}",
                folder.display()
            );
        }
    }
    assert!(pairs > 100, "{pairs}");
}

/// Whether it says a direction, and one of its blocks the other one.
fn has_a_block_against(comparison: &Comparison) -> bool {
    let above = |ratio: f64| ratio > 1.0;
    let mut blocks = comparison.per_block.iter().flatten();
    let side = comparison.ratio.map(above);
    comparison.verdict.is_directed() && blocks.any(|ratio| Some(above(*ratio)) != side)
}
