//! Damaged reports: unreadable lines are reported, and nothing is guessed.

use abx_audit::{AuditFindingId as Id, FigureKey};

use crate::{found, of, printed, text};

const AB: &str = "event-servers-libevent1.ab.txt";

#[test]
fn a_truncated_report_has_no_wrong_figure() {
    // Method: reports truncated after every second byte; each figure is that of the complete
    // report, or missing.
    for name in [AB, "app-server.httperf.txt", "wrk.txt", "siege.txt"] {
        let document = text(name);
        let intact = &of(&document).reports[0];
        for end in (0..document.len()).step_by(2) {
            let Some(part) = document.get(..end) else {
                continue;
            };
            for report in &of(part).reports {
                for (key, figure) in &report.figures {
                    assert_eq!(
                        figure.printed,
                        printed(intact, *key),
                        "{name} cut at {end}: {key:?}"
                    );
                }
                for quantile in &report.quantiles {
                    assert!(intact.quantiles.contains(quantile), "{name} cut at {end}");
                }
            }
        }
    }
}

#[test]
fn a_number_that_a_line_break_divides_is_reported_as_unread() {
    // Method: a break in a rate, in a count, and in a time.
    let report = text(AB);
    for (number, key) in [
        ("5555.34", FigureKey::Rate),
        ("755000", FigureKey::BytesTotal),
        ("0.900", FigureKey::Elapsed),
        ("435000", FigureKey::BytesBodies),
    ] {
        for place in 1..number.len() {
            let (before, after) = number.split_at(place);
            let broken = report.replace(number, &format!("{before}\n{after}"));
            let audit = of(&broken);
            assert_eq!(audit.reports.len(), 1, "{number} at {place}");
            assert_eq!(printed(&audit.reports[0], key), "", "{number} at {place}");
            assert!(!audit.files[0].unread.is_empty(), "{number} at {place}");
        }
    }
}

#[test]
fn an_ambiguous_number_is_reported_as_unread() {
    // Method: thousands or a fraction, in a figure that ab prints with two decimals.
    let audit = of(&text(AB).replace("5555.34", "5,555"));
    assert_eq!(printed(&audit.reports[0], FigureKey::Rate), "");
    let why = &audit.files[0].unread[0];
    assert_eq!(why.line, 34);
    assert!(why.why.contains("in more ways than one"), "{why:?}");
    assert_eq!(found(&audit, Id::Incomplete).len(), 1);
}

#[test]
fn text_that_only_begins_like_a_report_is_reported_as_unread() {
    // Method: a head alone, and a few lines that two tools print alike.
    let audit = of("This is ApacheBench, Version 2.3 <$Revision: 1 $>\n\nBenchmarking x\n");
    assert_eq!(audit.reports, []);
    assert!(
        audit.files[0].unread[0].why.contains("report of ab"),
        "{audit:?}"
    );
    let audit = of("  Slowest:\t0.0200 secs\n  Fastest:\t0.0010 secs\n  Average:\t0.0100 secs\n");
    assert_eq!(audit.reports, []);
    assert!(
        audit.files[0].unread[0].why.contains("hey or oha"),
        "{audit:?}"
    );
    assert_eq!((audit.conclusions.len(), audit.study), (0, None));
}

#[test]
fn an_ab_that_gave_up_has_no_result() {
    // Method: the output of ab when a connection is reset.
    let audit = of(
        "$ ab -n 5000 -c 50 http://127.0.0.1/\nThis is ApacheBench, Version 2.3 <$Revision$>\n\n\
                    Benchmarking 127.0.0.1 (be patient)\nCompleted 500 requests\n\
                    apr_socket_recv: Connection reset by peer (104)\nTotal of 812 requests completed\n",
    );
    assert_eq!(audit.reports.len(), 1);
    assert_eq!(found(&audit, Id::Aborted).len(), 1);
    assert!(
        audit.conclusions[0].contains("nothing"),
        "{:?}",
        audit.conclusions
    );
}
