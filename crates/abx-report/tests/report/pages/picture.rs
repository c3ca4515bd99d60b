//! The picture of verdicts. `crates/abx/tests/output/formats.rs` tests with a foreign reader that
//! it is well-formed XML.

use std::collections::BTreeSet;

use abx_report::study_svg;
use abx_verdict::Verdict;
use proptest::prelude::*;

use crate::pages::html::{hostile, measured, tainted};
use crate::readmes::record_of;
use crate::support::{comparison, study};

/// A line per element, without the style, which is a separate file.
fn golden(svg: &str) -> String {
    let (before, rest) = svg.split_once("<style>").expect("a style");
    let (_, after) = rest.split_once("</style>").expect("it ends");
    format!("{before}<style>...</style>{after}").replace("><", ">\n<")
}

#[test]
fn a_picture_of_a_study() {
    // Method: two subjects and three blocks, with a sentence, an interval and a table.
    insta::assert_snapshot!(golden(&study_svg(&measured(3, 2))));
}

#[test]
fn a_picture_follows_light_and_dark_and_loads_nothing() {
    // Method: the words of the file. Its only URL is the name of the format.
    let svg = study_svg(&measured(3, 2));
    assert!(svg.contains("@media (prefers-color-scheme: dark)"));
    assert_eq!(svg.matches("://").count(), 1, "{svg}");
    for word in [
        "<script",
        "@import",
        "@font-face",
        "url(http",
        "<image",
        "<foreignObject",
    ] {
        assert!(!svg.contains(word), "{word}");
    }
}

#[test]
fn long_names_continue_on_the_next_line() {
    // Method: a real study whose longest pair has 41 letters, on two lines.
    let svg = study_svg(&record_of("websocket"));
    for line in [">php-select-apart-nagle ÷<", ">php-select-apart<"] {
        assert!(svg.contains(line), "{line}");
    }
    assert!(!svg.contains('…'));
}

#[test]
fn many_comparisons_are_counted() {
    // Method: more comparisons than have sentences, each with its interval.
    let mut record = study();
    record.conclusions.comparisons =
        vec![comparison("lighttpd", Some([1.12, 1.08, 1.16]), Verdict::Faster); 5];
    let svg = study_svg(&record);
    assert!(svg.contains(">5 comparisons: 5 faster.</text>"), "{svg}");
    assert_eq!(svg.matches("class=\"bar\"").count(), 5 + 1, "{svg}");
    record.conclusions.comparisons.clear();
    let svg = study_svg(&record);
    assert!(svg.contains(">Nothing was compared.</text>"), "{svg}");
}

/// The names of all elements.
fn tags(svg: &str) -> BTreeSet<&str> {
    let parts = svg.split('<').skip(1);
    let names = parts.map(|part| part.trim_start_matches('/').split([' ', '>', '/']).next());
    names.flatten().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_text_escapes_its_element(
        texts in [hostile(), hostile(), hostile(), hostile()],
    ) {
        // Method: hostile texts in every place that a subject or a study file can fill. The picture
        // has the same elements as one of plain texts, and no letter that XML forbids.
        let svg = study_svg(&tainted(&texts));
        let plain = study_svg(&tainted(&["", "", "x", "y"].map(str::to_owned)));
        prop_assert_eq!(tags(&svg), tags(&plain));
        let is_forbidden = |letter: char| letter.is_control() && letter != '\n'
            || matches!(letter, '\u{fffe}' | '\u{ffff}');
        prop_assert!(!svg.contains(is_forbidden), "{svg}");
    }
}
