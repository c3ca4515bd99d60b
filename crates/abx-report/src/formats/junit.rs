//! JUnit XML: a test case for each primary comparison and each expectation.

use abx_verdict::{Comparison, ExpectationResult, Standing, StudyRecord, Verdict};

use crate::html::markup::{Element, Markup, element};
use crate::sections::compared::expectations::{outcome, overall, reason};
use crate::words::metrics::metric_under;
use crate::words::style::Style;
use crate::words::units::GLUE;
use crate::words::verdict::sentence;
use crate::words::wrap::{clean, clean_name};

/// A study as JUnit XML. An invalid comparison or expectation is an error. An inconclusive
/// comparison and an unsettled expectation are skipped. An expectation that is not met is a
/// failure.
#[must_use]
pub fn study_junit(record: &StudyRecord, results: &[ExpectationResult]) -> String {
    let expectations = results.iter().map(|result| of_expectation(record, result));
    let comparisons = record.conclusions.primary();
    let comparisons = comparisons.map(|comparison| of_comparison(record, comparison));
    let cases: Vec<Case> = expectations.chain(comparisons).collect();
    let suite = |tag| {
        let count = |result| {
            cases
                .iter()
                .filter(|case| case.result == Some(result))
                .count()
        };
        let suite = element(tag).with("tests", cases.len());
        let suite = suite.with("failures", count("failure"));
        let suite = suite.with("errors", count("error"));
        let suite = suite.with("skipped", count("skipped"));
        suite.with("time", record.measured.elapsed_s)
    };
    let inner = suite("testsuite")
        .with("name", "abx")
        .add(properties(record, overall(results)))
        .add_all(cases.iter().map(Case::markup));
    let document = Markup::from(suite("testsuites").add(inner)).into_string();
    // Line ends within values are escaped, and escaped values have no angle bracket. XML 1.0
    // forbids two code points.
    let document = document.replace('\n', "&#10;").replace("><", ">\n<");
    let document = document
        .replace(GLUE, " ")
        .replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{document}\n")
}

struct Case {
    class: String,
    name: String,
    /// The element of a case that did not pass.
    result: Option<&'static str>,
    message: String,
}

impl Case {
    fn markup(&self) -> Element {
        let result = self
            .result
            .map(|tag| element(tag).with("message", clean(&self.message)));
        // Cases are measured together, so a case has no time of its own.
        element("testcase")
            .with("classname", clean_name(&self.class))
            .with("name", clean_name(&self.name))
            .with("time", 0)
            .add_all(result)
            .add(element("system-out").text(&self.message))
    }
}

fn of_comparison(record: &StudyRecord, comparison: &Comparison) -> Case {
    let Comparison {
        subject,
        baseline,
        load,
        ..
    } = comparison;
    let metric = metric_under(record, load, comparison.metric);
    Case {
        class: format!("abx.comparison.{load}"),
        name: format!("{metric} of {subject} compared with {baseline}"),
        result: match comparison.verdict {
            Verdict::Invalid => Some("error"),
            Verdict::Inconclusive => Some("skipped"),
            _ => None,
        },
        message: sentence(record, comparison, &Style::plain()),
    }
}

fn of_expectation(record: &StudyRecord, result: &ExpectationResult) -> Case {
    let expected = &result.expected;
    Case {
        class: format!("abx.expectation.{}", result.load),
        name: match (result.subject.as_str(), result.other.as_str()) {
            ("", _) => expected.clone(),
            (subject, "") => format!("{expected} ({subject})"),
            (subject, other) => format!("{expected} ({subject} compared with {other})"),
        },
        result: match result.standing {
            Standing::Holds => None,
            Standing::Fails => Some("failure"),
            Standing::Unsettled(_) => Some("skipped"),
            Standing::Invalid(_) => Some("error"),
        },
        message: reason(record, result),
    }
}

fn properties(record: &StudyRecord, expected: Option<&Standing>) -> Element {
    let measured = &record.measured;
    let expected = expected.map(|standing| ("expectations", outcome(standing).to_owned()));
    let properties = [
        ("abx_version", measured.abx_version.clone()),
        ("seed", measured.seed.to_string()),
        (
            "baseline",
            measured.only_baseline().unwrap_or_default().to_owned(),
        ),
        ("margin", measured.settings.margin.to_string()),
        ("blocks", measured.complete_blocks().count().to_string()),
    ];
    let label = measured.label.clone().map(|label| ("label", label));
    let properties = expected.into_iter().chain(label).chain(properties);
    element("properties").add_all(properties.map(|(name, value)| {
        element("property")
            .with("name", name)
            .with("value", clean(&value))
    }))
}
