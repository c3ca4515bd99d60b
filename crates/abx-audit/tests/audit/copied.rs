//! Reports as other programs hand them on: numbered, dated, in the wrong encoding, escaped.

use abx_audit::{AuditFindingId as Id, FigureKey};
use abx_evidence::Level;

use crate::{found, of, of_files, printed, text};

#[test]
fn a_report_that_a_program_copied_keeps_its_failures() {
    // Method: one report with 95 % failures, with line numbers, with prefixes of grep and of a log,
    // in the wrong encoding, and with escaped line ends.
    for name in [
        "numbered-ab.txt",
        "grep-numbered-ab.txt",
        "timestamped-ab.txt",
        "mojibake-ab.txt",
        "escaped-ab.txt",
    ] {
        let audit = of_files(&[name]);
        assert_eq!(audit.files[0].unread, [], "{name}");
        assert_eq!(audit.reports.len(), 1, "{name}");
        let report = &audit.reports[0];
        for (key, expected) in [
            (FigureKey::Connections, "20"),
            (FigureKey::Completed, "8000"),
            (FigureKey::Failed, "7600"),
            (FigureKey::FailedLength, "7600"),
            (FigureKey::Not2xx, "7600"),
            (FigureKey::BytesTotal, "2008000"),
            (FigureKey::Rate, "2000.00"),
        ] {
            assert_eq!(printed(report, key), expected, "{name}: {key:?}");
        }
        for id in [Id::FailedRequests, Id::ErrorResponses] {
            assert_eq!(found(&audit, id)[0].level, Level::Void, "{name}: {id:?}");
        }
        assert!(audit.conclusions[0].contains("nothing"), "{name}");
    }
}

#[test]
fn no_prefix_changes_the_figures_of_any_tool() {
    // Method: each tool's report with prefixes of common programs before all of its lines.
    type Prefix = fn(usize, &str) -> String;
    let prefixes: [Prefix; 7] = [
        |number, line| format!("{number:>6}\t{line}\r\n"),
        |number, line| format!("{number}:{line}\n"),
        |number, line| format!("out/run.log:{number}:{line}\n"),
        |number, line| format!("{number:>3} | {line}\n"),
        |number, line| format!("[10:00:{:02}] {line}\n", number % 60),
        |number, line| format!("Mar  1 10:00:{:02} {line}\n", number % 60),
        |number, line| format!("{number:>4}: 2026-03-01T10:00:00.5Z {line}\n"),
    ];
    for name in [
        "event-servers-nginx.ab.txt",
        "wrk.txt",
        "h2load.txt",
        "hey.txt",
        "siege.txt",
    ] {
        let plain = text(name);
        let expected = crate::figures(&of(&plain));
        for (number, prefix) in prefixes.iter().enumerate() {
            let lines = plain.lines().enumerate();
            let copied: String = lines.map(|(index, line)| prefix(index + 1, line)).collect();
            let audit = of(&copied);
            assert_eq!(crate::figures(&audit), expected, "{name}, prefix {number}");
        }
    }
}

#[test]
fn a_line_about_failures_that_cannot_be_read_voids_the_rate() {
    // Method: damaged numbers of failures in the reports of several tools.
    for (name, from, to) in [
        (
            "numbered-ab.txt",
            "Failed requests:        7600",
            "Failed requests:        76?0",
        ),
        (
            "numbered-ab.txt",
            "Non-2xx responses:      7600",
            "Non-2xx responses:      7.6",
        ),
        ("h2load.txt", "0 failed", "? failed"),
        (
            "siege.txt",
            "Failed transactions:",
            "Failed transactions: n/a",
        ),
        ("wrk.txt", "timeout 35", "timeout 3.5"),
    ] {
        let damaged = text(name).replacen(from, to, 1);
        assert_ne!(damaged, text(name), "{name}");
        let audit = of(&damaged);
        let incomplete = found(&audit, Id::Incomplete);
        assert!(
            incomplete
                .iter()
                .any(|finding| finding.level == Level::Void),
            "{name}: {:#?}",
            audit.findings
        );
        assert!(audit.conclusions[0].contains("nothing"), "{name}");
    }
}
