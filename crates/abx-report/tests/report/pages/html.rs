//! The HTML page. Its golden texts are files under `snapshots/`, without style, program and policy,
//! which are separate files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use abx_evidence::record::{BlockLoad, BlockSubject, Disturbance, Histograms, Round, SliceRecord};
use abx_evidence::{FindingId, Histogram, Level, Limits, SliceTally};
use abx_report::{RecordPlace, record_json};
use abx_verdict::{
    Axis, Comparison, Crossover, Metric, Place, Ranking, Scalability, StudyRecord, Sweep, Validity,
    Verdict, new_finding,
};
use proptest::prelude::*;

use crate::pages::page::Page;
use crate::pages::size::BYTES_MAX;
use crate::readmes::record_of;
use crate::support::study_html;
use crate::support::{
    comparison, finding, load, outcomes, run, set_blocks, study, subject, summary,
};

/// The study with slices, times and costs in each of its blocks.
pub fn measured(blocks: u32, rounds: usize) -> StudyRecord {
    let mut record = study();
    set_blocks(&mut record, blocks);
    let names: Vec<String> = record
        .measured
        .subjects
        .iter()
        .map(|subject| subject.name.clone())
        .collect();
    for block in &mut record.measured.blocks {
        let index = u64::from(block.index);
        for (number, name) in names.iter().enumerate() {
            let life = BlockSubject {
                port: 20_000,
                ready_s: Some(0.12),
                cpu_s: Some(0.3),
                rss_bytes_max: Some(14_200_000 - 9_000_000 * number as u64),
                end: "stopped".to_owned(),
                died: false,
                failed_start: None,
                listener: None,
            };
            block.subjects.insert(name.clone(), life);
        }
        for part in &mut block.loads {
            measure(part, &names, index, rounds);
        }
    }
    record.conclusions.comparisons[0].per_block = (0..blocks)
        .map(|index| Some(1.1 + f64::from(index % 3) * 0.02))
        .collect();
    record
}

fn measure(part: &mut BlockLoad, names: &[String], index: u64, rounds: usize) {
    let slice = |(number, name): (usize, &String)| {
        let mut slice = SliceRecord::of(name, &SliceTally::default());
        slice.ok = 3_300 + 400 * number as u64 + 10 * index;
        slice.clocked = slice.ok;
        slice.completed = slice.ok;
        slice.sent = slice.ok;
        slice.outcomes = outcomes(&format!("{{\"ok\":{}}}", slice.ok));
        slice.wall_ns = 100_000_000;
        slice.measured_ns = 90_000_000;
        slice.connection_ns = 100 * slice.measured_ns;
        slice.server_cpu_ns = Some(98_000_000);
        slice
    };
    let mut round = Round {
        disturbed: Vec::new(),
        slices: names.iter().enumerate().map(slice).collect(),
    };
    part.rounds = vec![round.clone(); rounds.saturating_sub(1)];
    round.disturbed = vec![Disturbance::Steal];
    part.rounds.push(round);
    part.histograms = BTreeMap::new();
    for (number, name) in names.iter().enumerate() {
        let mut response = Histogram::new();
        let shortest = 2_000 - 200 * number as u64;
        (0..50).for_each(|step| response.record_ns((shortest + step * step * 4) * 1_000));
        let histograms = Histograms {
            response,
            ..Histograms::default()
        };
        part.histograms.insert(name.clone(), histograms);
    }
}

/// A readable page: one element per line, without style, program, policy and record.
pub fn golden(html: &str) -> String {
    let cut = |text: String, from: &str, to: &str| {
        let Some(start) = text.find(from).map(|start| start + from.len()) else {
            // A list holds no record.
            assert!(from.contains("record"), "{from}");
            return text;
        };
        let end = start + text[start..].find(to).expect("it ends");
        format!("{}...{}", &text[..start], &text[end..])
    };
    let text = cut(html.to_owned(), "<style>", "</style>");
    let text = cut(text, "id=\"record\">", "</script>");
    let text = cut(text, "<script>", "</script>");
    let text = cut(text, "style-src &#39;", "&#39;");
    let text = cut(text, "script-src &#39;", "&#39;");
    text.replace("><", ">\n<").replace("/>M", "/>\nM")
}

/// A page that holds its record.
fn with_record(record: &StudyRecord) -> String {
    let place = RecordPlace {
        is_embedded: true,
        ..RecordPlace::default()
    };
    abx_report::study_html(record, &[], place)
}

#[test]
fn a_page_names_its_record_and_embeds_it_on_request() {
    // Method: a page of a record with an id, and with a file of a hostile name next to the page.
    let record = study();
    let place = RecordPlace {
        name: Some("3fa9c1"),
        file: Some("a\"b.json.zst"),
        is_embedded: false,
    };
    let html = abx_report::study_html(&record, &[], place);
    let page = Page::read(&html);
    assert!(html.contains("<code>abx report 3fa9c1 --html FILE</code>"));
    assert!(page.values("href").any(|link| link == "./a%22b.json.zst"));
    assert_eq!(page.record(), "");
    assert!(
        Page::read(&with_record(&record))
            .values("id")
            .any(|id| id == "download")
    );
}

#[test]
fn a_page_is_made_of_its_record_alone() {
    // Method: the record in a page is the JSON, letter for letter, and makes the same page again.
    let record = StudyRecord::judged(measured(3, 2).measured);
    let html = with_record(&record);
    let json = Page::read(&html).record();
    assert_eq!(json, record_json(&record));
    let read_back: StudyRecord = serde_json::from_str(&json).unwrap();
    assert_eq!(with_record(&read_back), html);
    let run = run();
    assert_eq!(Page::read(&with_record(&run)).record(), record_json(&run));
}

#[test]
fn a_study_of_several_loads_has_a_plot_of_each_and_of_their_sweep() {
    // Method: a sweep of three loads with a crossover, and a separate load. The page has one plot
    // of the sweep, and four of each other kind.
    let mut record = study();
    record.measured.loads = vec![load("c10", 10), load("c100", 100), load("c1000", 1_000)];
    let mut other = load("other", 10);
    other.settings.requests[0].path = "/other".to_owned();
    record.measured.loads.push(other);
    let names = ["c10", "c100", "c1000", "other"];
    record.conclusions.summaries = names
        .iter()
        .flat_map(|load| ["nginx", "lighttpd"].map(|name| summary(name, load, 40_000.0)))
        .collect();
    let crossover = Crossover {
        before: "nginx".to_owned(),
        after: "lighttpd".to_owned(),
        ahead_until: 10.0,
        ahead_from: 1_000.0,
        at: 130.0,
        low: Some(90.0),
        high: None,
        confidence: 0.95,
    };
    record.conclusions.sweeps = vec![Sweep {
        axis: Axis::Connections,
        metric: Metric::Throughput,
        loads: names[..3].iter().map(|name| (*name).to_owned()).collect(),
        at: vec![10.0, 100.0, 1_000.0],
        crossovers: vec![crossover],
        knees: Vec::new(),
        scalability: vec![Scalability {
            subject: "nginx".to_owned(),
            lambda: 7_140.0,
            sigma: 0.0971,
            kappa: 1.92e-4,
            peak_connections: None,
            r2: Some(0.97),
        }],
    }];
    set_blocks(&mut record, 2);
    for block in &mut record.measured.blocks {
        let subjects = ["nginx", "lighttpd"].map(str::to_owned);
        block
            .loads
            .iter_mut()
            .for_each(|part| measure(part, &subjects, 0, 2));
    }
    let html = study_html(&record, &[]);
    let page = Page::read(&html);
    let ids = |start: &str| {
        let titles = page.values("id").filter(|id| id.ends_with("-title"));
        titles.filter(|id| id.starts_with(start)).count()
    };
    assert_eq!(
        (ids("slices-"), ids("quantiles-"), ids("sweep-")),
        (4, 4, 1)
    );
    let points = page
        .values("aria-label")
        .filter(|label| label.contains("1,000 connections:"));
    assert_eq!(points.count(), 2);
    let classes = |name: &str| page.values("class").filter(|class| *class == name).count();
    assert_eq!((classes("crossover"), classes("even")), (1, 1));
    assert!(html.contains("they are even at about 130"));
    assert!(html.contains("no peak predicted"));
}

#[test]
fn several_subjects_have_a_ranking_with_every_pair() {
    // Method: three subjects, two of which share their places. Pairs have two baselines, so that
    // each names its own.
    let mut record = study();
    record.measured.subjects.push(subject("event"));
    let place = |name: &str, best, worst| Place {
        subject: name.to_owned(),
        best,
        worst,
        tied_for_first: best == 1,
    };
    let pair = |baseline: &str| Comparison {
        baseline: baseline.to_owned(),
        ..comparison("event", Some([1.12, 1.08, 1.16]), Verdict::Faster)
    };
    record.conclusions.rankings = vec![Ranking {
        metric: Metric::Throughput,
        load: "c100".to_owned(),
        places: vec![
            place("event", 1, 2),
            place("nginx", 1, 2),
            place("lighttpd", 3, 3),
        ],
        pairs: vec![pair("nginx"), pair("lighttpd")],
    }];
    let html = study_html(&record, &[]);
    Page::read(&html);
    let cells = |text: &str| html.matches(&format!(">{text}</t")).count();
    assert_eq!((cells("1-2"), cells("tied")), (2, 2));
    assert_eq!((cells("event ÷ nginx"), cells("event ÷ lighttpd")), (1, 1));
}

#[test]
fn a_large_study_begins_with_a_matrix_that_links_to_details() {
    // Method: a real study of twelve subjects under five loads. Every link of the page has its
    // target, each primary comparison a cell, each limited or invalid one its reason, and the
    // boxes are folded.
    let record = record_of("http-servers");
    let html = study_html(&record, &[]);
    let page = Page::read(&html);
    let ids: BTreeSet<&str> = page.values("id").collect();
    let links: Vec<&str> = page.values("href").collect();
    let inside = links.iter().filter_map(|link| link.strip_prefix('#'));
    inside.for_each(|id| assert!(ids.contains(id), "{id} is nowhere"));
    let links_to = |start: &str| links.iter().filter(|link| link.starts_with(start)).count();
    let compared = record.conclusions.primary().count();
    assert_eq!(links_to("#ratio-"), compared);
    let is_limited = |comparison: &&Comparison| {
        let mut limits = comparison.limits(&record.conclusions.validity);
        limits.any(|finding| finding.level != Level::Note && finding.limits != Limits::Throughput)
    };
    let limited = record
        .conclusions
        .comparisons
        .iter()
        .filter(is_limited)
        .count();
    assert!(links_to("#finding-") >= limited, "{limited}");
    assert!(limited > 0);
    let order = [
        "class=\"matrix\"",
        "<details><summary>Each verdict",
        "class=\"verdicts\"",
    ];
    let places = order.map(|part| html.find(part).expect(part));
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn few_verdicts_have_boxes() {
    // Method: one comparison has a box, and five have folded boxes below a matrix.
    for (count, has_matrix, is_folded) in [(1, false, false), (5, true, true)] {
        let mut record = study();
        let names: Vec<String> = (0..count).map(|number| format!("c{number}")).collect();
        record.measured.loads = names.iter().map(|name| load(name, 10)).collect();
        let comparisons = names.iter().map(|name| Comparison {
            load: name.clone(),
            ..comparison("lighttpd", Some([1.12, 1.08, 1.16]), Verdict::Faster)
        });
        record.conclusions.comparisons = comparisons.collect();
        let html = study_html(&record, &[]);
        assert_eq!(html.contains("class=\"matrix\""), has_matrix, "{count}");
        assert_eq!(html.contains("Each verdict in words"), is_folded, "{count}");
    }
}

#[test]
fn findings_of_one_cause_are_one_entry() {
    // Method: three findings of one cause with the same remedy, and one of another cause.
    let mut record = study();
    let steal = |number: u32| new_finding(FindingId::Steal, format!("{number} % were taken"));
    let findings = vec![steal(1), steal(2), finding(Level::Bound), steal(3)];
    record.conclusions.validity = Validity::of(findings);
    let html = study_html(&record, &[]).replace('\u{a0}', " ");
    Page::read(&html);
    let entries = html.split("<li class=\"finding ").skip(1);
    assert_eq!(entries.count(), 2);
    assert_eq!(html.matches("Remedy: ").count(), 2);
    assert!(html.contains("The same 2 more times"));
    for part in [
        "finding-1\"",
        "1 % were taken",
        "2 % were taken",
        "3 % were taken",
    ] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn a_study_without_blocks_has_a_page() {
    // Method: a study that was interrupted before any measurement has no plot and no verdict.
    let mut record = study();
    record.measured.blocks.clear();
    record.conclusions.comparisons.clear();
    record.conclusions.summaries.clear();
    let html = study_html(&record, &[]);
    let page = Page::read(&html);
    assert_eq!(
        page.values("class")
            .filter(|class| *class == "plot")
            .count(),
        0
    );
    assert!(html.contains("Nothing was compared."));
}

#[test]
fn a_verdict_that_is_invalid_has_no_ratio() {
    // Method: failures of one subject, in blocks that still have their ratios: dots, but no
    // interval and no diamond.
    let mut record = measured(3, 2);
    record.conclusions.comparisons = vec![Comparison {
        per_block: vec![Some(1.1); 3],
        findings: vec![0],
        ..comparison("lighttpd", None, Verdict::Invalid)
    }];
    record.conclusions.validity = Validity::of(vec![finding(Level::Void)]);
    let html = study_html(&record, &[]);
    let page = Page::read(&html);
    let classes = |name: &str| page.values("class").filter(|class| *class == name).count();
    assert_eq!((classes("interval"), classes("dots")), (0, 1));
    assert!(html.contains("no interval"));
}

#[test]
fn a_large_study_has_a_small_page() {
    // Method: 60 blocks of 20 rounds of four subjects under three loads. The page reports how many
    // slices it leaves out.
    let mut record = study();
    record.measured.subjects = ["nginx", "lighttpd", "event", "thread"].map(subject).into();
    record.measured.loads = vec![load("c10", 10), load("c100", 100), load("c1000", 1_000)];
    set_blocks(&mut record, 60);
    let names: Vec<String> = record
        .measured
        .subjects
        .iter()
        .map(|subject| subject.name.clone())
        .collect();
    for block in &mut record.measured.blocks {
        for part in &mut block.loads {
            measure(part, &names, block.index.into(), 20);
        }
    }
    let html = study_html(&record, &[]);
    let page = Page::read(&html);
    assert!(html.len() <= BYTES_MAX, "{} bytes", html.len());
    assert_eq!(page.record(), "");
    assert!(html.contains("of 4,800 slices are drawn"));
}

/// Text that tries to escape its place.
pub fn hostile() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "\" onload=\"alert(1)",
        "' autofocus onfocus='alert(1)",
        "</title></desc><img src=x onerror=alert(1)>",
        "</style><style>*{display:none}",
        "\\u003c/script>",
        "a\u{202e}txt.exe\u{2066}\u{200b}",
        "\u{0}\u{7}\u{1b}[31m\u{9b}2J\u{85}",
        "&lt;&amp;&#39;",
        "]]><![CDATA[",
        "{{name}}${name}",
    ]);
    prop_oneof![3 => known.prop_map(str::to_owned), 1 => any::<String>()]
}

/// The study with these texts in every place that takes a text from outside.
pub fn tainted(texts: &[String; 4]) -> StudyRecord {
    let [name, other, load, message] = texts.clone();
    static UNTAINTED: LazyLock<String> = LazyLock::new(|| record_json(&measured(1, 2)));
    let quoted = |text: &str| serde_json::to_string(text).expect("a string");
    let json = UNTAINTED
        .replace("\"nginx\"", &quoted(&format!("a{name}")))
        .replace("\"lighttpd\"", &quoted(&format!("b{other}")))
        .replace("\"c100\"", &quoted(&load));
    let mut record: StudyRecord = serde_json::from_str(&json).expect("a record");
    record.measured.abx_version = message.clone();
    record.measured.command = texts.to_vec();
    record.measured.label = Some(message.clone());
    record.measured.machine.kernel = Some(message.clone());
    record.measured.machine.cpu_model = Some(other.clone());
    record.measured.subjects[0].version = Some(message.clone());
    record.measured.subjects[0].stand_in_for = Some(message.clone());
    record.measured.subjects[1].address = Some(message.clone());
    record.measured.loads[0].settings.requests[0].path = format!("/{message}");
    record.measured.loads[0].settings.arrivals.text = other.clone();
    let pilot = record.measured.loads[0].pilot.as_mut().expect("it had one");
    pilot.interleave_reason = Some(message.clone());
    let finding = new_finding(FindingId::Other(name.clone()), message.clone()).with_remedy(other);
    let finding = finding.about(&name);
    record.conclusions.validity = Validity::of(vec![finding.under(&load)]);
    record.measured.end = abx_evidence::record::StudyEnd::Failed { why: message };
    record
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_text_escapes_its_element(
        texts in [hostile(), hostile(), hostile(), hostile()],
    ) {
        // Method: hostile texts in every place that a subject or a study file can fill. The page
        // is read by rules that are stricter than a browser's. It must have the same elements and
        // attributes as a page of plain texts, and return its record unchanged.
        let record = tainted(&texts);
        let html = with_record(&record);
        let page = Page::read(&html);
        prop_assert_eq!(page.record(), record_json(&record));
        let plain = with_record(&tainted(&["", "", "x", "y"].map(str::to_owned)));
        let plain = Page::read(&plain);
        prop_assert_eq!(page.names(), plain.names());
        let rest = page.without_record();
        let is_control = |letter: char| letter.is_control() && letter != '\n'
            || ('\u{202a}'..='\u{202e}').contains(&letter)
            || ('\u{2066}'..='\u{2069}').contains(&letter);
        prop_assert!(!rest.contains(is_control), "{rest}");
    }
}
