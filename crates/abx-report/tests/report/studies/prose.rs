//! Findings as every output prints them: whole sentences with readable figures.

use abx_evidence::{FindingId, Level};
use abx_report::{ReportExtent, Style, study_markdown, study_text};
use abx_verdict::{StudyRecord, Validity, new_finding};

use crate::studies::agreement::all_records;
use crate::support::study_html;

/// So wide that no line is broken.
const WIDE: Style = Style {
    width: 100_000,
    ..Style::plain()
};

/// The mistakes in the figures and blanks of a line.
fn mistakes(line: &str, names: &[&str]) -> Vec<String> {
    let mut wrong = Vec::new();
    if line.trim_start().contains("  ") || line.contains('…') {
        wrong.push(line.to_owned());
    }
    let is_code = |at: usize| line[..at].matches('`').count() % 2 == 1;
    let mut previous = "";
    for word in line.split(' ') {
        let at = word.as_ptr() as usize - line.as_ptr() as usize;
        let bare = word.trim_matches(['(', ')', ',', ';', ':', '.', '[', ']', '\u{a0}']);
        let number = bare
            .split(['/', '.', '%', '\u{a0}'])
            .next()
            .unwrap_or_default();
        let is_digits = !number.is_empty() && number.chars().all(|letter| letter.is_ascii_digit());
        let is_named = names.contains(&bare) || previous.starts_with("port");
        if is_digits && number.len() > 3 && !is_code(at) && !is_named {
            wrong.push(format!("{word}: {line}"));
        }
        if bare.ends_with('%') && bare.len() > 1 && bare.chars().nth_back(1) != Some('\u{a0}') {
            let is_percentage = bare
                .chars()
                .nth_back(1)
                .is_some_and(|character| character.is_ascii_digit());
            if is_percentage && !is_code(at) {
                wrong.push(format!("{word}: {line}"));
            }
        }
        previous = word;
    }
    wrong
}

/// The lines of a report that are findings or remedies.
fn finding_lines(text: &str) -> impl Iterator<Item = &str> {
    let levels = ["note       ", "limit      ", "no result  "];
    text.lines().filter_map(move |line| {
        let level = levels.iter().find_map(|level| line.strip_prefix(level));
        level.or_else(|| line.strip_prefix("           → "))
    })
}

fn names(record: &StudyRecord) -> Vec<&str> {
    let subjects = record
        .measured
        .subjects
        .iter()
        .map(|subject| subject.name.as_str());
    let loads = record.measured.loads.iter().map(|load| load.name.as_str());
    subjects.chain(loads).collect()
}

#[test]
fn every_printed_finding_is_whole_and_its_figures_are_separated() {
    // Method: the findings of all saved records, brief and full, and the bullets of Markdown. No
    // figure of four digits lacks its comma, no blank is doubled, and no text is cut. At 80
    // columns no line begins with a unit.
    let mut seen = 0;
    for (place, record) in all_records() {
        let names = names(record);
        for extent in [ReportExtent::Brief, ReportExtent::Full] {
            let text = study_text(record, extent, &WIDE);
            for line in finding_lines(&text) {
                assert_eq!(mistakes(line, &names), Vec::<String>::new(), "{place}");
                seen += 1;
            }
            for line in study_text(record, extent, &Style::plain()).lines() {
                assert!(!line.trim_start().starts_with("% "), "{place}: {line}");
            }
        }
        let markdown = study_markdown(record, &[]);
        for line in markdown.lines().filter(|line| line.starts_with("- **")) {
            assert!(!line.contains("\\`"), "{place}: {line}");
        }
    }
    assert!(seen > 200, "{seen}");
    // The mistakes that the check finds.
    for line in ["12345 requests", "at 18776/s", "a  b", "cut…", "95% of it"] {
        assert!(!mistakes(line, &[]).is_empty(), "{line}");
    }
}

#[test]
fn markdown_folds_notes_and_merges_similar_ones() {
    // Method: two notes that differ in their subject, with a remedy that quotes a setting; and a
    // bound, which stays visible.
    let mut record = crate::support::study();
    let note = |subject: &str| {
        let message = format!("{subject} lost 12345 packets");
        let note = new_finding(FindingId::LostPackets, message).at(Level::Note);
        note.about(subject)
            .with_remedy("raise `net.core.somaxconn` to 4096")
    };
    let bound = new_finding(FindingId::GeneratorBound, "it was the limit").at(Level::Bound);
    record.conclusions.validity = Validity::of(vec![note("nginx"), note("lighttpd"), bound]);
    let markdown = study_markdown(&record, &[]);
    let (visible, folded) = markdown
        .split_once("<details><summary>Notes: lost\\_packets (2)")
        .unwrap();
    let limit = "- **limit** it was the limit";
    assert!(visible.contains(limit), "{markdown}");
    assert!(!visible.contains("**note**"), "{markdown}");
    let entry = "- **note** nginx lost 12,345 packets (also lighttpd)<br>→ Raise \
                 `net.core.somaxconn` to 4,096\n";
    assert!(folded.contains(entry), "{markdown}");
    let page = study_html(&record, &[]);
    assert!(page.contains("nginx lost 12,345 packets"), "{page}");
}
