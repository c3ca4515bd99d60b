//! Properties of the audit of any text.

use proptest::prelude::*;

use crate::{all, fuzz};

/// Random pieces of reports in random order.
fn pieces() -> impl Strategy<Value = String> {
    let texts: Vec<String> = all().into_iter().map(|(_, text)| text).collect();
    let piece = (0..texts.len(), any::<prop::sample::Index>(), 0..400_usize).prop_map(
        move |(text, start, length)| {
            let letters: Vec<char> = texts[text].chars().collect();
            let start = start.index(letters.len());
            letters.iter().skip(start).take(length).collect::<String>()
        },
    );
    let between = prop::sample::select(vec!["", "\n", " ", "\r\n", "\t", "9", ",", "\x1b[1m", "|"]);
    let pieces = prop::collection::vec((piece, between), 0..8);
    pieces.prop_map(|pairs| {
        pairs
            .into_iter()
            .map(|(piece, between)| piece + between)
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_text_is_audited(text in ".{0,300}") {
        fuzz::any_text(&text);
    }

    #[test]
    fn any_lines_of_labels_and_numbers_are_audited(
        text in "((Total|Connect|Requests per second|requests in|Latency|50%|Errors): ?[0-9.,]{0,9} ?(ms|s|secs|%|\n|\\[ms\\])?){0,30}"
    ) {
        fuzz::any_text(&text);
    }

    #[test]
    fn pieces_of_reports_are_audited(text in pieces()) {
        fuzz::any_text(&text);
    }
}

#[test]
fn the_fuzzing_corpus_is_audited() {
    // Method: the body of the fuzz target, on the corpus and mutations of it.
    abx_corpus::replay_text("audit", 500, fuzz::any_text);
}

#[test]
fn complete_reports_are_audited() {
    // Method: the properties of any text, for each report of the folder.
    for (_, text) in all() {
        fuzz::any_text(&text);
    }
}

#[test]
fn large_texts_are_read_within_bounds() {
    // Method: more reports than are compared, and more text than is read.
    let report = crate::text("h2load-failed-within-done.txt");
    let many = crate::of(&report.repeat(1003));
    assert_eq!(many.reports.len(), 1000);
    let unread = many.files[0].unread.last().unwrap();
    assert!(unread.why.contains("1,000 reports"), "{unread:?}");
    assert_eq!(unread.line, 4001);
    let blank = "\n".repeat(33 << 20);
    let long = crate::of(&format!("{report}{blank}{report}"));
    assert_eq!(long.reports.len(), 1);
    let unread = long.files[0].unread.last().unwrap();
    assert!(unread.why.contains("first 32 MiB"), "{unread:?}");
}
