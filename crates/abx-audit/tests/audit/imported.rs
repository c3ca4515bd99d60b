//! Reports as records: what is kept, what is read again, and what stands side by side.

use abx_audit::{AuditFindingId as Id, ImportedRecord, LoadTool, SideBySideRows, imported};

use crate::{all, found, of_files, of_texts, text};

/// The records of these texts.
fn records(texts: &[(&str, &str)]) -> Vec<ImportedRecord> {
    imported(&of_texts(texts), "0.1.0", 1_750_000_000_000)
}

#[test]
fn a_record_says_what_the_report_says_whenever_it_is_read() {
    // Method: every report of the folder as a record, written and read again: nothing is lost
    // and nothing added, and it is audited as the report was.
    let mut count = 0;
    for (name, words) in all() {
        let audit = of_texts(&[(&name, &words)]);
        let printed = audit
            .reports
            .iter()
            .filter(|one| one.tool != LoadTool::Table);
        let records = records(&[(&name, &words)]);
        assert_eq!(records.len(), printed.clone().count(), "{name}");
        for (record, report) in records.iter().zip(printed) {
            count += 1;
            assert_eq!(record.report, *report, "{name}");
            assert_eq!((record.runs, record.is_paired), (1, false));
            let json = serde_json::to_string(record).unwrap();
            let again: ImportedRecord = serde_json::from_str(&json).unwrap();
            assert_eq!(again, *record, "{name}");
            if audit.reports.len() == 1 {
                assert_eq!(record.findings, audit.findings, "{name}");
                assert_eq!(record.conclusions, audit.conclusions, "{name}");
                assert_eq!(record.study, audit.study, "{name}");
            }
        }
    }
    assert!(count > 10, "{count} reports");
}

#[test]
fn what_a_file_claims_to_conclude_is_not_believed() {
    // Method: a record without its findings, and with a kind conclusion in their place.
    let record = &records(&[("nginx", &text("event-servers-nginx.ab.txt"))])[0];
    let mut json = serde_json::to_value(record).unwrap();
    json["findings"] = serde_json::json!([]);
    json["conclusions"] = serde_json::json!(["nginx is the fastest"]);
    let again: ImportedRecord = serde_json::from_value(json).unwrap();
    assert_eq!(again, *record);
    let void = found(&again.audit(), Id::ErrorResponses).len();
    assert_eq!(void, 1);
}

#[test]
fn rows_of_a_table_are_no_records() {
    // Method: a table alone, and one beside a report.
    let table = text("event-servers-summary.txt");
    assert_eq!(records(&[("table", &table)]), []);
    let ab = text("event-servers-node.ab.txt");
    let both = records(&[("table", &table), ("node.txt", &ab)]);
    assert_eq!(both.len(), 1);
    assert_eq!(both[0].report.file, "node.txt");
}

#[test]
fn what_cannot_be_read_stays_with_its_report() {
    // Method: two reports in a file, of which the second has a number that means two things.
    let ab = text("event-servers-node.ab.txt");
    let damaged = ab.replace("2042.88", "2,042");
    let both = format!("{ab}\n\n{damaged}");
    let records = records(&[("two.txt", &both)]);
    assert_eq!(records.len(), 2);
    assert_eq!(records[0].unread, []);
    assert_eq!(records[1].unread.len(), 1, "{:?}", records[1].unread);
    assert!(records[1].unread[0].line > records[1].report.line);
}

#[test]
fn side_by_side_each_has_a_name_and_what_is_said_of_both_is_said() {
    // Method: the same name twice, with bodies of different lengths; and one report alone.
    let [nginx, node] = ["event-servers-nginx.ab.txt", "event-servers-node.ab.txt"].map(text);
    let of_stdin = |text: &str| records(&[("standard input", text)]).remove(0);
    let mut rows = SideBySideRows::default();
    rows.add_imported("aa11", &of_stdin(&nginx));
    rows.add_imported("bb22", &of_stdin(&node));
    let both = rows.finish();
    let names: Vec<&str> = both.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["standard input", "standard input (bb22)"]);
    assert_eq!(found(&both.imported, Id::DifferentBodies).len(), 1);
    let pair = of_files(&["event-servers-nginx.ab.txt", "event-servers-node.ab.txt"]);
    assert_eq!(both.imported.findings.len(), pair.findings.len());
    assert_eq!(both.rows[0].rate_per_s, Some(4612.45));
    assert_eq!(both.rows[0].wrong_status, Some(5000.0));
    assert_eq!(both.rows[1].wrong_status, None);
    assert_eq!(both.rows[1].p50_ms, Some(47.0));
    assert!(
        both.study
            .unwrap()
            .starts_with("abx compare 'standard-input=COMMAND {port}' ")
    );
    let mut rows = SideBySideRows::default();
    rows.add_imported("aa11", &of_stdin(&node));
    assert!(
        rows.finish()
            .study
            .unwrap()
            .contains("'other=COMMAND {port}'")
    );
}
