//! The number of lines that reports take on a terminal of 80 columns, without losing a verdict.

use abx_report::{ReportExtent, Style, study_text};
use abx_verdict::{StudyRecord, Verdict};

use crate::studies::agreement::all_records;

/// The most lines of a brief and of a full report.
const LINES_MAX: [usize; 2] = [50, 300];
/// The most lines of a brief and of a full report, for two subjects under one load.
const PAIR_LINES_MAX: [usize; 2] = [30, 100];

/// The brief and the full report.
fn texts(record: &StudyRecord) -> [String; 2] {
    let extents = [ReportExtent::Brief, ReportExtent::Full];
    extents.map(|extent| study_text(record, extent, &Style::plain()))
}

#[test]
fn every_saved_record_fits_on_a_screen() {
    // Method: the lines of both reports of each saved record.
    let mut long = Vec::new();
    let mut count = 0;
    for (name, record) in all_records() {
        let is_pair = record.measured.subjects.len() <= 2 && record.measured.loads.len() <= 1;
        let most = if is_pair { PAIR_LINES_MAX } else { LINES_MAX };
        let lines = texts(record).map(|text| text.lines().count());
        if lines[0] > most[0] || lines[1] > most[1] {
            long.push(format!("{name}: {lines:?} of {most:?}"));
        }
        count += 1;
    }
    assert_eq!(long, Vec::<String>::new());
    assert!(count >= 14, "{count} records");
}

/// How often each mark is in the matrix of a report. The legend ends the matrix.
fn count_marks(record: &StudyRecord, text: &str) -> [usize; 5] {
    let contrasts = record.measured.settings.contrasts.iter();
    let questions: Vec<&String> = contrasts
        .filter_map(|contrast| contrast.question.as_ref())
        .collect();
    let lines = text.lines().skip_while(|line| !line.is_empty());
    let lines = lines.take_while(|line| !line.contains("▲ better"));
    let rows = lines.filter(|line| questions.iter().all(|question| line != question));
    let mut counts = [0; 5];
    let mut previous = ' ';
    for letter in rows.flat_map(|row| row.chars().chain([' '])) {
        let is_of_interval = letter == '–' && previous.is_ascii_digit();
        let mark = MARKS.iter().position(|mark| *mark == letter);
        if let Some(mark) = mark.filter(|_| !is_of_interval) {
            counts[mark] += 1;
        }
        previous = letter;
    }
    counts
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
    // Method: the marks in each brief report with a matrix, counted and compared with the verdicts;
    // and a report without two of its marks, which the test must notice.
    let mut count = 0;
    for (name, record) in all_records() {
        let [text, _] = texts(record);
        if !text.contains("▲ better") {
            continue;
        }
        let mut expected = [0_usize; 5];
        for comparison in record.conclusions.primary() {
            let mark = mark(comparison.verdict);
            let index = MARKS.iter().position(|other| *other == mark);
            expected[index.expect("a known mark")] += 1;
        }
        let counts = count_marks(record, &text);
        assert_eq!(counts, expected, "{name}: {text}");
        let incomplete = text.replacen(" ?", "", 1).replacen(" ▼", "", 1);
        assert_ne!(count_marks(record, &incomplete), counts, "{name}");
        count += 1;
    }
    assert!(count >= 12, "{count} records have a matrix");
}
