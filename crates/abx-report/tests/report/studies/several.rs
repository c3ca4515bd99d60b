//! Reports of several subjects, sweeps and capacities.

use abx_evidence::FindingId;
use abx_evidence::record::Contrast;
use abx_report::{
    ReportExtent, Style, comparisons_csv, record_json, study_junit, study_markdown, study_text,
    verdict_matrix,
};
use abx_verdict::{
    Axis, Capacity, Ceiling, Comparison, Crossover, Families, Metric, Place, Ranking, Role,
    Scalability, StudyRecord, Sweep, Verdict, new_finding,
};

use crate::support::study_html;
use crate::support::{comparison, load, run, study, subject};

fn plain() -> Style {
    Style {
        color: false,
        unicode: true,
        width: 80,
    }
}

#[test]
fn a_full_report_has_rankings_and_ceilings() {
    // Method: three places, two of them tied for first; a difference that only a comparison by
    // itself would decide; and a ceiling.
    let mut record = study();
    let place = |subject: &str, best, worst, tied_for_first| Place {
        subject: subject.to_owned(),
        best,
        worst,
        tied_for_first,
    };
    record.conclusions.rankings = vec![Ranking {
        metric: Metric::Throughput,
        load: "c100".to_owned(),
        places: vec![
            place("lighttpd", 1, 2, true),
            place("caddy", 1, 2, true),
            place("nginx", 3, 3, false),
        ],
        pairs: Vec::new(),
    }];
    let mut among = comparison("caddy", Some([1.04, 1.01, 1.07]), Verdict::Inconclusive);
    among.together = 7;
    among.blocks_more = Some(5);
    record.conclusions.comparisons.push(among);
    record.conclusions.ceilings = vec![Ceiling {
        load: "c100".to_owned(),
        throughput_per_s: 180_400.0,
        generator_busy: Some(0.996),
    }];
    insta::assert_snapshot!(study_text(&record, ReportExtent::Full, &plain()));
}

#[test]
fn exploratory_comparisons_have_a_table_of_their_own() {
    // Method: a cost, a response time without an interval, and the time of a start.
    let mut record = study();
    let mut add = |metric, ratio, verdict, load: &str| {
        let mut comparison = comparison("lighttpd", ratio, verdict);
        comparison.metric = metric;
        comparison.role = Role::Exploratory;
        comparison.load = load.to_owned();
        record.conclusions.comparisons.push(comparison);
    };
    add(
        Metric::ServerCpu,
        Some([0.61, 0.59, 0.63]),
        Verdict::Less,
        "c100",
    );
    add(Metric::ResponseP99, None, Verdict::Inconclusive, "c100");
    add(
        Metric::ReadyTime,
        Some([2.0, 1.5, 2.6]),
        Verdict::Slower,
        "",
    );
    insta::assert_snapshot!(study_text(&record, ReportExtent::Full, &plain()));
}

#[test]
fn an_undecided_verdict_with_an_interval_that_excludes_1_has_a_reason() {
    // Method: in Markdown, the memory as one of ten comparisons: undecided with an interval that
    // excludes 1, with one that includes 1, and decided.
    let markdown = |ratio, verdict| {
        let mut record = study();
        let mut memory = comparison("lighttpd", Some(ratio), verdict);
        (memory.metric, memory.role) = (Metric::Memory, Role::Exploratory);
        memory.together = 10;
        record.conclusions.comparisons.push(memory);
        study_markdown(&record, &[])
    };
    let reason = "undecided with an interval that excludes 1: alone, this would be a difference";
    let excludes = markdown([3.3, 1.3, 8.2], Verdict::Inconclusive);
    assert!(excludes.contains(reason), "{excludes}");
    let below = markdown([0.3, 0.1, 0.8], Verdict::Inconclusive);
    assert!(below.contains(reason), "{below}");
    for other in [
        markdown([1.3, 0.9, 1.8], Verdict::Inconclusive),
        markdown([3.3, 1.3, 8.2], Verdict::More),
    ] {
        assert!(!other.contains(reason), "{other}");
    }
}

/// The capacity of one subject, in requests/s; `None` if it lies above the tried rates.
fn capacity(subject: &str, rate: Option<f64>) -> Capacity {
    Capacity {
        subject: subject.to_owned(),
        objective: "p99<50ms,errors<0.1%".parse().expect("an objective"),
        load: "c100".to_owned(),
        rate_per_s: rate,
        low: Some(30_100.0),
        high: rate.map(|rate| rate * 1.02),
        held_per_s: rate.map(|rate| rate * 0.95),
        missed_per_s: rate.map(|rate| rate * 1.05),
        confidence: 0.95,
        blocks: 6,
    }
}

#[test]
fn capacities_are_drawn_without_a_sweep() {
    // Method: a capacity within the tried rates and one beyond them. Each row has its figures with
    // their unit, a bar, and the margin around the baseline's capacity.
    let mut record = study();
    record.conclusions.capacities = vec![
        capacity("nginx", Some(31_240.0)),
        capacity("lighttpd", None),
    ];
    let html = study_html(&record, &[]);
    assert!(!html.contains("id=\"sweep\""));
    let start = html.find(" id=\"capacity\"").expect("a section");
    let section = &html[start..];
    let section = &section[..section.find("</section>").unwrap()];
    for part in [
        "31,240\u{a0}requests/s (30,100 to 31,865)",
        "at least 30,100\u{a0}requests/s",
        "p99&lt;50ms,errors&lt;0.1%",
    ] {
        assert!(section.contains(part), "{part}: {section}");
    }
    let count = |part: &str| section.matches(part).count();
    assert_eq!(count("class=\"interval\""), 2, "bars");
    assert_eq!(count(" 8v10"), 3, "closed ends");
    assert_eq!(count("#right"), 1, "an arrow");
    assert_eq!(count("class=\"pt\""), 1, "a point where there is a rate");
    assert_eq!(count("class=\"margin\""), 2);
}

#[test]
fn rates_of_a_capacity_search_are_folded() {
    // Method: one load, first by itself, then as a rate of a search. Its figures are visible, then
    // in the folded part.
    let is_folded = |record: &StudyRecord| {
        let html = study_html(record, &[]);
        let figures = html.find(" id=\"figures\"").expect("a section");
        let end = figures + html[figures..].find("</section>").unwrap();
        html[figures..end].contains("looked for a capacity</summary>")
    };
    let mut record = study();
    assert!(!is_folded(&record));
    let settings = &mut record.measured.loads[0].settings;
    settings.objective = Some("p99<50ms".parse().unwrap());
    assert!(is_folded(&record));
}

#[test]
fn sweeps_and_capacities_are_sentences() {
    // Method: a crossover with one open end, two laws, a capacity beyond the tried rates, and a
    // note under several loads.
    let mut record = study();
    let law = |subject: &str, peak| Scalability {
        subject: subject.to_owned(),
        lambda: 21_000.0,
        sigma: 0.031,
        kappa: 0.000_12,
        peak_connections: peak,
        r2: Some(0.987),
    };
    record.conclusions.sweeps = vec![Sweep {
        axis: Axis::Connections,
        metric: Metric::Throughput,
        loads: vec!["c10".to_owned(), "c1000".to_owned()],
        at: vec![10.0, 1_000.0],
        crossovers: vec![Crossover {
            before: "nginx".to_owned(),
            after: "lighttpd".to_owned(),
            ahead_until: 10.0,
            ahead_from: 1_000.0,
            at: 212.0,
            low: Some(140.0),
            high: None,
            confidence: 0.95,
        }],
        knees: Vec::new(),
        scalability: vec![law("nginx", Some(89.9)), law("lighttpd", None)],
    }];
    record.conclusions.capacities = vec![
        capacity("nginx", Some(31_240.0)),
        capacity("lighttpd", None),
    ];
    let note = |load: &str| {
        let finding =
            new_finding(FindingId::SlicesTooShort, "1.7 % were silent").with_remedy("wait longer");
        finding.about("nginx").under(load)
    };
    record.conclusions.validity.findings = ["c1", "c10", "c100", "c1000", "c5000", "c9000"]
        .map(note)
        .into();
    insta::assert_snapshot!(study_text(&record, ReportExtent::Full, &plain()));
    record.conclusions.sweeps[0].crossovers.clear();
    let text = study_text(&record, ReportExtent::Full, &plain());
    let words: Vec<&str> = text.split_whitespace().collect();
    let sentence = "From 10 to 1,000 connections, no subject certainly changes places with the \
                    baseline.";
    assert!(words.join(" ").contains(sentence), "{text}");
}

/// Two declared pairs of three subjects, each with its own baseline, under three loads, and one
/// cost of each pair.
fn contrasts() -> StudyRecord {
    let mut record = study();
    record.measured.subjects.push(subject("caddy"));
    let loads = ["kept-c10", "kept-c100", "once"];
    record.measured.loads = loads.map(|name| load(name, 10)).into();
    let pairs = [["lighttpd", "nginx"], ["caddy", "lighttpd"]];
    record.measured.settings.contrasts = pairs
        .map(|[subject, baseline]| Contrast {
            subject: subject.to_owned(),
            baseline: baseline.to_owned(),
            loads: match subject {
                "caddy" => loads[..2].iter().map(|&name| name.to_owned()).collect(),
                _ => Vec::new(),
            },
            question: None,
        })
        .into();
    record.conclusions.comparisons.clear();
    let mut add = |[subject, baseline]: [&str; 2], load: &str, role| {
        let mut comparison = comparison(subject, Some([1.12, 1.08, 1.16]), Verdict::Faster);
        comparison.baseline = baseline.to_owned();
        comparison.load = load.to_owned();
        comparison.role = role;
        if role == Role::Exploratory {
            (comparison.metric, comparison.verdict) = (Metric::ServerCpu, Verdict::More);
        }
        record.conclusions.comparisons.push(comparison);
    };
    for load in loads {
        add(pairs[0], load, Role::Primary);
    }
    for load in &loads[..2] {
        add(pairs[1], load, Role::Primary);
    }
    for pair in pairs {
        add(pair, "kept-c10", Role::Exploratory);
    }
    record
}

#[test]
fn every_row_names_its_baseline_if_baselines_differ() {
    // Method: declared pairs with two baselines, in every format with a row per pair; then both
    // with one baseline, which is not the study's.
    let mut record = contrasts();
    let text = study_text(&record, ReportExtent::Full, &plain());
    for part in [
        "Requests/s relative to the baseline of each:",
        "  kept-c10:\n  lighttpd ÷ nginx  ",
        "\n  caddy ÷ lighttpd  ",
        "Also compared, relative to the baseline of each",
        "CPU per response  ratio      interval  verdict\nlighttpd ÷ nginx   1.12  ",
        "\ncaddy ÷ lighttpd   1.12  ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(
        verdict_matrix(&record),
        "|  | `kept-c10` | `kept-c100` |\n\
         | --- | --- | --- |\n\
         | `lighttpd` ÷ `nginx` | 1.12 (1.08–1.16) ▲ **faster** | 1.12 (1.08–1.16) ▲ **faster** |\n\
         | `caddy` ÷ `lighttpd` | 1.12 (1.08–1.16) ▲ **faster** | 1.12 (1.08–1.16) ▲ **faster** |\n\
         \n\
         |  | `once` |\n\
         | --- | --- |\n\
         | `lighttpd` ÷ `nginx` | 1.12 (1.08–1.16) ▲ **faster** |\n"
    );
    let html = study_html(&record, &[]);
    let page = html.split("<script").next().unwrap();
    for part in [
        "lighttpd ÷ nginx; caddy ÷ lighttpd under kept-c10, kept-c100",
        "caddy ÷ lighttpd</",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<small>baseline</small>"));
    assert!(!study_junit(&record, &[]).contains("name=\"baseline\" value=\"nginx\""));
    assert!(comparisons_csv(&record).contains("kept-c10,caddy,lighttpd,"));

    for contrast in &mut record.measured.settings.contrasts {
        contrast.baseline = "lighttpd".to_owned();
    }
    record.measured.settings.contrasts[0].subject = "nginx".to_owned();
    assert!(
        study_text(&record, ReportExtent::Full, &plain())
            .contains("Also compared, relative to lighttpd")
    );
    let matrix = verdict_matrix(&record);
    assert!(matrix.contains("| `caddy` |"), "{matrix}");
}

#[test]
fn every_report_has_the_scope_and_the_chance_of_a_wrong_verdict() {
    // Method: a study of one load and of seven, a study without comparisons, and a run; in each
    // format for people, in JSON, and on a page without its record.
    let mut record = study();
    let scope = "Scope: loopback, one machine, one boot, one build of each server; 1 CPU for \
                 the servers, 1 for the generator (SMT siblings: not recorded); warm caches. \
                 Intervals hold for repeats in this scope.";
    let reports = |record: &StudyRecord| {
        let html = study_html(record, &[]);
        let page = html.split("<script").next().unwrap().to_owned();
        let wide = Style {
            width: 1_000,
            ..plain()
        };
        let texts = [
            study_text(record, ReportExtent::Full, &wide),
            study_markdown(record, &[]),
            page,
        ];
        texts.map(|report| report.replace('\u{a0}', " "))
    };
    for report in reports(&record) {
        assert!(report.contains(scope), "{report}");
        assert!(
            !report.contains("at least one faster or slower"),
            "{report}"
        );
    }
    record.conclusions.families = Families::with(7);
    for report in reports(&record) {
        let message = "Across 7 loads, at least one faster or slower verdict is wrong in at most 35 % of studies";
        assert!(report.contains(message), "{report}");
    }
    let json = record_json(&record);
    for part in [
        "\"scope\":{\"routes\":[\"loopback\"]",
        "\"families\":{\"count\":7,",
    ] {
        assert!(json.replace([' ', '\n'], "").contains(part), "{part}");
    }
    record.conclusions.comparisons.clear();
    for report in reports(&record) {
        assert!(report.contains(scope), "{report}");
    }
    let record = run();
    let scope = "Scope: loopback, one machine, one boot, one build of the server, left running; \
                 1 CPU for the generator, those of the servers not set by abx; warm caches.";
    let text = study_text(
        &record,
        ReportExtent::Full,
        &Style {
            width: 1_000,
            ..plain()
        },
    );
    let html = study_html(&record, &[]);
    let page = html.split("<script").next().unwrap();
    for report in [
        &text,
        &study_markdown(&record, &[]).replace("\n  ", " "),
        page,
    ] {
        assert!(report.contains(scope), "{report}");
    }
    assert!(record_json(&record).contains("\"scope\""));
}

#[test]
fn a_matrix_has_a_row_for_each_subject_and_a_table_for_each_sweep() {
    // Method: three subjects under a sweep and a separate load, with every kind of verdict, a pair
    // without the baseline, and a missing comparison. A study with few cells has no matrix.
    let mut record = study();
    assert_eq!(verdict_matrix(&record), "");
    record.measured.subjects.push(subject("a|b"));
    record.measured.loads = vec![
        load("kept-c10", 10),
        load("kept-c100", 100),
        load("once", 10),
    ];
    let under = |load: &str, subject: &str, bounds, verdict| Comparison {
        load: load.to_owned(),
        ..comparison(subject, bounds, verdict)
    };
    let bounds = Some([1.12, 1.08, 1.16]);
    let mut fragile = under("once", "lighttpd", bounds, Verdict::Faster);
    (fragile.fragile, fragile.at_least) = (true, true);
    let mut other_pair = under("once", "a|b", Some([5.0, 4.0, 6.0]), Verdict::Slower);
    other_pair.baseline = "lighttpd".to_owned();
    record.conclusions.comparisons = vec![
        under("kept-c10", "lighttpd", bounds, Verdict::Equivalent),
        under("kept-c10", "a|b", bounds, Verdict::Inconclusive),
        under("kept-c100", "a|b", None, Verdict::Invalid),
        fragile,
        other_pair,
    ];
    let matrix = verdict_matrix(&record);
    assert_eq!(
        matrix,
        "|  | `kept-c10` | `kept-c100` |\n\
         | --- | --- | --- |\n\
         | `lighttpd` | 1.12 (1.08–1.16) = **same** |  |\n\
         | `a\\|b` | 1.12 (1.08–1.16) ? undecided | – no result |\n\
         \n\
         |  | `once` |\n\
         | --- | --- |\n\
         | `lighttpd` | ≥1.08 ▲ **faster** \\~ |\n"
    );
    assert!(study_markdown(&record, &[]).contains(&matrix));
}

#[test]
fn a_metric_without_any_result_has_no_column() {
    // Method: under one load, one pair is compared by response time and the other by throughput;
    // the second without a result, then with one; then neither has a result.
    let mut record = study();
    record.measured.subjects.push(subject("a|b"));
    record.measured.loads = vec![load("kept-c10", 10), load("once", 10)];
    let under = |load: &str, subject: &str, metric: Metric, verdict: Verdict| {
        let bounds = (verdict != Verdict::Invalid).then_some([1.12, 1.08, 1.16]);
        Comparison {
            metric,
            load: load.to_owned(),
            ..comparison(subject, bounds, verdict)
        }
    };
    let mut matrix = |verdicts: [Verdict; 2]| {
        let [time, rate] = verdicts;
        record.conclusions.comparisons = vec![
            under("kept-c10", "lighttpd", Metric::ResponseP99, time),
            under("kept-c10", "a|b", Metric::Throughput, rate),
            under("once", "lighttpd", Metric::Throughput, Verdict::Faster),
        ];
        verdict_matrix(&record)
    };
    let once = "\n\
         |  | `once`, req/s |\n\
         | --- | --- |\n\
         | `lighttpd` | 1.12 (1.08–1.16) ▲ **faster** |\n";
    let one_column = "|  | `kept-c10`, p99 |\n\
         | --- | --- |\n\
         | `lighttpd` | 1.12 (1.08–1.16) ▼ **slower** |\n\
         | `a\\|b` | – no result |\n";
    let without_rate = matrix([Verdict::Slower, Verdict::Invalid]);
    assert_eq!(without_rate, format!("{one_column}{once}"));
    let two_columns = "|  | `kept-c10`, p99 | `kept-c10`, req/s |\n\
         | --- | --- | --- |\n\
         | `lighttpd` | 1.12 (1.08–1.16) ▼ **slower** |  |\n\
         | `a\\|b` |  | 1.12 (1.08–1.16) ▲ **faster** |\n";
    let both = matrix([Verdict::Slower, Verdict::Faster]);
    assert_eq!(both, format!("{two_columns}{once}"));
    let neither = matrix([Verdict::Invalid; 2]);
    let rows = "| `lighttpd` | – no result |\n| `a\\|b` | – no result |\n";
    assert!(neither.contains(rows), "{neither}");
}
