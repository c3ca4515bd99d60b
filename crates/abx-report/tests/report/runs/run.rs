//! The report of a run.

use abx_evidence::record::{RequestSettings, TlsSettings, TlsTrustKind};
use abx_evidence::{ArrivalKind, FindingId, Level, Times};
use abx_report::{ReportExtent, Style, record_json, study_text};
use abx_verdict::{MeanInterval, ServerTime, StudyRecord, new_finding};
use insta::assert_snapshot;

use crate::support::study_html;
use crate::support::{
    figures, finding, life, open_run, outcomes, overloaded_run, run, slice, times,
};

#[test]
fn everything_ok() {
    // Method: a server on this machine that responds to every request.
    assert_snapshot!(study_text(&run(), ReportExtent::Full, &Style::plain()));
}

/// The brief report of a run, which has few lines.
fn at_a_glance(record: &StudyRecord) -> String {
    let text = study_text(record, ReportExtent::Brief, &Style::plain());
    assert!(text.lines().count() <= 14, "{text}");
    text
}

#[test]
fn a_run_at_a_glance() {
    // Method: a server on this machine that responds to every request. The explained report begins
    // with the brief one and adds the meaning of its words.
    assert_snapshot!(at_a_glance(&run()));
    let explained = study_text(&run(), ReportExtent::Explained, &Style::plain());
    assert!(explained.starts_with(&at_a_glance(&run())), "{explained}");
    assert!(explained.contains("\nthroughput: verified"), "{explained}");
}

#[test]
fn handshakes_have_a_line_if_there_were_any() {
    // Method: the usual run without times of handshakes, then with them: a line of the brief
    // report, a row of the full report and of the page, and the meaning of the word.
    let reports = |record: &StudyRecord| {
        [
            ReportExtent::Brief,
            ReportExtent::Full,
            ReportExtent::Explained,
        ]
        .map(|extent| study_text(record, extent, &Style::plain()))
    };
    let mut record = run();
    let without = reports(&record).concat() + &study_html(&record, &[]);
    assert!(!without.to_lowercase().contains("handshake"), "{without}");
    figures(&mut record).handshake_us = Some(times(1_234));
    let [brief, full, explained] = reports(&record);
    assert!(brief.contains("TLS handshake  p50 1.23 ms, p99"), "{brief}");
    assert!(!brief.contains("resumed"), "{brief}");
    figures(&mut record).handshakes_resumed = Some(0.66);
    record.measured.loads[0].settings.tls = Some(TlsSettings {
        trust: TlsTrustKind::System,
        version: None,
        resumption: true,
        shows_certificate: false,
    });
    let [resumed, ..] = reports(&record);
    let words: Vec<&str> = resumed.split_whitespace().collect();
    assert!(
        words.join(" ").contains("; 66.0 % resumed status"),
        "{resumed}"
    );
    assert!(
        full.contains("\nhandshake µs") || full.contains("\nhandshake ms"),
        "{full}"
    );
    assert!(full.contains("from the connected socket"), "{full}");
    assert!(
        explained.contains("\nTLS handshake: from the connected"),
        "{explained}"
    );
    assert!(study_html(&record, &[]).contains(">handshake<"));
}

#[test]
fn failures_at_a_glance() {
    // Method: a run that resets make invalid, with notes of two causes, many of one of them.
    let mut record = failing();
    let notes = (0..12).map(|number| {
        let message = format!("{number} % of the time was taken: by others");
        new_finding(FindingId::Steal, message)
    });
    record.conclusions.validity.findings.extend(notes);
    let text = at_a_glance(&record);
    assert_eq!(text.matches("close other programs").count(), 0, "{text}");
    assert_eq!(text.matches("of the time was taken").count(), 1, "{text}");
    assert_snapshot!(text);
}

#[test]
fn a_brief_report_separates_statuses_and_errors() {
    // Method: responses with a wrong status, and with the expected status and a wrong body. An
    // attempt that was repeated is no error.
    let mut record = run();
    slice(&mut record).sent = 1_000;
    slice(&mut record).completed = 990;
    slice(&mut record).ok = 900;
    let json = r#"{"ok":900,"wrong_status":60,"wrong_body":30,"timeout":8,"idle_close":2}"#;
    slice(&mut record).outcomes = outcomes(json);
    let text = at_a_glance(&record);
    assert!(
        text.contains("status         2xx 930, other than 200 60\n"),
        "{text}"
    );
    // The record above, like older ones, lacks the wrong statuses.
    let json = r#"{"204":1,"404":50,"429":4,"503":5}"#;
    figures(&mut record).wrong_statuses = serde_json::from_str(json).unwrap();
    let text = at_a_glance(&record);
    assert!(
        text.contains("status         2xx 931, 4xx 54, 5xx 5\n"),
        "{text}"
    );
    let full = study_text(&record, ReportExtent::Full, &Style::plain());
    let message = "Wrong status: 2xx 1, 4xx 54, 5xx 5 (204 1, 404 50, 429 4, 503 5).";
    assert!(full.contains(message), "{full}");
    let errors = "errors         wrong status 60, wrong body 30, timeout 8 (9.82 % of requests)\n";
    assert!(text.contains(errors), "{text}");
}

#[test]
fn an_overloaded_run_at_a_glance() {
    // Method: a quarter of the requests was never sent, and times depend on them.
    assert_snapshot!(at_a_glance(&overloaded_run()));
}

#[test]
fn failures() {
    // Method: a timeout in about 400,000 requests, which must be visible; resets, which make the
    // run invalid; and a server on another machine.
    assert_snapshot!(study_text(&failing(), ReportExtent::Full, &Style::plain()));
}

fn failing() -> StudyRecord {
    let mut record = run();
    slice(&mut record).ok = 411_151;
    slice(&mut record).completed = 411_151;
    slice(&mut record).outcomes = outcomes(r#"{"ok":411151,"reset":1200,"timeout":1}"#);
    slice(&mut record).connects = 1_201;
    life(&mut record).listener = None;
    slice(&mut record).generator_wait_ns = None;
    record.conclusions.validity.findings = vec![finding(Level::Void), finding(Level::Note)];
    record
}

#[test]
fn a_run_without_any_response() {
    // Method: the server refused every connection. The report invents no figure.
    let mut record = run();
    slice(&mut record).sent = 50;
    slice(&mut record).completed = 0;
    slice(&mut record).ok = 0;
    slice(&mut record).hashed = 0;
    slice(&mut record).outcomes = outcomes(r#"{"refused":50}"#);
    figures(&mut record).throughput_per_s = None;
    figures(&mut record).response_time_us = Times::default();
    figures(&mut record).service_time_us = Times::default();
    figures(&mut record).phases = None;
    figures(&mut record).lateness_us = Times::default();
    slice(&mut record).bytes = 0;
    slice(&mut record).body_bytes = 0;
    slice(&mut record).wall_ns = 0;
    assert_snapshot!(study_text(&record, ReportExtent::Full, &Style::plain()));
}

#[test]
fn an_open_loop_that_kept_its_rate() {
    // Method: the requested and the achieved rate, and the lateness of requests.
    assert_snapshot!(study_text(&open_run(), ReportExtent::Full, &Style::plain()));
}

#[test]
fn an_open_loop_that_was_overloaded() {
    // Method: a quarter of the requests was never sent. Quantiles that depend on them are lower
    // bounds.
    assert_snapshot!(study_text(
        &overloaded_run(),
        ReportExtent::Full,
        &Style::plain()
    ));
}

#[test]
fn an_open_loop_that_was_overloaded_in_ascii() {
    // Method: the overloaded run in ASCII, with aligned columns.
    let style = Style {
        unicode: false,
        ..Style::plain()
    };
    let text = study_text(&overloaded_run(), ReportExtent::Full, &style);
    assert!(text.is_ascii(), "{text}");
    assert_snapshot!(text);
}

#[test]
fn arrivals_are_worded_as_requested() {
    // Method: each kind of arrivals. A rate that changes has no single offered figure.
    let line = |kind, text: &str| {
        let mut record = open_run();
        record.measured.loads[0].settings.arrivals.kind = kind;
        record.measured.loads[0].settings.arrivals.text = text.to_owned();
        if matches!(kind, ArrivalKind::Stages | ArrivalKind::Replay) {
            record.measured.loads[0].settings.arrivals.rate_per_s = None;
        }
        let text = study_text(&record, ReportExtent::Full, &Style::plain());
        let lines: Vec<&str> = text.lines().collect();
        (lines[1].to_owned(), text.contains(" offered"))
    };
    let (constant, has_rate) = line(ArrivalKind::Constant, "");
    assert!(
        constant.starts_with("  GET, 20,000/s constant, 50 conn"),
        "{constant}"
    );
    assert!(has_rate);
    let (poisson, has_rate) = line(ArrivalKind::Poisson, "sessions of 5 requests");
    assert!(
        poisson.starts_with("  GET, 20,000/s Poisson, sessions of 5 requests"),
        "{poisson}"
    );
    assert!(has_rate);
    let (stages, has_rate) = line(ArrivalKind::Stages, "10s:100,5s:900");
    assert!(
        stages.starts_with("  GET, stages 10s:100,5s:900, 50 conn"),
        "{stages}"
    );
    assert!(!has_rate);
    let (replay, has_rate) = line(ArrivalKind::Replay, "of x.log, 5 requests in 3s");
    assert!(
        replay.starts_with("  GET, replay of x.log, 5 requests in 3s, 50 conn"),
        "{replay}"
    );
    assert!(!has_rate);
    let (closed, has_rate) = line(ArrivalKind::Closed, "");
    assert!(closed.starts_with("  GET, 50 conn"), "{closed}");
    assert!(!has_rate);
    let (thinking, _) = line(ArrivalKind::Closed, "thinking 10ms");
    assert!(
        thinking.starts_with("  GET, thinking 10ms, 50 conn"),
        "{thinking}"
    );
}

#[test]
fn a_limit_of_times_does_not_limit_throughput() {
    // Method: a finding that limits only times.
    let mut record = run();
    record.conclusions.validity.findings = vec![finding(Level::Bound).of_times()];
    let text = study_text(&record, ReportExtent::Full, &Style::plain());
    assert!(text.contains("Throughput: 41,235/s"), "{text}");
}

#[test]
fn a_run_at_its_limit_reports_an_at_least() {
    // Method: the generator was the limit.
    let mut record = run();
    record.conclusions.validity.findings = vec![finding(Level::Bound)];
    let text = study_text(&record, ReportExtent::Full, &Style::plain());
    assert!(text.contains("Throughput: at least 41,235/s"), "{text}");
}

#[test]
fn json_is_the_record_on_one_line() {
    // Method: the record is written and read again.
    let record = StudyRecord::judged(abx_fixtures::run());
    let json = record_json(&record);
    assert_eq!(json.matches('\n').count(), 1);
    assert_eq!(serde_json::from_str::<StudyRecord>(&json).unwrap(), record);
}

#[test]
fn a_run_has_the_timings_that_the_server_reports() {
    // Method: a run without server timings, then with four, of which the brief report names the
    // longest three.
    let mut record = run();
    assert!(!at_a_glance(&record).contains("server says"));
    let time = |name: &str, mean| ServerTime {
        load: "small".to_owned(),
        subject: abx_fixtures::URL.to_owned(),
        name: name.to_owned(),
        count: 1_200,
        us: MeanInterval {
            mean,
            low: None,
            high: None,
        },
    };
    let pairs = [
        ("app", 5.25),
        ("cache", 1.5),
        ("db", 312.4),
        ("render", 40.0),
    ];
    record.conclusions.server_times = pairs.map(|(name, mean)| time(name, mean)).into();
    let plain = |text: String| text.replace('\u{a0}', " ");
    let text = plain(at_a_glance(&record));
    let message = "server says    db 312 µs, render 40.0 µs, app 5.25 µs, 1 more\n";
    assert!(text.contains(message), "{text}");
    let full = plain(study_text(&record, ReportExtent::Full, &Style::plain()));
    let row = full.lines().find(|line| line.starts_with("db "));
    let row: Vec<&str> = row.expect(&full).split_whitespace().collect();
    assert_eq!(row, ["db", "312", "1,200"]);
    assert!(study_html(&record, &[]).contains("Server timings"));
}

#[test]
fn several_requests_are_worded_as_drawn_at_random() {
    // Method: two requests with their weights, and too many requests to be named.
    let mut record = run();
    let settings = &mut record.measured.loads[0].settings;
    let other = settings.requests[0].clone();
    settings
        .requests
        .push(RequestSettings { weight: 3, ..other });
    let joined = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = joined(at_a_glance(&record));
    assert!(
        text.contains("requests drawn at random (1× GET /small.bin, 3× GET /small.bin)"),
        "{text}"
    );
    let settings = &mut record.measured.loads[0].settings;
    settings.requests = vec![settings.requests[0].clone(); 3_000];
    let text = joined(at_a_glance(&record));
    assert!(
        text.contains("3,000 different requests drawn at random"),
        "{text}"
    );
}
