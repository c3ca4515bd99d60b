//! WebSocket loads in reports, which have words of their own.

use abx_evidence::{Broadcasts, Held, HeldFigures, LoadShape, Message, MessageKind};
use abx_fixtures::{URL, sides};
use abx_report::{ReportExtent, Style, study_markdown, study_text};
use abx_verdict::{Axis, Metric, Scalability, StudyRecord, Sweep, Verdict};

use crate::support::study_html;
use crate::support::{comparison, figures, run, study, times};

/// The report of a run on one line.
fn words(record: &StudyRecord) -> String {
    let text = study_text(record, ReportExtent::Full, &Style::plain());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_run_of_echoes_is_worded_in_messages() {
    // Method: the usual run as echoes. The report has no word about requests.
    let mut record = run();
    record.measured.loads[0].settings.exchange.shape = LoadShape::Echo;
    record.measured.loads[0].settings.exchange.protocol = "websocket".to_owned();
    record.measured.loads[0].settings.exchange.message = Some(Message {
        bytes: 5_000,
        kind: MessageKind::Binary,
    });
    let text = words(&record);
    assert!(
        text.contains("websocket, echo, binary messages of 5,000 bytes"),
        "{text}"
    );
    assert!(text.contains("messages/s (each echoed back)"), "{text}");
    assert!(
        !text.contains("GET") && !text.contains("keep-alive"),
        "{text}"
    );
}

#[test]
fn a_run_of_broadcasts_has_the_times_of_listeners() {
    // Method: different times of the first and the median listener.
    let mut record = run();
    record.measured.loads[0].settings.exchange.shape = LoadShape::Broadcast;
    figures(&mut record).broadcasts = Some(Broadcasts {
        first_listener_us: times(77),
        median_listener_us: times(88),
        lost: 0,
        out_of_order: 0,
    });
    let text = words(&record);
    assert!(
        text.contains("broadcasts/s (each received by all listeners)"),
        "{text}"
    );
    assert!(
        text.contains("first µs 77") && text.contains("half µs 88"),
        "{text}"
    );
    let page = study_html(&record, &[]);
    assert!(page.contains(">first<") && page.contains(">half<"));
}

#[test]
fn a_run_of_held_connections_reports_no_requests() {
    // Method: 999 of 1,000 connections held with 10 kB each, one lost.
    let mut record = run();
    record.measured.loads[0].settings.exchange.shape = LoadShape::Connections;
    sides(&mut record.measured, URL).next().unwrap().held = Some(Held {
        asked: 1_000,
        standing: 999,
        lost: 1,
        open_ns: 100_000_000,
        memory_before_bytes: Some(0),
        memory_after_bytes: Some(9_990_000),
    });
    let text = words(&record);
    let message = "Connections: 999 of 1,000 held, 1 lost; 10,000 opened per second, including \
                the handshake; 10.0 kB of server memory per connection.";
    assert!(text.contains(message), "{text}");
    assert!(
        !text.contains("outcome") && !text.contains("Throughput"),
        "{text}"
    );
    assert!(study_html(&record, &[]).contains("999 of 1,000 held"));
}

#[test]
fn a_study_of_messages_compares_messages() {
    // Method: the verdict and the table in each format.
    let mut record = study();
    for load in &mut record.measured.loads {
        load.settings.exchange.shape = LoadShape::Echo;
    }
    let text = study_text(&record, ReportExtent::Full, &Style::plain());
    let markdown = study_markdown(&record, &[]);
    for report in [&text, &markdown] {
        let joined = report.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains("as many messages as nginx"), "{report}");
        assert!(joined.contains("messages/s"), "{report}");
        assert!(!joined.contains("requests/s"), "{report}");
    }
    assert!(study_html(&record, &[]).contains("messages/s"));
}

#[test]
fn a_study_of_held_connections_shows_the_memory_of_each() {
    // Method: a separate table, and a verdict about the memory per connection.
    let mut record = study();
    for load in &mut record.measured.loads {
        load.settings.exchange.shape = LoadShape::Connections;
    }
    for summary in &mut record.conclusions.summaries {
        summary.sent = 0;
        summary.held = Some(HeldFigures {
            asked: 6_000,
            standing: 5_999,
            lost: 1,
            connect_rate_per_s: Some(12_345.0),
            memory_per_connection: Some(4_200.0),
        });
    }
    let mut memory = comparison("lighttpd", Some([0.9, 0.8, 1.1]), Verdict::Inconclusive);
    memory.metric = Metric::MemoryPerConnection;
    record.conclusions.comparisons = vec![memory];
    let text = study_text(&record, ReportExtent::Full, &Style::plain());
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        joined.contains(
            "memory per connection is 0.90× nginx's (0.80 to 1.10) at 100 connections: undecided."
        ),
        "{text}"
    );
    assert!(joined.contains("6,000 5,999 1 12,345 4.2 kB"), "{text}");
    assert!(study_markdown(&record, &[]).contains("| 5,999 | 1 |"));
    assert!(study_html(&record, &[]).contains("memory each"));
}

#[test]
fn a_sweep_of_echoes_is_worded_in_messages() {
    // Method: the usual study as echoes, with a law over two numbers of connections.
    let mut record = study();
    let first = &mut record.measured.loads[0];
    first.settings.exchange.shape = LoadShape::Echo;
    let load = first.name.clone();
    record.conclusions.sweeps = vec![Sweep {
        axis: Axis::Connections,
        metric: Metric::Throughput,
        loads: vec![load],
        at: vec![10.0],
        crossovers: Vec::new(),
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
    let text = study_text(&record, ReportExtent::Full, &Style::plain());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("7,140 messages/s with one"), "{text}");
    let page = study_html(&record, &[]);
    assert!(page.contains("messages/s with one connection"));
    assert!(!page.contains("requests/s with one connection"));
}
