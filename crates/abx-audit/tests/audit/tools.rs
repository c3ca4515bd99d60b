//! The report of each tool is read, and its flaws are reported.

use abx_audit::{Audit, AuditFindingId as Id, FigureKey, LoadTool};
use abx_evidence::Level;

use crate::{found, of_files, printed, text, value};

/// The audit of a file with exactly one report, of this tool, without unread lines.
fn only(name: &str, tool: LoadTool) -> Audit {
    let audit = of_files(&[name]);
    assert_eq!(audit.reports.len(), 1, "{name}: {audit:#?}");
    assert_eq!(audit.reports[0].tool, tool, "{name}");
    assert_eq!(audit.files[0].unread, [], "{name}");
    assert!(!text(name).is_empty());
    audit
}

fn is_printed(audit: &Audit, figures: &[(FigureKey, &str)]) {
    for (key, expected) in figures {
        assert_eq!(printed(&audit.reports[0], *key), *expected, "{key:?}");
    }
}

fn quantiles(audit: &Audit) -> Vec<(f64, f64)> {
    let quantiles = audit.reports[0].quantiles.iter();
    quantiles
        .map(|quantile| (quantile.percent, (quantile.time.value * 1e7).round() / 1e4))
        .collect()
}

fn has(audit: &Audit, expected: &[(Id, Level)]) {
    let pairs: Vec<(Id, Level)> = audit
        .findings
        .iter()
        .map(|finding| (finding.id, finding.level))
        .collect();
    assert_eq!(pairs, expected, "{:#?}", audit.findings);
}

#[test]
fn wrk_is_read() {
    // Method: a report with errors of both kinds.
    let audit = only("wrk.txt", LoadTool::Wrk);
    is_printed(
        &audit,
        &[
            (FigureKey::Connections, "100"),
            (FigureKey::Completed, "507043"),
            (FigureKey::Elapsed, "10.02"),
            (FigureKey::Rate, "50603.09"),
            (FigureKey::Not2xx, "1021"),
            (FigureKey::TimedOut, "35"),
        ],
    );
    assert_eq!(
        quantiles(&audit),
        [(50.0, 1.86), (75.0, 2.11), (90.0, 2.48), (99.0, 5.2)]
    );
    assert!((value(&audit.reports[0], FigureKey::Mean) - 0.00198).abs() < 1e-12);
    has(
        &audit,
        &[
            (Id::ErrorResponses, Level::Bound),
            (Id::FailedRequests, Level::Bound),
            (Id::SingleRun, Level::Note),
        ],
    );
    assert!(
        found(&audit, Id::FailedRequests)[0]
            .message
            .contains("none of wrk's times")
    );
    assert!(audit.conclusions[1].contains("not a rate of correct responses"));
    let study = audit.study.unwrap();
    assert!(
        study.ends_with("'other=COMMAND {port}' -c 100 --path /index.html"),
        "{study}"
    );
}

#[test]
fn wrk2_is_distinguished_from_wrk_and_its_rate_is_a_target() {
    // Method: a report with its command, and without.
    let audit = only("wrk2.txt", LoadTool::Wrk2);
    is_printed(
        &audit,
        &[(FigureKey::AskedRate, "2000"), (FigureKey::Rate, "1999.93")],
    );
    assert_eq!(audit.reports[0].quantiles.len(), 8);
    assert!(found(&audit, Id::AskedRate)[0].message.contains("2000"));
    assert!(found(&audit, Id::IdleConnections).is_empty());
    let with_command = text("wrk2.txt");
    let bare = crate::of(with_command.split_once('\n').unwrap().1);
    assert_eq!(bare.reports[0].tool, LoadTool::Wrk2);
    assert_eq!(found(&bare, Id::AskedRate).len(), 1);
}

#[test]
fn hey_is_read() {
    // Method: few requests, a tenth of them errors, and a last quantile that is the slowest.
    let audit = only("hey.txt", LoadTool::Hey);
    is_printed(
        &audit,
        &[
            (FigureKey::Elapsed, "0.0412"),
            (FigureKey::Rate, "4854.3689"),
            (FigureKey::BodyLength, "612"),
            (FigureKey::AskedConnections, "50"),
        ],
    );
    let statuses: Vec<u16> = audit.reports[0].statuses.keys().copied().collect();
    assert_eq!(statuses, [200, 503]);
    has(
        &audit,
        &[
            (Id::ErrorResponses, Level::Bound),
            (Id::FewForQuantile, Level::Note),
            (Id::QuantileIsMaximum, Level::Note),
            (Id::SingleRun, Level::Note),
            (Id::ShortRun, Level::Note),
        ],
    );
    assert!(
        audit.findings[0]
            .message
            .contains("20 of 200 responses (10 %)")
    );
}

#[test]
fn oha_is_distinguished_from_hey() {
    // Method: its times have another unit, and its sizes another label.
    let audit = only("oha.txt", LoadTool::Oha);
    is_printed(
        &audit,
        &[
            (FigureKey::Elapsed, "1001.2453"),
            (FigureKey::Rate, "128239.2984"),
        ],
    );
    assert!((value(&audit.reports[0], FigureKey::Elapsed) - 1.0012453).abs() < 1e-12);
    let last = audit.reports[0].quantiles.last().unwrap();
    assert_eq!(
        (last.percent, last.time.printed.as_str()),
        (99.99, "15.2231")
    );
    assert_eq!(found(&audit, Id::FewForQuantile).len(), 1);
}

#[test]
fn h2load_is_read() {
    // Method: a report whose only flaw is that it is one short run.
    let audit = only("h2load.txt", LoadTool::H2load);
    is_printed(
        &audit,
        &[
            (FigureKey::Connections, "10"),
            (FigureKey::Completed, "10000"),
            (FigureKey::Rate, "8474.58"),
            (FigureKey::BytesBodies, "1060000"),
            (FigureKey::Mean, "1.11"),
        ],
    );
    has(
        &audit,
        &[(Id::SingleRun, Level::Note), (Id::ShortRun, Level::Note)],
    );
}

#[test]
fn siege_is_read_as_text_and_as_json() {
    // Method: the same run in both forms.
    let figures = [
        (FigureKey::Completed, "9871"),
        (FigureKey::Elapsed, "29.35"),
        (FigureKey::Rate, "336.32"),
        (FigureKey::Concurrency, "24.89"),
        (FigureKey::Failed, "80"),
        (FigureKey::Max, "1.31"),
    ];
    for name in ["siege.txt", "siege-json.txt"] {
        let audit = only(name, LoadTool::Siege);
        is_printed(&audit, &figures);
        assert_eq!(found(&audit, Id::FailedRequests).len(), 1);
        assert_eq!(found(&audit, Id::Contradiction).len(), 0);
    }
}

#[test]
fn the_peculiarities_of_ab_are_reported() {
    // Method: an odd number of requests, bodies that vary, and connections that are partly reused.
    let audit = only("ab-keepalive.txt", LoadTool::Ab);
    has(
        &audit,
        &[
            (Id::FailedRequests, Level::Bound),
            (Id::ConnectionSetUp, Level::Bound),
            (Id::FewForQuantile, Level::Note),
            (Id::QuantileIsMaximum, Level::Note),
            (Id::ToolsOwnWay, Level::Note),
            (Id::SingleRun, Level::Note),
            (Id::ShortRun, Level::Note),
        ],
    );
    assert!(audit.findings[0].message.contains("-l"));
    assert!(
        found(&audit, Id::ConnectionSetUp)[0]
            .message
            .contains("40 of 101")
    );
}

#[test]
fn a_target_rate_of_httperf_is_not_a_capacity() {
    // Method: an open loop, with some errors.
    let audit = only("httperf-rate.txt", LoadTool::Httperf);
    for (id, about) in [
        (
            Id::AskedRate,
            "the target rate was 100, and the report shows 100.0/s",
        ),
        (Id::ErrorResponses, "100 of 14900 responses"),
        (
            Id::FailedRequests,
            "14900 completed and 20 failed (20 timed out)",
        ),
        (Id::GeneratorCpu, "99.8 %"),
    ] {
        let findings = found(&audit, id);
        assert!(findings[0].message.contains(about), "{findings:?}");
    }
    assert!(found(&audit, Id::OneAtATime).is_empty());
}

#[test]
fn ab_without_deviations_is_read() {
    // Method: times as -S and older versions print them, and rows whose third number is broken.
    let report = text("event-servers-node.ab.txt");
    let (head, _) = report.split_once("              min  mean").unwrap();
    let rows = "              min   avg   max\nConnect:        0     4    54\n\
                Processing:     2    46   912\nTotal:          2    50   912\n";
    let audit = crate::of(&format!("{head}{rows}"));
    let report = &audit.reports[0];
    is_printed(
        &audit,
        &[
            (FigureKey::ConnectMean, "4"),
            (FigureKey::Min, "2"),
            (FigureKey::Mean, "50"),
            (FigureKey::Max, "912"),
        ],
    );
    assert!((report.figures[&FigureKey::Mean].high - 0.051).abs() < 1e-12);
    assert_eq!(found(&audit, Id::IdleConnections).len(), 1);
    let broken = crate::of(&format!("{head}Total:          2    50   33.2\n"));
    assert_eq!(printed(&broken.reports[0], FigureKey::Max), "");
    let divided = crate::of(&format!("{head}Total:          2    50   33\n.2 9\n"));
    assert_eq!(printed(&divided.reports[0], FigureKey::Max), "");
}
