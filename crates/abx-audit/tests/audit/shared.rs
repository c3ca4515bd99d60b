//! The reports of two published comparisons, with expectations that a person read from them.

use abx_audit::{AuditFindingId as Id, FigureKey, LoadTool, audit_text};
use abx_evidence::Level;
use abx_report::printing::Style;

use crate::{found, of_files, printed, value};

const AB: [&str; 6] = [
    "event-servers-libevent1.ab.txt",
    "event-servers-libevent2.ab.txt",
    "event-servers-libevent2-php.ab.txt",
    "event-servers-nginx.ab.txt",
    "event-servers-node.ab.txt",
    "event-servers-shortfin.ab.txt",
];

#[test]
fn every_figure_of_an_ab_report_is_read() {
    // Method: one report and its text.
    use FigureKey::{
        BodyLength, BytesBodies, BytesTotal, Completed, ConnectMean, Connections, Elapsed, Failed,
        Max, Mean, MeanComputed, Min, Not2xx, Rate, Spread, TimePerRequest, Transfer,
    };
    let audit = of_files(&["event-servers-nginx.ab.txt"]);
    assert_eq!(audit.reports.len(), 1);
    let report = &audit.reports[0];
    assert_eq!(
        (report.tool, report.line, report.last_line),
        (LoadTool::Ab, 1, 56)
    );
    let expected = [
        (Connections, "500", 27),
        (Elapsed, "1.084", 28),
        (Completed, "5000", 29),
        (Failed, "0", 30),
        (Not2xx, "5000", 32),
        (BytesTotal, "1585000", 33),
        (BytesBodies, "840000", 34),
        (Rate, "4612.45", 35),
        (MeanComputed, "108.402", 36),
        (TimePerRequest, "0.217", 37),
        (Transfer, "1427.88", 38),
        (ConnectMean, "38", 42),
        (Min, "50", 45),
        (Mean, "82", 45),
        (Spread, "10.6", 45),
        (Max, "137", 45),
        (BodyLength, "168", 25),
    ];
    for (key, text, line) in expected {
        let figure = &report.figures[&key];
        assert_eq!(
            (figure.printed.as_str(), figure.line),
            (text, line),
            "{key:?}"
        );
    }
    let quantiles: Vec<f64> = report
        .quantiles
        .iter()
        .map(|quantile| quantile.percent)
        .collect();
    assert_eq!(
        quantiles,
        [50.0, 66.0, 75.0, 80.0, 90.0, 95.0, 98.0, 99.0, 100.0]
    );
    assert_eq!(audit.files[0].unread, []);
}

#[test]
fn error_responses_void_a_rate() {
    // Method: nginx responded to every request with an error, quickly.
    let audit = of_files(&AB);
    let errors = found(&audit, Id::ErrorResponses);
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].level, Level::Void);
    assert_eq!(errors[0].reports, ["nginx"]);
    assert!(
        errors[0].message.contains("all 5000 responses"),
        "{errors:?}"
    );
    let lines: Vec<usize> = errors[0].rests_on.iter().map(|place| place.line).collect();
    assert_eq!(lines, [29, 32]);
    assert_eq!(found(&audit, Id::DifferentBodies).len(), 1);
    let last = audit
        .conclusions
        .iter()
        .find(|conclusion| conclusion.starts_with("nginx: nothing"));
    assert!(last.is_some(), "{:?}", audit.conclusions);
}

#[test]
fn levels_have_the_words_of_all_reports() {
    // Method: the text of an audit with findings of every level.
    let text = audit_text(&of_files(&AB), &Style::plain());
    for start in [
        "\nno result  Errors or redirects",
        "\nlimit      Connections without",
        "\nnote       Quantiles from few",
    ] {
        assert!(text.contains(start), "{start}: {text}");
    }
}

#[test]
fn connections_without_requests_are_counted() {
    // Method: by Little's law, shortfin had 94 of 500 requests in flight, node 102 and nginx 378.
    // The others may have had all 500, because one slow request at the end lowers the mean.
    let audit = of_files(&AB);
    let idle = found(&audit, Id::IdleConnections);
    let names: Vec<&str> = idle
        .iter()
        .flat_map(|finding| &finding.reports)
        .map(String::as_str)
        .collect();
    assert_eq!(names, ["nginx", "node", "shortfin"]);
    for (finding, about) in idle.iter().zip(["378 of 500", "102 of 500", "94 of 500"]) {
        assert!(finding.message.contains(about), "{finding:?}");
    }
    let at_least = audit
        .conclusions
        .iter()
        .filter(|conclusion| conclusion.contains("how much more it could"));
    assert_eq!(at_least.count(), 2, "{:?}", audit.conclusions);
}

#[test]
fn slow_local_connections_show_a_late_generator() {
    // Method: on one machine, connecting took 5 ms or more with five servers, and 0 ms with node.
    // The conclusions repeat the finding for the three rates without other limits.
    let audit = of_files(&AB);
    let late = found(&audit, Id::LateGenerator);
    let mut names: Vec<&str> = late
        .iter()
        .flat_map(|finding| &finding.reports)
        .map(String::as_str)
        .collect();
    names.sort_unstable();
    let expected = [
        "libevent1",
        "libevent2",
        "libevent2-php",
        "nginx",
        "shortfin",
    ];
    assert_eq!(names, expected);
    assert!(late.iter().all(|finding| finding.level == Level::Bound));
    let about = "libevent1, libevent2 and libevent2-php: the generator was late";
    let holds = audit
        .conclusions
        .iter()
        .any(|conclusion| conclusion.starts_with(about));
    assert!(holds, "{:?}", audit.conclusions);
}

#[test]
fn times_at_different_numbers_of_requests_in_flight_are_not_compared() {
    // Method: the mean times are 18 to 92 ms, with 94 to 483 requests in flight. Two reports
    // with about as many in flight have no such finding.
    let audit = of_files(&AB);
    let different = found(&audit, Id::DifferentUnderWay);
    assert_eq!(different.len(), 1);
    for about in ["libevent1 about 483 (87 ms)", "shortfin about 94 (18 ms)"] {
        assert!(different[0].message.contains(about), "{different:?}");
    }
    let alike = of_files(&[AB[0], AB[1]]);
    assert!(found(&alike, Id::DifferentUnderWay).is_empty());
}

#[test]
fn consistent_figures_cause_no_finding() {
    // Method: all reports, whose figures are consistent.
    let mut names = AB.to_vec();
    names.push("app-server.httperf.txt");
    let audit = of_files(&names);
    assert_eq!(found(&audit, Id::Contradiction), Vec::<&_>::new());
}

#[test]
fn runs_that_differ_no_more_than_identical_servers_are_not_distinguished() {
    // Method: the three rates without other limits differ by at most 11 %.
    let audit = of_files(&AB);
    let first = &audit.conclusions[0];
    assert!(
        first.starts_with("libevent1, libevent2 and libevent2-php: cannot be distinguished"),
        "{first}"
    );
    assert!(
        first.contains("libevent1 over libevent2-php: 11 %"),
        "{first}"
    );
    assert!(
        !audit
            .conclusions
            .iter()
            .any(|conclusion| conclusion.contains("faster"))
    );
    let study = audit.study.unwrap();
    assert!(
        study.contains("'shortfin=COMMAND {port}' -c 500 --no-keepalive"),
        "{study}"
    );
}

#[test]
fn a_table_is_matched_with_its_reports() {
    // Method: all files together: each row has the rate of one report.
    let mut names = AB.to_vec();
    names.push("event-servers-summary.txt");
    let audit = of_files(&names);
    let rows = audit
        .reports
        .iter()
        .filter(|report| report.tool == LoadTool::Table);
    let rows: Vec<&str> = rows.map(|report| report.name.as_str()).collect();
    assert_eq!(
        rows,
        [
            "row libevent1",
            "row libevent2",
            "row PHP",
            "row JavaScript",
            "row nginx",
            "row shortfin"
        ]
    );
    let same = found(&audit, Id::SameFigures);
    assert_eq!(same.len(), 6);
    assert!(
        same.iter().any(
            |finding| finding.reports == ["row JavaScript"] && finding.message.contains("node")
        )
    );
    let alone = of_files(&["event-servers-summary.txt"]);
    assert!(alone.conclusions[0].starts_with("A table alone: nothing"));
}

#[test]
fn a_report_of_httperf_with_typographic_dashes_is_read() {
    // Method: the echoed command has dashes from a word processor.
    use FigureKey::{
        AskedCalls, AskedRequests, BodySize, CallsPerConnection, Completed, ConnectionsMost,
        CpuShare, Elapsed, Mean, Median, Port, Rate, RateSamples, Sent, Status2xx, WaitingMean,
    };
    let audit = of_files(&["app-server.httperf.txt"]);
    assert_eq!(audit.reports.len(), 1);
    let report = &audit.reports[0];
    assert_eq!(report.tool, LoadTool::Httperf);
    for (key, text) in [
        (AskedCalls, "1"),
        (AskedRequests, "10000"),
        (Port, "8800"),
        (Sent, "10000"),
        (Completed, "10000"),
        (Elapsed, "17.800"),
        (ConnectionsMost, "1"),
        (Mean, "1.8"),
        (Median, "1.5"),
        (CallsPerConnection, "1.000"),
        (Rate, "561.8"),
        (RateSamples, "3"),
        (WaitingMean, "1.7"),
        (BodySize, "421.0"),
        (Status2xx, "10000"),
        (CpuShare, "94.7"),
    ] {
        assert_eq!(printed(report, key), text, "{key:?}");
    }
    assert!((value(report, Mean) - 0.0018).abs() < 1e-12);
    assert_eq!(audit.files[0].unread, []);
    for id in [
        Id::OneAtATime,
        Id::GeneratorCpu,
        Id::ConnectionSetUp,
        Id::SingleRun,
    ] {
        assert_eq!(found(&audit, id).len(), 1, "{id:?}");
    }
    assert_eq!(found(&audit, Id::ToolsOwnWay).len(), 2);
    assert_eq!(found(&audit, Id::IdleConnections).len(), 0);
    let first = &audit.conclusions[0];
    assert!(
        first.contains("one request after the other, 1.8 ms each"),
        "{first}"
    );
}

#[test]
fn reports_of_different_tools_are_not_compared() {
    // Method: a report of ab and one of httperf.
    let audit = of_files(&["event-servers-libevent1.ab.txt", "app-server.httperf.txt"]);
    let tools = found(&audit, Id::DifferentRuns);
    assert!(
        tools
            .iter()
            .any(|finding| finding.message.starts_with("tool: ")),
        "{tools:?}"
    );
}
