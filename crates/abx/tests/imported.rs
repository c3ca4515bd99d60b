//! `abx import`: reports of other tools as records, alone and beside records of abx.

use std::fs::{self, File};
use std::path::Path;

use crate::support::{Ended, Home};

const NGINX: &str = "event-servers-nginx.ab.txt";
const NODE: &str = "event-servers-node.ab.txt";
const TABLE: &str = "event-servers-summary.txt";

/// A home with these reports in it.
fn home(names: &[&str]) -> Home {
    let home = Home::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../abx-audit/tests/reports");
    for name in names {
        home.write(name, &fs::read_to_string(folder.join(name)).unwrap());
    }
    home
}

/// The ids that an import printed.
fn ids(ended: &Ended) -> Vec<String> {
    let first = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    ended.stdout.lines().map(first).collect()
}

#[track_caller]
fn says(ended: &Ended, words: &[&str]) {
    let plain = ended
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    for word in words {
        assert!(plain.contains(word), "`{word}` is missing: {ended:#?}");
    }
}

#[test]
fn an_imported_report_is_a_record_like_others() {
    // Method: one report of ab, whose responses were errors: its record, the list, the report
    // again in each format that it has, and the flags that ask for more than it can give.
    let home = home(&[NGINX]);
    let imported = home.run_abx(&["import", NGINX]);
    imported.expect(0, &["Show with: abx report "]);
    let [id] = &ids(&imported)[..] else {
        panic!("{imported:#?}");
    };
    says(
        &imported,
        &["event-servers-nginx: a report of ab, event-servers-nginx.ab.txt:1-56"],
    );
    let record = home.record();
    assert_eq!(record["schema"], "abx.imported/1");
    assert_eq!(
        (&record["runs"], &record["is_paired"]),
        (&1.into(), &false.into())
    );
    assert_eq!(record["report"]["figures"]["rate"]["printed"], "4612.45");
    for invented in ["low", "high", "verdict", "interval", "machine"] {
        assert!(record.get(invented).is_none(), "{invented}");
    }
    let listed = home.run_abx(&["history"]);
    says(
        listed.expect(0, &[]),
        &[id, "c500 (ab)", "4,612/s imported"],
    );
    let report = home.run_abx(&["report", id]);
    let expected = [
        "Imported from a report of ab; one run, so no interval and no verdict.",
        "event-servers-nginx.ab.txt:1-56, imported",
        "status other than 2xx 5000",
        "p99 130",
        "void Responses that were not the page",
        "bound Connections without a request",
        "nothing about how fast the page is served",
        "abx compare 'event-servers-nginx=COMMAND {port}' 'other=COMMAND {port}' -c 500",
    ];
    says(report.expect(0, &[]), &expected);
    let json = home.run_abx(&["report", "last", "--json", "-", "--quiet"]);
    assert_eq!(json.expect(0, &[]).json(), record);
    let page = home.run_abx(&["report", id, "--html", "-", "--quiet"]);
    assert!(
        page.expect(0, &[])
            .stdout
            .contains("one run, so no interval")
    );
    for (flag, value) in [
        ("--markdown", "-"),
        ("--prometheus", "-"),
        ("--csv", "-"),
        ("--fail-if-slower", "3"),
    ] {
        let refused = home.run_abx(&["report", id, flag, value]);
        refused.expect(2, &[flag]);
        assert_eq!(refused.stdout, "");
    }
    let against = home.run_abx(&["compare", "--against", id, "a=./a {port}", "--blocks", "1"]);
    against.expect(2, &["a report of ab that was imported", "no blocks"]);
}

#[test]
fn beside_other_records_it_is_no_comparison() {
    // Method: two reports and a run that abx made of another server, in one table; and the
    // same as JSON.
    let home = home(&[NGINX, NODE]);
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/records");
    let run = run.join("run-one-request.json");
    let run = run.to_str().unwrap();
    let imported = home.run_abx(&["import", NGINX, NODE]);
    imported.expect(0, &[]);
    let [nginx, node] = &ids(&imported)[..] else {
        panic!("{imported:#?}");
    };
    let both = home.run_abx(&["report", nginx, node, run]);
    let url = home
        .run_abx(&["report", run, "--json", "-", "--quiet"])
        .json();
    let url = url["settings"]["url"].as_str().unwrap();
    let expected = [
        "This is no comparison: nothing here was measured side by side.",
        "time of a request, ms",
        "Different bodies: what was compared is not the same work.",
        &format!("'nginx=COMMAND {{port}}' 'node=COMMAND {{port}}' {url} -c 500"),
    ];
    says(both.expect(0, &[]), &expected);
    let json = home.run_abx(&["report", nginx, run, "--json", "-", "--quiet"]);
    let json = json.expect(0, &[]).json();
    assert_eq!(json["schema"], "abx.side_by_side/1");
    let rows = json["rows"].as_array().unwrap();
    let tools: Vec<_> = rows.iter().map(|row| &row["tool"]).collect();
    assert_eq!(tools, ["ab", "abx"]);
    assert_eq!(rows[0]["rate_per_s"], 4612.45);
    assert_eq!(rows[0]["failed"], 0.0);
    assert_eq!(rows[0]["wrong_status"], 5000.0);
    assert!(rows[1]["p99_ms"].as_f64().is_some());
    let refused = home.run_abx(&["report", nginx, run, "--html", "-"]);
    refused.expect(2, &["--html"]);
}

#[test]
fn what_is_no_report_is_named_and_the_others_are_saved() {
    // Method: a letter, a picture, a table alone and a report that is damaged, each with or
    // without a good one; and a file that is not there.
    let home = home(&[NODE, TABLE]);
    home.write("letter.txt", "Nothing was measured.\n");
    fs::write(home.join("picture"), b"\x89PNG\0\0\0").unwrap();
    let letter = home.run_abx(&["import", "letter.txt"]);
    letter.expect(3, &["Not read: letter.txt: no report in 1 line"]);
    let picture = home.run_abx(&["import", "picture"]);
    picture.expect(3, &["Not read: picture: it is no text"]);
    let table = home.run_abx(&["import", TABLE]);
    table.expect(3, &["6 rows of a table"]);
    home.run_abx(&["import", NODE, "gone.txt"])
        .expect(2, &["cannot read gone.txt", "No such file"]);
    assert!(home.records_in("state/abx").is_empty());
    let damaged = fs::read_to_string(home.join(NODE)).unwrap();
    home.write("damaged.txt", &damaged.replace("2042.88", "2,042"));
    let some = home.run_abx(&["import", "letter.txt", "damaged.txt"]);
    some.expect(3, &["letter.txt: no report", "Not read: damaged.txt:34"]);
    let [id] = &ids(&some)[..] else {
        panic!("{some:#?}");
    };
    let report = home.run_abx(&["report", id]);
    says(
        report.expect(0, &[]),
        &["Not read: damaged.txt:34", "damaged - 500 5000"],
    );
}

#[test]
fn a_report_from_standard_input_gets_a_name() {
    // Method: the same report by a pipe, with a name and an empty one; a name for two reports.
    let home = home(&[NGINX, NODE]);
    let piped = |arguments: &[&str]| {
        let mut command = home.abx(arguments);
        command.stdin(File::open(home.join(NODE)).unwrap());
        home.run(&mut command)
    };
    let named = piped(&["import", "-", "--name", "node", "--quiet"]);
    assert_eq!(named.expect(0, &[]).stderr, "");
    says(&named, &["node: a report of ab, standard input:1-55"]);
    piped(&["import", "-", "--name", " "]).expect(2, &["at least one letter"]);
    let two = home.run_abx(&["import", NGINX, NODE, "--name", "both"]);
    two.expect(2, &["2 were found"]);
    assert_eq!(home.records_in("state/abx").len(), 1);
}

#[test]
fn a_damaged_record_is_refused() {
    // Method: a record without its report, and one whose figures are no numbers.
    let home = home(&[NODE]);
    home.run_abx(&["import", NODE]).expect(0, &[]);
    let whole = fs::read_to_string(home.record_path()).unwrap();
    let broken = [
        whole.replacen("\"report\":", "\"other\":", 1),
        whole.replace("\"value\":", "\"value\":null,\"was\":"),
        whole[..whole.len() / 2].to_owned(),
    ];
    for text in broken {
        let path = home.write("broken.json", &text);
        home.run_abx(&["report", &path])
            .expect(2, &["is not a record of abx"]);
    }
}

#[test]
fn names_in_a_record_cannot_steer_the_terminal_or_the_page() {
    // Method: a record whose name, file and words hold escapes and tags.
    let home = home(&[NODE]);
    home.run_abx(&["import", NODE]).expect(0, &[]);
    let mut record = home.record();
    let hostile = "\u{1b}[2J\u{202e}<script>x</script>";
    record["report"]["name"] = hostile.into();
    record["report"]["file"] = hostile.into();
    record["report"]["figures"]["rate"]["printed"] = hostile.into();
    let path = home.write("hostile.json", &record.to_string());
    let text = home.run_abx(&["report", &path]);
    assert!(
        !text.expect(0, &[]).stdout.contains(['\u{1b}', '\u{202e}']),
        "{text:#?}"
    );
    let page = home.run_abx(&["report", &path, "--html", "-", "--quiet"]);
    let page = &page.expect(0, &[]).stdout;
    assert!(!page.contains("<script>x") && !page.contains('\u{1b}'));
    let both = home.run_abx(&["report", &path, "last"]);
    assert!(
        !both.expect(0, &[]).stdout.contains(['\u{1b}', '\u{202e}']),
        "{both:#?}"
    );
}
