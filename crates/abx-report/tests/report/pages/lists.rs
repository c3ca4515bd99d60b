//! The pages of several records: the list, and records side by side.

use abx_report::{
    Listed, NamedRecord, NotShown, bisect_html, index_html, notice_html, page_policy,
    side_by_side_html, trend_html,
};
use abx_verdict::{Comparison, Metric, StudyRecord, Verdict};
use insta::assert_snapshot;
use proptest::prelude::*;

use crate::pages::history::mixed;
use crate::pages::html::{golden, hostile, measured, tainted};
use crate::pages::page::Page;
use crate::support::{comparison, load, run, study, study_html};

fn side<'a>(id: &'a str, record: &'a StudyRecord) -> NamedRecord<'a> {
    NamedRecord { id, record }
}

#[test]
fn a_page_of_a_list() {
    // Method: every kind of verdict cell, records beyond the limit, a foreign file, and a search
    // text.
    let listed = Listed::Folder {
        text: Some("nginx"),
    };
    assert_snapshot!(golden(&index_html(&mixed(), listed)));
}

#[test]
fn a_page_of_records_side_by_side() {
    // Method: two studies, a run, and one that could not be read.
    let (first, mut second, run) = (measured(3, 2), measured(3, 2), run());
    second.conclusions.comparisons = vec![comparison(
        "lighttpd",
        Some([0.9, 0.85, 0.96]),
        Verdict::Slower,
    )];
    let records = [
        side("3fa9c1", &first),
        side("9c0d1e", &second),
        side("77aa00", &run),
    ];
    let not_shown = NotShown {
        id: "0a1b2c".to_owned(),
        why: "it is gone: look at `abx history`".to_owned(),
    };
    assert_snapshot!(golden(&side_by_side_html(&records, &[not_shown])));
}

#[test]
fn ratios_of_one_load_and_metric_stand_together_on_one_axis() {
    // Method: two records of the same two loads, one of them with response times in addition to
    // throughput. Rows are in the order of metric, load and record, with one axis.
    let mut first = study();
    first.measured.loads = vec![load("c10", 10), load("c100", 100)];
    let of = |name: &str, metric| Comparison {
        load: name.to_owned(),
        metric,
        ..comparison("lighttpd", Some([1.12, 1.08, 1.16]), Verdict::Faster)
    };
    let throughput = ["c10", "c100"].map(|name| of(name, Metric::Throughput));
    first.conclusions.comparisons = throughput.into();
    let mut second = first.clone();
    second
        .conclusions
        .comparisons
        .insert(0, of("c100", Metric::ResponseP99));
    let records = [side("a", &first), side("b", &second)];
    let html = side_by_side_html(&records, &[]);
    let rows = html.split("class=\"of\"").skip(1);
    let rows: Vec<&str> = rows
        .map(|row| row.split(['<', '>']).nth(1).unwrap())
        .collect();
    let expected = [
        "a, c10 (10 connections), requests/s",
        "b, c10 (10 connections), requests/s",
        "a, c100 (100 connections), requests/s",
        "b, c100 (100 connections), requests/s",
        "b, c100 (100 connections), p99 response time",
    ];
    assert_eq!(rows, expected);
    assert_eq!(html.matches("<tfoot").count(), 1);
}

#[test]
fn pages_without_comparisons_explain_that() {
    // Method: no record, and a single run, which compares nothing.
    let run = run();
    for records in [&[][..], &[side("77aa00", &run)]] {
        assert!(side_by_side_html(records, &[]).contains("None of them compares anything."));
    }
}

#[test]
fn a_server_sends_the_policy_that_pages_have() {
    // Method: the sent policy begins with the one in the list. The one in a report, which forbids
    // forms too, allows the same styles and programs.
    let sent = page_policy();
    let policy_of = |html: &str| {
        let page = Page::read(html);
        let policy = page.values("content").find(|text| text.contains("-src"));
        policy.unwrap().replace("&#39;", "'")
    };
    let list = policy_of(&index_html(&mixed(), Listed::Named));
    assert!(sent.starts_with(&list), "{sent}\n{list}");
    let report = policy_of(&study_html(&study(), &[]));
    assert_eq!(
        report.replace("form-action 'none'", "form-action 'self'"),
        list
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_text_escapes_its_element(
        texts in [hostile(), hostile(), hostile(), hostile()],
    ) {
        // Method: hostile texts in every place of lists, trends, searches, records side by side
        // and notices. Elements and attributes stay the same.
        let pages = |texts: &[String; 4]| {
            let [name, why, load, message] = texts;
            let mut list = mixed();
            for entry in &mut list.entries {
                entry.outline.subjects[0].name = format!("a{name}");
                entry.outline.loads = vec![load.clone()];
                entry.outline.label = Some(message.clone());
                entry.file = format!("{message}.json");
            }
            list.folder = message.clone();
            list.unread[0].why = why.replace('`', "");
            let record = tainted(texts);
            let mut run = run();
            run.measured.subjects[0].name = format!("http://{name}/");
            run.measured.subjects[0].address = Some(format!("http://{name}/"));
            let not_shown = NotShown { id: format!("a{name}"), why: "x".to_owned() };
            let records = [side("a", &record), side("b", &run)];
            let listed = Listed::Folder { text: Some(message) };
            let mut trend = crate::others::trend::mixed();
            trend.study = format!("a{name}");
            for series in &mut trend.series {
                series.subject = format!("a{name}");
                series.load = load.clone();
                series.machine.cpu_model = Some(message.clone());
                for point in &mut series.points {
                    point.label = Some(message.clone());
                    point.commit = Some(load.clone());
                }
            }
            let mut search = crate::others::bisect::record();
            search.label = Some(message.clone());
            search.revisions = [format!("a{name}"), load.clone()];
            search.commits[5].subject_line = message.clone();
            [
                trend_html(&trend),
                bisect_html(&search, None),
                index_html(&list, listed),
                side_by_side_html(&records, &[not_shown]),
                notice_html(&format!("a{name}"), &format!("a{}", message.replace(['`', '\n', '\r'], ""))),
            ]
        };
        let plain = pages(&["", "", "x", "y"].map(str::to_owned));
        for (html, plain) in pages(&texts).iter().zip(&plain) {
            prop_assert_eq!(Page::read(html).names(), Page::read(plain).names());
        }
    }
}
