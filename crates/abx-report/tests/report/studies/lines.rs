//! How many lines reports take on a terminal of 80 columns, and that none of them loses a verdict.

use abx_report::{ReportExtent, Style, study_text};
use abx_verdict::{StudyRecord, Verdict};

use crate::studies::agreement::all_records;

/// The most lines of a report and of a full one.
const MOST: [usize; 2] = [50, 300];
/// The same for two subjects under one load.
const MOST_OF_TWO: [usize; 2] = [30, 100];

fn texts(record: &StudyRecord) -> [String; 2] {
    let extents = [ReportExtent::Brief, ReportExtent::Full];
    extents.map(|extent| study_text(record, extent, &Style::plain()))
}

#[test]
fn every_saved_record_fits_on_a_screen() {
    // Method: the lines of both reports of each saved record.
    let mut long = Vec::new();
    let mut seen = 0;
    for (name, record) in all_records() {
        let is_small = record.measured.subjects.len() <= 2 && record.measured.loads.len() <= 1;
        let most = if is_small { MOST_OF_TWO } else { MOST };
        let lines = texts(&record).map(|text| text.lines().count());
        if lines[0] > most[0] || lines[1] > most[1] {
            long.push(format!("{name}: {lines:?} of {most:?}"));
        }
        seen += 1;
    }
    assert_eq!(long, Vec::<String>::new());
    assert!(seen >= 14, "{seen} records");
}

/// How often each mark stands in the matrix of a report, whose legend is below it.
fn marks_of_matrix(record: &StudyRecord, text: &str) -> [usize; 5] {
    let contrasts = record.measured.settings.contrasts.iter();
    let questions: Vec<&String> = contrasts
        .filter_map(|other| other.question.as_ref())
        .collect();
    let lines = text.lines().skip_while(|line| !line.is_empty());
    let lines = lines.take_while(|line| !line.contains("▲ better"));
    let rows = lines.filter(|line| questions.iter().all(|question| line != question));
    let mut marks = [0; 5];
    let mut before = ' ';
    for letter in rows.flat_map(|row| row.chars().chain([' '])) {
        let is_of_range = letter == '–' && before.is_ascii_digit();
        let at = MARKS.iter().position(|mark| *mark == letter);
        if let Some(at) = at.filter(|_| !is_of_range) {
            marks[at] += 1;
        }
        before = letter;
    }
    marks
}

const MARKS: [char; 5] = ['▲', '▼', '=', '?', '–'];

fn mark(verdict: Verdict) -> char {
    match verdict {
        Verdict::Faster | Verdict::Less => '▲',
        Verdict::Slower | Verdict::More => '▼',
        Verdict::Equivalent => '=',
        Verdict::Inconclusive => '?',
        Verdict::Invalid => '–',
    }
}

#[test]
fn every_verdict_of_a_saved_record_is_in_its_shortest_report() {
    // Method: the marks in the matrix of each report that has one, counted and compared with the
    // verdicts; a report that lost one must be noticed.
    let mut seen = 0;
    for (name, record) in all_records() {
        let [text, _] = texts(&record);
        if !text.contains("▲ better") {
            continue;
        }
        let verdicts = record
            .conclusions
            .primary()
            .map(|other| mark(other.verdict));
        let verdicts: Vec<char> = verdicts.collect();
        let count = |sign| verdicts.iter().filter(|other| **other == sign).count();
        let marks = marks_of_matrix(&record, &text);
        assert_eq!(marks, MARKS.map(count), "{name}: {text}");
        let lost = text.replacen(" ?", "", 1).replacen(" ▼", "", 1);
        assert_ne!(marks_of_matrix(&record, &lost), marks, "{name}");
        seen += 1;
    }
    assert!(seen >= 12, "{seen} records have a matrix");
}
