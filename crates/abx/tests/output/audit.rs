//! `abx audit`: reports of other tools, and the page that shows their audits.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::support::{Ended, Home};

/// The line of a page after which the tests write it.
const BEGIN: &str = "<!-- written by the tests -->\n";

/// The reports of two published comparisons.
const REPORTS: [&str; 8] = [
    "app-server.httperf.txt",
    "event-servers-libevent1.ab.txt",
    "event-servers-libevent2-php.ab.txt",
    "event-servers-libevent2.ab.txt",
    "event-servers-nginx.ab.txt",
    "event-servers-node.ab.txt",
    "event-servers-shortfin.ab.txt",
    "event-servers-summary.txt",
];

fn reports() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../abx-audit/tests/reports")
}

/// A home with all reports in it.
fn home() -> Home {
    let home = Home::new();
    for name in REPORTS {
        home.write(name, &fs::read_to_string(reports().join(name)).unwrap());
    }
    home
}

/// The output of abx for these reports, as an example on a page.
fn example(home: &Home, names: &[&str]) -> String {
    let words: Vec<&str> = [&["audit"][..], names].concat();
    let ended = home.run(
        home.abx(&words)
            .env("LC_ALL", "C.UTF-8")
            .env("COLUMNS", "100"),
    );
    ended.expect(0, &[]);
    assert!(ended.stdout.contains("What can be concluded"), "{ended:#?}");
    let files = match names.len() {
        1 => names[0].to_owned(),
        _ => "event-servers-*".to_owned(),
    };
    format!(
        "```console long\n$ abx audit {files}\n{}```\n",
        ended.stdout
    )
}

/// The part of a page before the examples that tests write, and these examples.
fn halves(page: &Path) -> (String, String) {
    let text = fs::read_to_string(page).unwrap_or_default();
    match text.find(BEGIN) {
        Some(at) => (text[..at].to_owned(), text[at..].to_owned()),
        None => (String::new(), text),
    }
}

#[test]
fn the_page_shows_what_is_printed() {
    // Method: the reports of one comparison together and one report alone on the page
    // docs/guides/audit.md, and every other report alone on a page of the tests. UPDATE=1 writes
    // both pages.
    let home = home();
    let alone = |name: &&str| format!("\n## {name}\n\n{}", example(&home, &[name]));
    let comparison = example(&home, &REPORTS[1..]);
    let guide = format!(
        "{BEGIN}\n## A whole comparison\n\n{comparison}{}",
        alone(&REPORTS[0])
    );
    let others: String = REPORTS[1..].iter().map(alone).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (page, written) in [
        ("../../docs/guides/audit.md", guide),
        ("tests/golden/reports/audits.md", format!("{BEGIN}{others}")),
    ] {
        let path = folder.join(page);
        let (head, saved) = halves(&path);
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, format!("{head}{written}")).unwrap();
            continue;
        }
        assert!(
            saved == written,
            "{page} is not what is printed now; write it again with: UPDATE=1 cargo test -p abx \
             --test end_to_end -- audit::"
        );
    }
}

#[test]
fn reports_come_from_files_and_from_standard_input() {
    // Method: the same report both ways; then a text without a report, a binary file, and a missing
    // file.
    let home = home();
    let name = REPORTS[4];
    let file = home.run_abx(&["audit", name, "--json", "-", "--quiet"]);
    file.expect(0, &[]);
    let file = file.json();
    assert_eq!(
        (&file["schema"], &file["kind"]),
        (&"abx.output/1".into(), &"audit".into())
    );
    assert_eq!(file["reports"][0]["figures"]["rate"]["printed"], "4612.45");
    assert_eq!(file["findings"][0]["id"], "error_responses");
    assert_eq!(file["findings"][0]["rests_on"][0]["file"], name);
    let mut command = home.abx(&["audit", "-"]);
    command.stdin(File::open(home.join(name)).unwrap());
    let piped = home.run(&mut command);
    piped.expect(0, &[]);
    expect_text(&piped, "standard input:1-56");
    expect_text(&piped, "all 5000 responses");
    home.write("letter.txt", "Nothing was measured.\n");
    let letter = home.run_abx(&["audit", "letter.txt"]);
    letter.expect(3, &[]);
    expect_text(&letter, "Not read: letter.txt: no report in 1 line");
    fs::write(home.join("picture"), b"\x89PNG\0\0\0").unwrap();
    let picture = home.run_abx(&["audit", "picture", name]);
    picture.expect(0, &[]);
    expect_text(&picture, "Not read: picture: it is not text");
    home.run_abx(&["audit", "gone.txt"])
        .expect(2, &["cannot read gone.txt", "No such file"]);
}

#[track_caller]
fn expect_text(ended: &Ended, words: &str) {
    assert!(
        ended.stdout.contains(words),
        "`{words}` is missing: {ended:#?}"
    );
}

#[test]
fn a_name_in_a_report_cannot_steer_the_terminal() {
    // Method: a path with an escape sequence, which is not printed.
    let home = home();
    let text = fs::read_to_string(reports().join(REPORTS[1])).unwrap();
    let hostile = text.replace(
        "Document Path:          /",
        "Document Path:          /\x1b[2J\u{202e}x",
    );
    home.write("hostile.txt", &hostile);
    let ended = home.run_abx(&["audit", "hostile.txt"]);
    ended.expect(0, &[]);
    expect_text(&ended, "--path /x");
    assert!(
        !ended.stdout.contains(['\x1b', '\u{202e}']),
        "{}",
        ended.stdout
    );
}
