//! Findings about mistakes planted in a report.

use abx_audit::{Audit, AuditFindingId as Id, FigureKey};

use crate::{found, of, of_texts, printed, text};

const AB: &str = "event-servers-libevent1.ab.txt";

#[test]
fn every_figure_that_contradicts_others_is_found() {
    // Method: one figure at a time of a correct report, changed slightly beyond rounding.
    let right = text(AB);
    let table = [
        ("5555.34", "5575.34", "5000 requests ÷ 0.900 s"),
        ("90.004", "91.004", "500 connections × 0.900 s"),
        ("0.180 [ms]", "0.190 [ms]", "÷ 5000 requests in ms"),
        ("819.20", "829.20", "755000 bytes ÷ 0.900 s"),
        ("435000", "440000", "440000 bytes of bodies"),
        (
            "Total:         47   87",
            "Total:         47   93",
            "mean Connect 41 + Processing 46",
        ),
        (
            "95%     92",
            "95%     95",
            "95 % is 95, but 98 % is less: 92",
        ),
        (
            "100%    125",
            "100%    155",
            "100 % is 155, but the table above it shows 125",
        ),
        ("-c 500 ", "-c 50 ", "sets 50 connections"),
    ];
    assert!(found(&of(&right), Id::Contradiction).is_empty());
    for (from, to, about) in table {
        let wrong = right.replacen(from, to, 1);
        assert_ne!(wrong, right);
        let audit = of(&wrong);
        assert_contradiction(&audit, about);
        assert!(
            audit.conclusions[0].contains("nothing"),
            "{:?}",
            audit.conclusions
        );
    }
    for (from, to, about) in [
        (
            "561.8 req/s (1.8 ms/req)",
            "561.8 req/s (2.8 ms/req)",
            "1 ÷ 561.8/s in ms",
        ),
        (
            "content 421.0",
            "content 521.0",
            "header 313.0 + content 521.0",
        ),
        (
            "total 94.7%",
            "total 99.7%",
            "(3.13 + 13.73) s of CPU time ÷ 17.800 s",
        ),
        (
            "2xx=10000",
            "2xx=9000",
            "the statuses add up to 9000 responses",
        ),
    ] {
        let wrong = text("app-server.httperf.txt").replacen(from, to, 1);
        assert_contradiction(&of(&wrong), about);
    }
}

/// Asserts that a contradiction has this text in its message.
#[track_caller]
fn assert_contradiction(audit: &Audit, about: &str) {
    let contradictions = found(audit, Id::Contradiction);
    assert!(
        contradictions
            .iter()
            .any(|finding| finding.message.contains(about)),
        "{about}: {contradictions:#?}"
    );
}

#[test]
fn differences_within_rounding_are_no_contradiction() {
    // Method: the last digit one up and one down, which a truncating tool may print.
    for digit in ["5555.33", "5555.35", "5550.12", "5560.9"] {
        let audit = of(&text(AB).replacen("5555.34", digit, 1));
        assert!(found(&audit, Id::Contradiction).is_empty(), "{digit}");
        assert_eq!(printed(&audit.reports[0], FigureKey::Rate), digit);
    }
}

#[test]
fn runs_that_differ_in_more_than_the_server_are_not_compared() {
    // Method: a report and a copy with other connections, another path, host, body or head.
    let report = text(AB);
    let cases = [
        (
            "Concurrency Level:      500",
            "Concurrency Level:      100",
            Id::DifferentRuns,
            "connections: ",
        ),
        (
            "Document Path:          /",
            "Document Path:          /x",
            Id::DifferentRuns,
            "path: ",
        ),
        (
            "localhost",
            "192.0.2.1",
            Id::DifferentRuns,
            "the server's host: ",
        ),
        (
            "Document Length:        87",
            "Document Length:        88",
            Id::DifferentBodies,
            "bytes in a body: ",
        ),
        (
            "Total transferred:      755000",
            "Total transferred:      760000",
            Id::DifferentHeads,
            "bytes in a head: 64 (a), 65 (b)",
        ),
    ];
    for (from, to, id, about) in cases {
        let other = report.replace(from, to).replace("5555.34", "5555.35");
        let audit = of_texts(&[("a.txt", &report), ("b.txt", &other)]);
        let findings = found(&audit, id);
        assert!(
            findings
                .iter()
                .any(|finding| finding.message.starts_with(about)),
            "{to}: {:#?}",
            audit.findings
        );
    }
}

#[test]
fn a_large_difference_is_reported_as_probable_not_as_certain() {
    // Method: two runs without other limits, one with three times the rate of the other.
    let report = text(AB);
    let slow = report
        .replace("0.900 seconds", "2.700 seconds")
        .replace("5555.34", "1851.85")
        .replace("90.004", "270.000")
        .replace("0.180 [ms]", "0.540 [ms]")
        .replace("819.20", "273.07")
        .replace("Connect:       31   41", "Connect:       31  221")
        .replace("Total:         47   87", "Total:         47  267")
        .replace("87     125", "266    925")
        .replace("  50%     87", "  50%    266")
        .replace("  66%     89", "  66%    267")
        .replace("  75%     89", "  75%    267")
        .replace("  80%     90", "  80%    267")
        .replace("  90%     91", "  90%    268")
        .replace("  95%     92", "  95%    269")
        .replace("  98%     92", "  98%    270")
        .replace("  99%     92", "  99%    271")
        .replace("100%    125", "100%    925");
    let audit = of_texts(&[("fast.txt", &report), ("slow.txt", &slow)]);
    assert!(
        found(&audit, Id::Contradiction).is_empty(),
        "{:#?}",
        audit.findings
    );
    let first = &audit.conclusions[0];
    assert!(
        first.contains("fast had 3.00 times the rate of slow"),
        "{first}"
    );
    assert!(first.contains("probably faster"), "{first}");
    assert!(found(&audit, Id::SmallDifference).is_empty());
}

#[test]
fn only_connections_on_one_machine_show_a_late_generator() {
    // Method: the report of a late generator, and copies with a remote server, with TLS, with one
    // quick connection, and with connections that the server accepted late.
    let right = text(AB);
    assert_eq!(found(&of(&right), Id::LateGenerator).len(), 1);
    for (from, to) in [
        (
            "Server Hostname:        localhost",
            "Server Hostname:        192.0.2.1",
        ),
        (
            "Server Port:            9090",
            "Server Port:            9090\nSSL/TLS Protocol:       TLSv1.2,X,2048,256",
        ),
        ("Connect:       31 ", "Connect:        1 "),
        (
            "Connect:       31   41   2.8     42      48",
            "Connect:     1001 1041   2.8   1042    1048",
        ),
    ] {
        let other = right.replacen(from, to, 1);
        assert_ne!(other, right);
        assert!(found(&of(&other), Id::LateGenerator).is_empty(), "{to}");
    }
}

#[test]
fn a_copied_report_counts_as_one_run() {
    // Method: a report in two files.
    let report = text(AB);
    let audit = of_texts(&[("a.txt", &report), ("b.txt", &report)]);
    let same = found(&audit, Id::SameFigures);
    assert_eq!(same.len(), 1);
    assert_eq!(
        (same[0].reports[0].as_str(), same[0].message.as_str()),
        ("b", "all figures are those of a")
    );
    assert!(
        audit.conclusions[0]
            .starts_with("a: 5555.34 requests/s, with a new connection per request, in")
    );
}
