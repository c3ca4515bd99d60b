//! Saved records, each with its reports: a measurement is read in the same way at any later time.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::Home;

/// The formats of each record, and the suffix of its file.
const FORMATS: [(&str, &str); 3] = [("", "txt"), ("--markdown", "md"), ("--html", "html")];

/// The records, each of another kind of study or run.
const RECORDS: [&str; 7] = [
    // One request, a closed loop.
    "study-one-request",
    "study-one-request-slices",
    "run-one-request",
    // Several requests to a load, open loops, pipelines.
    "study-open-loop",
    "run-open-loop",
    // Many metrics, the host's counters, a rate in stages.
    "study-many-metrics",
    "run-stages",
];

/// The records whose pages are kept: one study and one run hold every part of a page.
const PAGES: [&str; 2] = ["study-many-metrics", "run-stages"];

/// The formats of a record that are saved.
fn formats(name: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_page = PAGES.contains(&name);
    FORMATS
        .into_iter()
        .filter(move |(flag, _)| *flag != "--html" || is_page)
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

/// A report without the style, the program and the record of a page, which are separate files.
fn without_parts(report: &str) -> String {
    let mut rest = report;
    let mut out = String::new();
    while let Some(start) = ["<style", "<script"]
        .iter()
        .filter_map(|tag| rest.find(tag))
        .min()
    {
        let tag = if rest[start..].starts_with("<style") {
            "</style>"
        } else {
            "</script>"
        };
        let end = start + rest[start..].find(tag).unwrap() + tag.len();
        out.push_str(&rest[..start]);
        rest = &rest[end..];
    }
    // A line for each tag; the policy holds hashes of style and program.
    let text = (out + rest).replace("><", ">\n<");
    let is_policy = |line: &&str| line.contains("Content-Security-Policy");
    let lines: Vec<&str> = text.lines().filter(|line| !is_policy(line)).collect();
    lines.join("\n") + "\n"
}

#[test]
fn saved_records_always_give_the_same_reports() {
    // Method: each record in each format, compared with its saved report. UPDATE=1 writes these.
    let home = Home::new();
    for name in RECORDS {
        let record = folder("records").join(format!("{name}.json"));
        let record = record.to_str().unwrap();
        for (flag, ending) in formats(name) {
            let words = ["report", record, flag, "-", "--quiet"];
            let words = if flag.is_empty() {
                &words[..2]
            } else {
                &words[..]
            };
            let ended = home.run_abx(words);
            let report = without_parts(&ended.stdout);
            assert!(report.len() > 500, "{name} {flag}: {ended:#?}");
            let path = folder("reports").join(format!("{name}.{ending}"));
            if std::env::var_os("UPDATE").is_some() {
                fs::write(&path, &report).unwrap();
            }
            let expected = fs::read_to_string(&path).unwrap_or_default();
            assert!(
                expected == report,
                "{} differs from the report of {name}; if that is intended, write it again with: \
                 UPDATE=1 cargo test -p abx --test end_to_end golden",
                path.display()
            );
        }
    }
}

#[test]
fn a_record_of_a_later_schema_is_refused_with_the_remedy() {
    // Method: a record of each kind with the next number of its schema.
    let home = Home::new();
    for (name, saved, known, later) in [
        (
            "study-many-metrics",
            "abx.study/1",
            "abx.study/1",
            "abx.study/2",
        ),
        ("run-stages", "abx.run/1", "abx.run/2", "abx.run/3"),
    ] {
        let text = fs::read_to_string(folder("records").join(format!("{name}.json"))).unwrap();
        let path = home.write("later.json", &text.replacen(saved, later, 1));
        home.run_abx(&["report", &path])
            .expect(2, &[later, known, "version of abx that wrote it"]);
    }
}
