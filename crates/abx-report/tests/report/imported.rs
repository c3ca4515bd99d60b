//! Reports of other tools as records: alone, and beside records of abx.

use std::fs;
use std::path::Path;

use abx_audit::{ImportedRecord, ReportText, SideBySideRows, imported};
use abx_report::{
    AnyRecord, NamedRecord, Style, imported_html, imported_text, side_by_side_html,
    side_by_side_text,
};
use insta::assert_snapshot;

use crate::html::golden;
use crate::support::{run, study};

/// The record of one of the reports that are kept for tests.
pub fn record(file: &str) -> ImportedRecord {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../abx-audit/tests/reports");
    let text = ReportText {
        file: file.to_owned(),
        text: Some(fs::read_to_string(folder.join(file)).expect("it is kept for tests")),
    };
    let audit = abx_audit::audit(&[text]);
    imported(&audit, "0.1.0", 1_750_000_000_000).remove(0)
}

#[test]
fn a_report_of_ab_alone() {
    // Method: responses that were all errors, as text and as a page.
    let record = record("event-servers-nginx.ab.txt");
    assert_snapshot!("alone_text", imported_text(&record, &Style::plain()));
    assert_snapshot!("alone_page", golden(&imported_html(&record)));
}

#[test]
fn a_report_of_httperf_and_what_cannot_be_read() {
    // Method: a tool that prints other figures, and two lines that cannot be read.
    let mut record = record("app-server.httperf.txt");
    let unread =
        r#"[{"line":4,"why":"its number is broken"},{"line":9,"why":"no number follows"}]"#;
    record.unread = serde_json::from_str(unread).unwrap();
    assert_snapshot!(imported_text(&record, &Style::plain()));
}

#[test]
fn reports_beside_records_of_abx() {
    // Method: two reports, a run and a study, as text and as a page.
    let [ab, wrk] = ["event-servers-node.ab.txt", "wrk.txt"].map(record);
    let (run, study) = (run(), study());
    let mut rows = SideBySideRows::default();
    rows.add_imported("3fa9c1", &ab);
    rows.add_run("77aa00", &run);
    rows.add_imported("5b5b5b", &wrk);
    rows.add_study("0a1b2c", &study);
    let text = side_by_side_text(&rows.finish(), &Style::plain());
    assert_snapshot!("beside_text", text);
    let named = |id, record| NamedRecord { id, record };
    let all = [
        named("3fa9c1", AnyRecord::Imported(&ab)),
        named("77aa00", AnyRecord::Run(&run)),
        named("5b5b5b", AnyRecord::Imported(&wrk)),
    ];
    assert_snapshot!("beside_page", golden(&side_by_side_html(&all, &[])));
}

#[test]
fn pages_of_imported_reports_fit_any_terminal() {
    // Method: every kept report of one tool, at several widths and without letters of our own.
    for file in [
        "ab-keepalive.txt",
        "hey.txt",
        "h2load.txt",
        "oha.txt",
        "siege.txt",
        "wrk2.txt",
    ] {
        let record = record(file);
        let mut rows = SideBySideRows::default();
        rows.add_imported("a-name-that-is-longer-than-it-should-be.json", &record);
        rows.add_imported("0a1b2c", &record);
        let both = rows.finish();
        for width in [60, 72, 80, 120] {
            let style = Style {
                color: false,
                unicode: false,
                width,
            };
            let texts = [
                imported_text(&record, &style),
                side_by_side_text(&both, &style),
            ];
            for line in texts.iter().flat_map(|text| text.lines()) {
                assert!(line.chars().count() <= width, "{file} {width}: {line}");
                assert!(line.is_ascii(), "{file}: {line}");
            }
        }
    }
}
