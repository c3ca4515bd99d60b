//! The page that `--html` writes is the same at any later time and works in a real browser. The
//! browser's checks are in `browser/page.mjs`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use abx_evidence::OutputKind;
use abx_report::RecordPlace;
use abx_verdict::doctor::{DoctorRecord, Readings};
use abx_verdict::{Capacity, StudyRecord};
use serde_json::{Value, json};

use crate::support::{Home, Server};
use abx_fixtures::{each_slice, pair};

/// A small study and its page, measured once for all tests here. In memory, since copies of this
/// program may run at the same time.
struct Measured {
    page: String,
    record: String,
    /// The name of its file in the state folder.
    name: String,
}

static MEASURED: LazyLock<Measured> = LazyLock::new(|| {
    let home = Home::new();
    let words = "compare --blocks 2 --slice 20ms --pilot brief --html new/page.html \
                 --embed-record --json record.json";
    let words: Vec<&str> = words.split(' ').collect();
    let ended = home.run_abx(&words);
    ended.expect_measured(&home.record());
    let [page, record] =
        ["new/page.html", "record.json"].map(|name| fs::read_to_string(home.join(name)).unwrap());
    let path = home.record_path();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    Measured { page, record, name }
});

/// Checks in a browser whether a claim holds for a page.
#[track_caller]
fn browser(claim: &str, page: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/page.mjs");
    let scratch = tempfile::tempdir().unwrap();
    let record = scratch.path().join("record.json");
    fs::write(&record, &MEASURED.record).unwrap();
    let ended = Command::new("node")
        .arg(script)
        .args([claim.as_ref(), page, &record])
        .env("TMPDIR", scratch.path())
        .output()
        .expect("node is installed: scripts/install-test-servers");
    let message = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{claim}: {message}");
}

/// Like [`browser`], for the page of [`MEASURED`].
#[track_caller]
fn browser_at_measured(claim: &str) {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    fs::write(&page, &MEASURED.page).unwrap();
    browser(claim, &page);
}

#[test]
fn a_page_fits_small_and_large_screens_in_light_and_dark() {
    // Method: a browser at 360 and at 1280 pixels, each in light and dark. No scrolling sideways,
    // no overlapping labels, enough contrast, no message on the console, and no request except for
    // the file.
    browser_at_measured("fits");
}

#[test]
fn a_large_study_begins_with_its_matrix() {
    // Method: the record of a study of many pairs, and a browser at 1280 and at 390 pixels.
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let record = studies.join("http-servers/record.json.zst");
    let home = Home::new();
    let ended = home.run_abx(&["report", record.to_str().unwrap(), "--html", "page.html"]);
    assert!(
        ended.status.code().is_some_and(|code| code != 2),
        "{ended:#?}"
    );
    browser("begins", &home.join("page.html"));
}

#[test]
fn capacities_have_pictures_on_small_and_large_screens() {
    // Method: a study without a curve, with one capacity found and one beyond the rates. A browser
    // must show a wide picture with a bar inside for both.
    let mut record = StudyRecord::judged(pair());
    let capacity = |subject: &str, rate: Option<f64>| Capacity {
        subject: subject.to_owned(),
        objective: "p99<50ms".parse().unwrap(),
        load: "c50".to_owned(),
        rate_per_s: rate,
        low: Some(1_900.0),
        high: rate.map(|rate| rate * 1.05),
        confidence: 0.95,
        blocks: 6,
        held_per_s: None,
        missed_per_s: None,
    };
    record.conclusions.capacities = vec![capacity("old", Some(2_000.0)), capacity("new", None)];
    let home = Home::new();
    let page = abx_report::study_html(&record, &[], RecordPlace::default());
    let page = home.write("capacities.html", &page);
    browser("capacities", Path::new(&page));
}

/// Samples of a subject that spends `work` of 100 samples in the inner of two functions.
fn samples(work: u64) -> Value {
    json!({
        "sampled_ns": 200_000_000, "samples_per_s": 3_989, "completed": 1_000,
        "server_cpu_ns": 100_000_000, "samples": 100, "lost": 0, "without_symbols": 0,
        "lines": {"system call read": 100 - work, "user a": work},
        "stacks": {
            "lines": ["system call read", "user a"], "names": ["main", "read", "work"],
            "node_parents": [0, 1, 1], "node_names": [0, 1, 2], "stack_nodes": [2, 3],
            "stack_lines": [0, 1], "stack_samples": [100 - work, work],
        },
    })
}

#[test]
fn flame_graphs_can_be_enlarged_searched_and_navigated() {
    // Method: a page with three graphs. A browser clicks, types and presses keys at 1280 and 390
    // pixels, and reads the graphs without the page's program.
    let mut record = pair();
    for (name, work) in [("old", 20), ("new", 60)] {
        for block in &mut record.blocks {
            let samples = serde_json::from_value(samples(work)).unwrap();
            block.loads[0].ledgers.insert(name.to_owned(), samples);
        }
        each_slice(&mut record, name, |slice| {
            slice.server_cpu_ns = Some(10_000 * slice.outcomes.completed());
        });
    }
    let record = StudyRecord::judged(record);
    let home = Home::new();
    let page = abx_report::study_html(&record, &[], RecordPlace::default());
    let page = home.write("flames.html", &page);
    browser("flames", Path::new(&page));
}

#[test]
fn points_are_described_to_a_pointer() {
    // Method: a browser's pointer next to a slice, and away from it.
    browser_at_measured("tips");
}

#[test]
fn points_are_described_to_a_keyboard() {
    // Method: Tab to the first point, arrows from one to the next, Escape.
    browser_at_measured("keyboard");
}

#[test]
fn bars_of_phases_have_the_length_of_their_numbers() {
    // Method: a browser measures them at both widths in light and dark, and then moves from phase
    // to phase by arrow keys.
    browser_at_measured("phases");
}

#[test]
fn a_subject_can_be_hidden_in_all_pictures() {
    // Method: one click in one legend, and another.
    browser_at_measured("toggles");
}

#[test]
fn a_page_can_save_its_record() {
    // Method: a click on its button. The file equals that of `--json`.
    browser_at_measured("gives");
}

#[test]
fn a_page_can_neither_request_nor_run_anything() {
    // Method: every way to send a request from the page to a server of the test. The browser must
    // refuse each by the page's own policy.
    browser_at_measured("asks");
}

#[test]
fn a_page_is_complete_without_its_script() {
    // Method: a browser that runs no programs: titles, descriptions, tables.
    browser_at_measured("stands");
}

#[test]
fn a_page_can_be_printed() {
    // Method: a browser that prints, for a reader who prefers dark screens.
    browser_at_measured("prints");
}

#[test]
fn a_hostile_name_is_only_a_name() {
    // Method: a record with a script as a subject's name. In the browser it fits like any other
    // name, and no dialog opens.
    let hostile = r#""</script><script>alert(1)</script><img src=x onerror=alert(2)>""#;
    let text = MEASURED.record.replace("\"thread\"", hostile);
    let home = Home::new();
    let record = home.write("record.json", &text);
    let ended = home.run_abx(&["report", &record, "--html", "page.html"]);
    assert!(
        ended.status.code().is_some_and(|code| code != 2),
        "{ended:#?}"
    );
    browser("fits", &home.join("page.html"));
}

#[test]
fn a_page_does_not_depend_on_the_time() {
    // Method: the page of `compare` and that of `report` from the saved record are equal byte for
    // byte.
    let home = Home::new();
    fs::create_dir_all(home.join("state/abx")).unwrap();
    home.write(&format!("state/abx/{}", MEASURED.name), &MEASURED.record);
    let ended = home.run_abx(&["report", "last", "--html", "again.html", "--embed-record"]);
    assert!(
        ended.status.code().is_some_and(|code| code != 2),
        "{ended:#?}"
    );
    assert!(fs::read_to_string(home.join("again.html")).unwrap() == MEASURED.page);
}

#[test]
fn a_run_has_a_page_too() {
    // Method: a short run whose page is in another folder than its record, and its page written
    // again from the record.
    let home = Home::new();
    let server = Server::start(&[]);
    let words = ["run", &server.url, "-n", "100", "-c", "2"];
    let files = ["--html", "new/run.html", "--json", "run.json"];
    let ended = home.run_abx(&[&words[..], &files].concat());
    ended.expect(0, &[]);
    let page = fs::read(home.join("new/run.html")).unwrap();
    assert!(page.starts_with(b"<!doctype html>"));
    home.run_abx(&["report", "last", "--html", "again.html"])
        .expect(0, &[]);
    assert!(fs::read(home.join("again.html")).unwrap() == page);
}

#[test]
fn a_page_without_its_record_names_it_and_links_a_file_in_the_same_folder() {
    // Method: a page next to its record and elsewhere; then `--embed-record` without a page.
    let home = Home::new();
    let record = home.write("record.json", &MEASURED.record);
    let link = "href=\"./record.json\"";
    for (place, has_link) in [("page.html", true), ("elsewhere/page.html", false)] {
        home.run_abx(&["report", &record, "--html", place]);
        let page = fs::read_to_string(home.join(place)).unwrap();
        assert!(
            page.contains("<code>abx report record.json</code>"),
            "{place}"
        );
        assert_eq!(page.contains(link), has_link, "{place}");
        assert!(!page.contains("id=\"record\""), "{place}");
    }
    home.run_abx(&["report", &record, "--embed-record"])
        .expect(2, &["--html"]);
}

#[test]
fn a_page_that_cannot_be_written_loses_nothing() {
    // Method: a folder in place of the file. The report is printed all the same, and the message
    // has a remedy.
    let home = Home::new();
    let server = Server::start(&[]);
    fs::create_dir(home.join("taken")).unwrap();
    let words = ["run", &server.url, "-n", "100", "-c", "2"];
    let ended = home.run_abx(&[&words[..], &["--html", "taken"]].concat());
    ended.expect(3, &["cannot write taken", "--html"]);
    assert!(ended.stdout.contains("Throughput"), "{ended:#?}");
}

#[test]
fn a_record_without_a_page_is_refused() {
    // Method: the record of `abx doctor` for an unknown machine.
    let home = Home::new();
    let doctor = DoctorRecord {
        head: OutputKind::Doctor.into(),
        abx_version: "0.1.0".to_owned(),
        started_unix_ms: 0,
        elapsed_s: 1.0,
        interrupted: false,
        readings: Readings::default(),
        other_programs: Vec::new(),
        elsewhere: None,
        noise: None,
        ceilings: Vec::new(),
        refusal: None,
        checks: Vec::new(),
    };
    let record = home.write("doctor.json", &serde_json::to_string(&doctor).unwrap());
    home.run_abx(&["report", &record]).expect(0, &[]);
    home.run_abx(&["report", &record, "--html", "page.html"])
        .expect(2, &["`abx doctor`", "--html"]);
    assert!(!home.join("page.html").exists());
}
