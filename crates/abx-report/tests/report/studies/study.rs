//! The final report of a study. Every text is a file under `snapshots/`, which the author of a
//! change reads.

use abx_verdict::{
    Bounds, Comparison, Declared, Metric, Role, StudyRecord, Summary, Undisturbed, Validity,
    Verdict, new_finding,
};
use std::time::Duration;

use abx_evidence::record::{Settled, SettledReason, StudyEnd};
use abx_evidence::{Figure, Finding, FindingId, Level};
use abx_report::{
    ReportExtent, Style, failures_line, files_line, opening_line, progress_line, ready_line,
    record_json, responses_line, study_markdown, study_text, verification_line,
};
use insta::assert_snapshot;

use crate::support::{
    comparison, figures, finding, load, open_run, outcomes, overloaded_run, set_blocks, study,
    study_html, subject, summary,
};

fn text(record: &StudyRecord) -> String {
    study_text(record, ReportExtent::Full, &Style::plain())
}

/// The study with this comparison, whose own findings become the study's.
fn with(mut comparison: Comparison) -> StudyRecord {
    let findings = std::mem::take(&mut comparison.own_findings);
    comparison.findings = (0..findings.len()).collect();
    let mut record = study();
    record.conclusions.comparisons = vec![comparison];
    record.conclusions.validity = Validity::of(findings);
    record
}

#[test]
fn faster() {
    // Method: a clear difference, one note.
    let mut record = study();
    record.conclusions.validity = Validity::of(vec![finding(Level::Note), finding(Level::Note)]);
    assert_snapshot!(text(&record));
}

/// Two subjects under one load with everything that a report may show about them.
fn eventful() -> StudyRecord {
    let mut record = with(Comparison {
        fragile: true,
        hodges_lehmann: Some(Bounds {
            ratio: 1.06,
            low: 1.01,
            high: 1.12,
        }),
        ..comparison("lighttpd", Some([1.12, 1.08, 1.16]), Verdict::Faster)
    });
    let metrics = [
        Metric::ServerCpu,
        Metric::Memory,
        Metric::ContextSwitches,
        Metric::WireBytes,
        Metric::ColdStart,
        Metric::ReadyTime,
    ];
    let exploratory = metrics.map(|metric| Comparison {
        metric,
        role: Role::Exploratory,
        load: match metric {
            Metric::ReadyTime => String::new(),
            _ => "c100".to_owned(),
        },
        ..comparison("lighttpd", Some([0.82, 0.72, 0.92]), Verdict::Less)
    });
    record.conclusions.comparisons.extend(exploratory);
    let mut findings: Vec<Finding> = ["lighttpd", "nginx", "lighttpd"]
        .iter()
        .enumerate()
        .map(|(number, name)| {
            let message = format!("other programs used 4{number} % of the CPUs of {name}");
            new_finding(FindingId::ForeignCpu, message)
                .at(Level::Bound)
                .about(name)
        })
        .collect();
    let notes = [
        FindingId::Steal,
        FindingId::NotSaturated,
        FindingId::SpeedChanged,
        FindingId::NearCeiling,
        FindingId::NotSettled,
    ];
    findings.extend(notes.into_iter().flat_map(|id| {
        let message = "something with a long tail was seen while the others were loaded, 4 % of it \
                       by others: it may come again";
        let finding = new_finding(id, message).at(Level::Note);
        [finding.clone().about("nginx"), finding.about("lighttpd")]
    }));
    record.conclusions.validity = Validity::of(findings);
    record
}

#[test]
fn two_subjects_under_one_load_fit_on_a_screen() {
    // Method: a study with much to report. It has each remedy at most once, whole causes, and
    // explanations of words only on request.
    let brief = |record: &StudyRecord| study_text(record, ReportExtent::Brief, &Style::plain());
    let text = brief(&eventful());
    assert!(
        text.lines().count() <= 33,
        "{}: {text}",
        text.lines().count()
    );
    let remedy = FindingId::ForeignCpu.remedy().split(',').next().unwrap();
    assert_eq!(text.matches(remedy).count(), 1, "{text}");
    assert_eq!(text.matches("note  ").count(), 3, "{text}");
    assert!(!text.contains("share of its CPUs in use"), "{text}");
    let explained = study_text(&eventful(), ReportExtent::Explained, &Style::plain());
    assert!(explained.starts_with(&text), "{explained}");
    assert!(
        explained.contains("share of its CPUs in use"),
        "{explained}"
    );
    assert_snapshot!(text);
}

#[test]
fn a_verdict_names_disturbances_that_hit_one_side_more() {
    // Method: without disturbed rounds the ratio lies outside the interval, and then inside.
    let report = |ratio| {
        let undisturbed = Undisturbed {
            bounds: Bounds {
                ratio,
                low: ratio - 0.07,
                high: ratio + 0.07,
            },
            verdict: Verdict::Slower,
            rounds_left_out: 12,
        };
        let comparison = Comparison {
            undisturbed: Some(undisturbed),
            ..comparison("lighttpd", Some([0.76, 0.74, 0.77]), Verdict::Slower)
        };
        text(&with(comparison)).replace("\n ", "")
    };
    let outside = report(0.83);
    let message = "(0.74 to 0.77) at 100 connections, but 0.83 (0.76 to 0.90) without 12 disturbed \
                rounds: slower.";
    assert!(outside.contains(message), "{outside}");
    assert!(
        outside.contains("affected one side more than the other"),
        "{outside}"
    );
    let inside = report(0.765);
    assert!(inside.contains("at 100 connections: slower."), "{inside}");
}

#[test]
fn blocks_too_few_for_an_interval_give_a_ratio() {
    // Method: one block, in every place that shows a ratio.
    let comparison = Comparison {
        blocks: 1,
        per_block: vec![Some(1.25)],
        blocks_more: Some(5),
        too_few_blocks: true,
        ..comparison("lighttpd", None, Verdict::Inconclusive)
    };
    let mut record = with(comparison.clone());
    let report = text(&record).replace("\n ", "");
    let sentence = "lighttpd serves 1.25× as many requests as nginx at 100 connections in 1 block, \
                    no interval yet: undecided, too few blocks. A verdict needs at least 5 more \
                    blocks";
    assert!(report.contains(sentence), "{report}");
    assert_eq!(
        progress_line(&record),
        "lighttpd/nginx 1.25, no interval yet"
    );
    record.conclusions.comparisons.push(Comparison {
        metric: Metric::Memory,
        role: Role::Exploratory,
        ..comparison
    });
    let report = text(&record);
    let row = "memory   1.25  no interval yet";
    assert!(report.contains(row), "{report}");
}

#[test]
fn an_undecided_verdict_names_the_margin() {
    // Method: a margin of 5 %, 6 blocks in 38.2 s, and a cost that is the same, less, and
    // undecided although its interval excludes 1.
    let report = |cost: [f64; 3], verdict: Verdict| {
        let mut record = with(Comparison {
            blocks_more: Some(14),
            ..comparison("lighttpd", Some([1.02, 0.93, 1.12]), Verdict::Inconclusive)
        });
        record.measured.settings.margin = 0.05;
        record.conclusions.comparisons.push(Comparison {
            metric: Metric::ServerCpu,
            role: Role::Exploratory,
            ..comparison("lighttpd", Some(cost), verdict)
        });
        text(&record).replace("\n ", "")
    };
    let same = report([1.01, 0.99, 1.03], Verdict::Equivalent);
    let message = "About 14 more blocks (90 s) would decide it at a margin of 5 %";
    assert!(same.contains(message), "{same}");
    let cost = "Exploratory: lighttpd uses 1.01× the CPU per response of nginx (0.99 to 1.03) at \
                100 connections, a difference of less than 5 %: same.";
    assert!(same.contains(cost), "{same}");
    let less = report([0.91, 0.86, 0.97], Verdict::Less);
    let cost = "uses 0.91× the CPU per response of nginx (0.86 to 0.97) at 100 connections: less.";
    assert!(less.contains(cost), "{less}");
    let undecided = report([0.91, 0.86, 0.97], Verdict::Inconclusive);
    assert!(!undecided.contains("Exploratory"), "{undecided}");
}

#[test]
fn equivalent() {
    // Method: an interval within the margin that excludes 1. Its digits must show that.
    let ratio = Some([1.013, 1.006, 1.021]);
    assert_snapshot!(text(&with(comparison(
        "lighttpd",
        ratio,
        Verdict::Equivalent
    ))));
}

#[test]
fn inconclusive() {
    // Method: the budget ended before the interval was narrow.
    let ratio = Some([1.02, 0.98, 1.07]);
    let mut record = with(Comparison {
        blocks_more: Some(14),
        ..comparison("lighttpd", ratio, Verdict::Inconclusive)
    });
    record.measured.end = StudyEnd::Budget;
    assert_snapshot!(text(&record));
}

#[test]
fn invalid() {
    // Method: failures of one subject. The report has no ratio and no bar, and the sentence has
    // the reason.
    let mut record = with(Comparison {
        own_findings: vec![finding(Level::Void)],
        ..comparison("lighttpd", None, Verdict::Invalid)
    });
    record.measured.end = StudyEnd::Budget;
    let lighttpd = &mut record.conclusions.summaries[1];
    lighttpd.ok = 988_418;
    lighttpd.outcomes = outcomes(r#"{"ok":988418,"reset":1200,"idle_close":10}"#);
    lighttpd.server_cpu_us_per_request = None;
    lighttpd.server_busy = None;
    lighttpd.rss_bytes = None;
    assert_snapshot!(text(&record));
}

#[test]
fn at_least() {
    // Method: the generator was the limit of the faster subject.
    let record = with(Comparison {
        at_least: true,
        own_findings: vec![finding(Level::Bound)],
        ..comparison("lighttpd", Some([1.12, 1.08, 1.16]), Verdict::Faster)
    });
    assert_snapshot!(text(&record));
}

#[test]
fn at_most() {
    // Method: the generator was the limit of the baseline, which is faster; in ASCII.
    let record = with(Comparison {
        at_least: true,
        own_findings: vec![finding(Level::Bound)],
        ..comparison("lighttpd", Some([0.88, 0.85, 0.91]), Verdict::Slower)
    });
    let style = Style {
        unicode: false,
        ..Style::plain()
    };
    let report = study_text(&record, ReportExtent::Full, &style);
    assert!(report.is_ascii());
    assert_snapshot!(report);
}

#[test]
fn against_itself() {
    // Method: a false difference, so that the report has every sentence about it.
    let mut record = with(comparison(
        "nginx-again",
        Some([1.015, 1.002, 1.032]),
        Verdict::Faster,
    ));
    record.measured.settings.aa = true;
    record.measured.subjects[1].name = "nginx-again".to_owned();
    record.conclusions.summaries[1].subject = "nginx-again".to_owned();
    assert_snapshot!(text(&record));
}

#[test]
fn several_loads() {
    // Method: two loads and three subjects, a finding under one load, and a pilot with reasons for
    // its choices.
    let mut record = study();
    record.measured.subjects.push(subject("apache-event"));
    record.measured.loads = vec![load("c10", 10), load("c100", 100)];
    let pilot = record.measured.loads[1].pilot.as_mut().unwrap();
    pilot.slice_ns = 1_000_000_000;
    pilot.rounds = 2;
    pilot.slice_reason = Some("apache-event takes 200 ms per response".to_owned());
    pilot.shortened = true;
    pilot.subjects.get_mut("nginx").unwrap().settled = false;
    let results = [
        ("lighttpd", [1.12, 1.08, 1.16], Verdict::Faster),
        ("apache-event", [0.55, 0.53, 0.56], Verdict::Slower),
    ];
    record.conclusions.comparisons = ["c10", "c100"]
        .iter()
        .flat_map(|load| {
            results.map(|(subject, ratio, verdict)| Comparison {
                load: (*load).to_owned(),
                ..comparison(subject, Some(ratio), verdict)
            })
        })
        .collect();
    record.conclusions.summaries = ["c10", "c100"]
        .iter()
        .flat_map(|load| {
            ["nginx", "lighttpd", "apache-event"].map(|name| summary(name, load, 36_817.2))
        })
        .collect();
    record.conclusions.summaries[5].loaded_s = 27.0;
    record.conclusions.validity = Validity::of(vec![finding(Level::Note).under("c10")]);
    record.measured.end = StudyEnd::Certain;
    set_blocks(&mut record, 6);
    assert_snapshot!(text(&record));
}

#[test]
fn sentences_describe_slices_and_warm_up() {
    // Method: a load with fewer and longer slices than usual, and a subject that was still warming
    // up.
    let mut record = study();
    let pilot = record.measured.loads[0].pilot.as_mut().unwrap();
    pilot.slice_reason = Some("nginx takes 200 ms per response".to_owned());
    pilot.shortened = true;
    pilot.subjects.get_mut("nginx").unwrap().settled = false;
    let text = text(&record);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let turns = "warm-up 300 ms. They are longer than usual, because nginx takes 200 ms per \
                 response. Each block has less of this load than usual, so that the study fits \
                 into its budget. Still warming up when the pilot ended: nginx.";
    assert!(text.contains(turns), "{text}");
}

#[test]
fn a_note_explains_memory_over_all_loads() {
    // Method: each format of a study of one load, and of two loads with the memory after each
    // load; then without the memory of one subject.
    let peak = "memory is the peak over all loads of a block";
    let reports = |record: &StudyRecord| {
        let text = |extent| study_text(record, extent, &Style::plain());
        let reports = [
            text(ReportExtent::Brief),
            text(ReportExtent::Full),
            study_markdown(record, &[]),
            study_html(record, &[]),
        ];
        reports.map(|report| report.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let mut record = study();
    for report in reports(&record) {
        assert!(!report.contains(peak), "{report}");
    }
    record.measured.loads.push(load("c10", 10));
    let summaries = record.conclusions.summaries.clone().into_iter();
    let of_c10 = summaries.map(|summary| Summary {
        load: "c10".to_owned(),
        ..summary
    });
    record.conclusions.summaries.extend(of_c10);
    for report in reports(&record) {
        assert!(report.contains(peak), "{report}");
        assert!(
            report.contains("abx compares memory after each load"),
            "{report}"
        );
    }
    record.conclusions.summaries[1].pss_bytes = None;
    for report in reports(&record) {
        assert!(report.contains("it compares this peak"), "{report}");
    }
}

#[test]
fn loads_and_subjects_settled_early_are_named() {
    // Method: twenty blocks of three loads: one settled after seven, one with a subject that
    // settled early, and one that took all blocks; then no load that settled early.
    let settled = |subject: Option<&str>, blocks| Settled {
        subject: subject.map(str::to_owned),
        blocks,
        reason: SettledReason::Precision,
    };
    let mut record = with(comparison("lighttpd", None, Verdict::Inconclusive));
    record.measured.loads = vec![load("c10", 10), load("c50", 50), load("c90", 90)];
    record.measured.loads[0].settled = vec![settled(Some("lighttpd"), 6), settled(None, 7)];
    record.measured.loads[1].settled = vec![settled(Some("lighttpd"), 8)];
    record.measured.loads[2].settled = vec![settled(None, 20)];
    set_blocks(&mut record, 20);
    let words = |record: &StudyRecord| {
        let text = text(record).replace('\u{a0}', " ");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let expected = "Decided after fewer blocks: c10 (7), 1 subject under c50.";
    assert!(words(&record).contains(expected), "{}", words(&record));
    let line = progress_line(&record).replace('\u{a0}', " ");
    assert!(line.ends_with("· 2 of 3 loads decided"), "{line}");
    for load in &mut record.measured.loads {
        load.settled.clear();
    }
    assert!(!words(&record).contains("Settled"));
}

#[test]
fn subjects_are_grouped_by_version() {
    // Method: two subjects of the same version and one of another, and a budget of minutes.
    let mut record = study();
    record.measured.subjects.push(subject("apache-event"));
    record.measured.subjects[2].version = Some("Apache/2.4".to_owned());
    record.measured.end = StudyEnd::Budget;
    (record.measured.settings.budget_s, record.measured.elapsed_s) = (2_520.0, 2_399.2);
    let text = text(&record).replace("\n ", "");
    for part in [
        "Reported versions: nginx and lighttpd are nginx/1.22.1; apache-event is Apache/2.4.",
        "Stopped by the budget of 42 min. 6 blocks in 40 min, seed 42",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn fragile_and_disturbed() {
    // Method: a comparison with both other estimates, Hodges-Lehmann and without disturbed rounds.
    let bounds = |ratio, low, high| Bounds { ratio, low, high };
    let record = with(Comparison {
        fragile: true,
        hodges_lehmann: Some(bounds(1.06, 1.01, 1.12)),
        undisturbed: Some(Undisturbed {
            bounds: bounds(1.02, 0.98, 1.06),
            verdict: Verdict::Inconclusive,
            rounds_left_out: 14,
        }),
        ..comparison("lighttpd", Some([1.05, 1.004, 1.1]), Verdict::Faster)
    });
    assert_snapshot!(text(&record));
}

#[test]
fn hostile_names() {
    // Method: names and messages with colours, bells and newlines, and names that differ only in
    // their middle.
    let long = |middle: &str| format!("{}{middle}{}", "a".repeat(60), "z".repeat(60));
    let mut record = study();
    record.measured.label = Some("\x1b[2J\x07evil\nlabel".to_owned());
    let names = [long("1"), long("2"), "\x1b[2J\x07evil\nname".to_owned()];
    record.measured.settings.baseline = names[0].clone();
    record.measured.subjects = names.iter().map(|name| subject(name)).collect();
    record.conclusions.summaries = names
        .iter()
        .map(|name| summary(name, "c100", 36_817.2))
        .collect();
    record.conclusions.comparisons = names[1..]
        .iter()
        .map(|name| Comparison {
            baseline: names[0].clone(),
            ..comparison(name, Some([1.12, 1.08, 1.16]), Verdict::Faster)
        })
        .collect();
    record.measured.end = StudyEnd::SubjectFailed {
        subject: names[2].clone(),
        how: "it ended; the end of its output:\n\x1b[31mfatal\x1b[0m: port".to_owned(),
    };
    let failed = new_finding(
        FindingId::SubjectFailed,
        "it could not go on; the end of its output:\n\x1b[31mfatal\x1b[0m: port in use\r\nbye",
    );
    record.conclusions.validity = Validity::of(vec![failed.with_remedy("look at its log")]);
    let report = text(&record);
    let is_control = |letter: char| letter != '\n' && letter.is_control();
    assert!(!report.contains(is_control));
    assert_snapshot!(report);
}

#[test]
fn interrupted_without_blocks() {
    // Method: a study that was interrupted in its pilot.
    let mut record = with(Comparison {
        blocks: 0,
        detectable: None,
        ..comparison("lighttpd", None, Verdict::Inconclusive)
    });
    record.measured.end = StudyEnd::Interrupted;
    record.measured.loads[0].pilot = None;
    for summary in &mut record.conclusions.summaries {
        summary.throughput_per_s = None;
        summary.loaded_s = 0.0;
        summary.sent = 0;
    }
    set_blocks(&mut record, 0);
    assert_snapshot!(text(&record));
}

#[test]
fn an_open_loop_that_overloads_one_subject() {
    // Method: lighttpd responded to all requests due, nginx to nine in ten.
    let mut comparison = comparison("lighttpd", Some([1.11, 1.10, 1.12]), Verdict::Faster);
    comparison.at_least = true;
    comparison.own_findings = vec![
        new_finding(
            FindingId::HeldByRate,
            "lighttpd kept up with the offered load (960000 requests): it may be able to serve \
             more",
        )
        .about("lighttpd"),
    ];
    let mut record = with(comparison);
    record.measured.loads[0].settings.arrivals =
        open_run().measured.loads[0].settings.arrivals.clone();
    let offered = figures(&mut open_run()).offered;
    for summary in &mut record.conclusions.summaries {
        summary.offered = offered;
    }
    let nginx = &mut record.conclusions.summaries[0];
    nginx.offered = figures(&mut overloaded_run()).offered;
    nginx.response_time_us.at_least = vec![Figure::P99, Figure::Max, Figure::Mean];
    assert_snapshot!(text(&record));
}

#[test]
fn too_few_blocks_name_the_missing_number() {
    // Method: four blocks, and a spread that no number of blocks would narrow.
    let ratio = Some([1.12, 0.9, 1.4]);
    let mut comparison = comparison("lighttpd", ratio, Verdict::Inconclusive);
    comparison.blocks = 4;
    comparison.blocks_more = Some(2);
    comparison.too_few_blocks = true;
    let report = text(&with(comparison.clone())).replace("\n ", "");
    assert!(
        report.contains("needs at least 2 more blocks (13 s): use `--blocks 8`."),
        "{report}"
    );
    comparison.blocks = 12;
    comparison.too_few_blocks = false;
    comparison.blocks_more = Some(u32::MAX);
    let report = text(&with(comparison)).replace("\n ", "");
    assert!(
        report.contains("undecided. Even 1,000 more blocks would not decide it."),
        "{report}"
    );
}

#[test]
fn colour_only_repeats_words() {
    // Method: the coloured report without its colours is the plain one.
    let mut record = study();
    record.conclusions.validity =
        Validity::of([Level::Note, Level::Bound, Level::Void].map(finding).into());
    let style = Style {
        color: true,
        ..Style::plain()
    };
    let mut colored = study_text(&record, ReportExtent::Full, &style);
    assert!(colored.contains("\x1b[1;32mfaster\x1b[0m"));
    for code in ["1;31", "1;32", "1;33", "1", "0"] {
        colored = colored.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(colored, text(&record));
}

#[test]
fn progress_has_the_first_comparison_so_far() {
    // Method: one comparison, two, one without an interval, and none.
    let bounds = Some([1.12, 1.08, 1.16]);
    let mut record = with(comparison("lighttpd", bounds, Verdict::Inconclusive));
    let state = "lighttpd/nginx 1.12 (1.08 to 1.16)";
    assert_eq!(progress_line(&record), state);
    record
        .conclusions
        .comparisons
        .push(record.conclusions.comparisons[0].clone());
    assert_eq!(progress_line(&record), format!("{state} · 1 more"));
    let without = with(comparison("lighttpd", None, Verdict::Inconclusive));
    assert_eq!(progress_line(&without), "lighttpd/nginx no interval yet");
    record.conclusions.comparisons.clear();
    assert_eq!(progress_line(&record), "");
}

#[test]
fn failures_are_counted_by_subject_and_outcome() {
    // Method: a subject without failures; one with two kinds of failures and an outcome that is
    // none; one with a long name; and no subject.
    let bad = r#"{"ok":7,"refused":1200,"wrong_body":1,"idle_close":5}"#;
    let by_subject = [
        ("good", r#"{"ok":90}"#),
        ("bad", bad),
        ("a-name-that-is-too-long", r#"{"timeout":2}"#),
    ];
    let by_subject = by_subject.map(|(name, json)| (name.to_owned(), outcomes(json)));
    assert_eq!(
        failures_line(&by_subject.into()),
        "a-name-…o-long failed: 2 timeout; bad failed: 1 wrong body, 1,200 refused"
    );
    assert_eq!(failures_line(&[].into()), "");
}

#[test]
fn lines_about_waiting_have_their_limit() {
    // Method: each kind of waiting, one of them longer than its limit.
    let [six, ten] = [6, 10].map(Duration::from_secs);
    let responses = responses_line("half", 1_310, six, ten);
    assert_eq!(
        responses,
        "waiting for 1,310 of half's connections, 6 s of 10"
    );
    let checked = verification_line("half", six, ten);
    assert_eq!(checked, "checking half's first response, 6 s of 10");
    let opening = |silent| opening_line("half", (3_412, 10_000), silent, ten);
    let line = "opening 10,000 connections to half: 3,412 open";
    assert_eq!(opening(Duration::from_millis(900)), line);
    assert_eq!(opening(six), format!("{line}, no new one for 6 s of 10"));
    let ready = ready_line("a-name-that-is-too-long", ten + ten, ten);
    assert_eq!(ready, "waiting for a-name-…o-long to be ready, 10 s of 10");
    let files = files_line("a", 120_400_000, 700_000_000);
    assert_eq!(files, "making files for a: 120 of 700 MB");
    assert_eq!(files_line("a", 500, 2_000), "making files for a: 0 of 2 kB");
}

#[test]
fn json_is_the_record_on_one_line() {
    // Method: the record is written and read again.
    let record = StudyRecord::judged(study().measured);
    let json = record_json(&record);
    assert_eq!(json.matches('\n').count(), 1);
    assert_eq!(serde_json::from_str::<StudyRecord>(&json).unwrap(), record);
}
