//! `--expect` and `--fail-if-slower`: exit codes, and messages.

use std::fs;

use crate::support::{Home, in_five_looks, subject};
use abx_evidence::Measured;
use abx_fixtures::{pair, study};
use abx_verdict::StudyRecord;

/// Writes the record of a made-up study and returns its path.
fn record(home: &Home, study: Measured) -> String {
    let text = serde_json::to_string(&StudyRecord::judged(study)).unwrap();
    home.write("record.json", &text)
}

#[test]
fn the_exit_code_shows_whether_expectations_hold() {
    // Method: a record in which `new` has 1.1 times the throughput of `old`, compared in each way;
    // the report begins with the result.
    let home = Home::new();
    let path = record(&home, pair());
    let cases: &[(&[&str], i32, &str)] = &[
        (&[], 0, "new serves"),
        (&["--expect", "new >= 1.05 * old"], 0, "Passed: "),
        (&["--expect", "new >= 1.2 * old"], 1, "Failed: "),
        (&["--expect", "new >= 1.1 * old"], 3, "Undecided: "),
        (&["--expect", "old <= new @ small"], 0, "Passed: "),
        (&["--expect", "wire_bytes: new < old"], 3, "Undecided: "),
        (
            &["--expect", "new > old", "--expect", "new < old"],
            1,
            "Failed: 2 checks, 1 failed, 1 passed.",
        ),
        (&["--fail-if-slower", "3%"], 0, "Passed: "),
        (
            &["--fail-if-slower", "0%", "--expect", "new < 0.5 * old"],
            1,
            "Failed: 2 checks, 1 failed, 1 passed.",
        ),
    ];
    for (arguments, code, message) in cases {
        let ended = home.run_abx(&[&["report", &path], *arguments].concat());
        ended.expect(*code, &[]);
        assert!(ended.stdout.starts_with(message), "{ended:#?}");
    }
}

#[test]
fn open_expectations_name_the_settling_flag_even_if_little_is_printed() {
    // Method: six blocks on both sides of a limit, stated as a regression and as an expectation,
    // with `--quiet`; and a limit at the ratio itself, which no practical number of blocks decides.
    let home = Home::new();
    let wild = [3_000, 12_000, 8_000, 4_000, 10_000, 7_000];
    let open = study(&[("old", &[9_000; 6]), ("new", &wild)]);
    let path = record(&home, open);
    for (flags, code) in [
        (["--fail-if-slower", "50%"], 0),
        (["--expect", "new >= 0.5 * old"], 3),
    ] {
        let ended = home.run_abx(&[&["report", &path, "--quiet"], &flags[..]].concat());
        ended.expect(
            code,
            &[
                flags[0],
                "undecided in 1 of 1",
                "measure longer (`--blocks ",
            ],
        );
    }
    let equal = record(
        &home,
        study(&[
            ("old", &[9_000, 9_100, 8_900, 9_000, 9_050, 8_950]),
            ("new", &[9_000, 8_900, 9_100, 9_000, 8_950, 9_050]),
        ]),
    );
    let ended = home.run_abx(&["report", &equal, "--fail-if-slower", "0%"]);
    ended.expect(0, &["move the limit away from the ratio"]);
}

#[test]
fn a_study_ends_as_soon_as_its_limit_is_settled() {
    // Method: a server that delays its responses and one that does not, and a limit so far from
    // their ratio that a mere bound, which a disturbed machine gives, settles it too.
    let both = [subject("one", ""), subject("two", "--delay 5ms")];
    #[rustfmt::skip]
    let short = [
        "-c", "4", "--rounds", "4", "--slice", "50ms", "--pilot", "brief", "--budget", "2m",
    ];
    let expect = ["--expect", "two <= 0.9 * one", "--expect", "one > two"];
    let compare = [&["compare", &both[0], &both[1]], &short[..], &expect[..]].concat();
    let (record, ended) = in_five_looks(|| {
        let home = Home::new();
        let ended = home.run_abx(&compare);
        let record = home.record();
        if record["validity"]["status"] == "invalid" {
            Err(ended.stdout)
        } else {
            Ok((record, ended))
        }
    });
    ended.expect(0, &[]);
    let head = "Passed: 2 checks, 2 passed.";
    assert!(ended.stdout.starts_with(head), "{ended:#?}");
    assert_eq!(record["end"]["reason"], "settled");
}

#[test]
fn an_uncertain_slowdown_fails_nothing_and_is_reported() {
    // Method: five blocks that are 40 % slower, which are too few to show anything; six such
    // blocks; and six blocks that show nothing.
    let home = Home::new();
    let slower =
        |blocks: usize| study(&[("old", &vec![9_000; blocks]), ("new", &vec![5_400; blocks])]);
    let check = |path: &str, code, texts: &[&str]| {
        let ended = home.run_abx(&["report", path, "--fail-if-slower", "3%"]);
        ended.expect(code, texts);
    };
    check(
        &record(&home, slower(5)),
        3,
        &["too little was measured", "at least 6 blocks", "--blocks"],
    );
    check(&record(&home, slower(6)), 1, &[]);
    let wild = [3_000, 12_000, 8_000, 4_000, 10_000, 7_000];
    let open = study(&[("old", &[9_000; 6]), ("new", &wild)]);
    check(&record(&home, open), 0, &["undecided in 1 of 1"]);
}

#[test]
fn an_invalid_comparison_does_not_pass() {
    // Method: one of a hundred responses is wrong.
    let home = Home::new();
    let mut bad = pair();
    abx_fixtures::each_slice(&mut bad, "new", |slice| {
        let wrong = slice.ok / 100;
        let counts = [
            (abx_evidence::Outcome::Ok, slice.ok - wrong),
            (abx_evidence::Outcome::WrongStatus, wrong),
        ];
        abx_fixtures::response(slice, &counts);
    });
    let path = record(&home, bad);
    for arguments in [["--fail-if-slower", "3%"], ["--expect", "new >= old"]] {
        let ended = home.run_abx(&[&["report", &path], &arguments[..]].concat());
        ended.expect(3, &[]);
        assert!(ended.stdout.starts_with("No result: "), "{ended:#?}");
    }
}

#[test]
fn a_bad_expectation_is_reported_before_anything_starts() {
    // Method: subjects that would leave a file if they started; and the same flags for a record.
    let home = Home::new();
    let touches = |name: &str| format!("{name}=sh -c 'touch started' {{port}}");
    let compare = ["compare", &touches("old"), &touches("new"), "-c", "7"];
    let path = record(&home, pair());
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["--expect", "nw >= old"],
            &["`nw` is not a subject", "old, new", "\n  ^^"],
        ),
        (
            &["--expect", "new = old"],
            &["the comparison sign is missing", "\n           ^"],
        ),
        (
            &["--expect", "cpu: new <= old"],
            &["`cpu` is not a metric", "server_cpu"],
        ),
        (
            &["--expect", "new >= x * old"],
            &["`x` is not a factor", "0.97"],
        ),
        (&["--fail-if-slower", "3"], &["--fail-if-slower", "3%"]),
        (
            &["--fail-if-slower", "100%"],
            &["--fail-if-slower", "from 0%"],
        ),
        (&["--fail-if-slower=-1%"], &["--fail-if-slower", "from 0%"]),
    ];
    for (arguments, texts) in cases {
        home.run_abx(&[&compare, *arguments].concat())
            .expect(2, texts);
        home.run_abx(&[&["report", &path], *arguments].concat())
            .expect(2, texts);
    }
    let load = [&compare[..], &["--expect", "new >= old @ c8"]].concat();
    home.run_abx(&load)
        .expect(2, &["`c8` is not a load: choose from c7"]);
    assert!(!home.join("started").exists());
    assert!(!home.join("state/abx").exists(), "a record of nothing");
}

#[test]
fn a_comparison_ends_as_its_record_does() {
    // Method: two built-in servers in too few blocks to settle anything; the report of the record
    // is the same as that of the comparison.
    let both = ["one", "two"].map(|name| subject(name, ""));
    let expect = ["--expect", "two >= 0.01 * one", "--fail-if-slower", "99%"];
    #[rustfmt::skip]
    let short = [
        "--blocks", "1", "--rounds", "4", "--slice", "20ms", "--pilot", "brief",
    ];
    let compare = [&["compare", &both[0], &both[1]], &short[..], &expect[..]].concat();
    let (home, ended) = in_five_looks(|| {
        let home = Home::new();
        let ended = home.run_abx(&compare);
        if home.record()["validity"]["status"] == "invalid" {
            Err(ended.stdout)
        } else {
            Ok((home, ended))
        }
    });
    let warned = "--blocks 1 cannot show which is slower";
    let texts = ["--fail-if-slower: too little was measured", warned];
    ended.expect(3, &texts);
    let place = |part: &str| ended.stderr.find(part).unwrap();
    assert!(place(warned) < place("pilot"), "{ended:#?}");
    let path = home.record_path();
    let again = home.run_abx(&[&["report", path.to_str().unwrap()], &expect[..]].concat());
    assert_eq!(again.expect(3, &[]).stdout, ended.stdout);
}

#[test]
fn the_page_about_ci_names_every_metric() {
    // Method: the name of each metric as an expectation has it; metrics of a single step are left
    // out, because no expectation can refer to one.
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/expectations.md"
    );
    let page = fs::read_to_string(page).unwrap();
    let metrics = abx_verdict::Metric::ALL.into_iter();
    for metric in metrics.filter(|metric| !metric.is_of_a_step()) {
        assert!(page.contains(&format!("`{}`", metric.id())), "{metric:?}");
    }
}

#[test]
fn a_generator_bound_load_is_decided_by_cpu_time() {
    // Method: the measured record of event servers. Under the load of the original, nginx needs
    // less CPU per response than libevent, and neither is known to be faster. Expectations name
    // that metric or none; the report and the printed record show the same.
    let record = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../studies/event-servers/record.json.zst"
    );
    let home = Home::new();
    let report = |flags: &[&str]| home.run_abx(&[&["report", record, "--full"], flags].concat());
    // Other loads of this record are invalid, which does not change the exit code.
    let message = |wish: &str, code: i32| {
        let ended = report(&["--expect", wish]);
        let words = ended.expect(code, &[]).stdout.split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    };
    let passed = message("server_cpu: nginx < libevent-2 @ original", 0);
    assert!(
        passed.starts_with("Passed: ") && passed.contains("; nginx's CPU per response is 0."),
        "{passed}"
    );
    let undecided = message("nginx > libevent-2 @ original", 3);
    assert!(
        undecided.contains("throughput cannot show which is faster"),
        "{undecided}"
    );
    let cell = "nginx 0.81 0.77–0.86 ▲c";
    assert!(undecided.contains(cell), "{undecided}");
    let caveat = home.run_abx(&["explain", "CPU per response"]).stdout;
    let caveat = caveat.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(caveat.contains("holds at the measured rate"), "{caveat}");
    let printed = report(&["--json", "-"]).json();
    let values = printed["comparisons"].as_array().unwrap().iter();
    let rows = values.filter(|value| value["load"] == "original" && value["subject"] == "nginx");
    let primary: Vec<_> = rows
        .filter(|value| value["role"] == "primary")
        .map(|value| (&value["metric"], &value["verdict"]))
        .collect();
    assert_eq!(primary, [(&"server_cpu".into(), &"less".into())]);
}

#[test]
fn a_report_ends_with_3_only_if_no_requested_expectation_is_decided() {
    // Method: a measured record with decided, undecided and invalid pairs, printed alone and
    // with an expectation of a metric that was not compared.
    let record = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../studies/app-server-faults/record.json.zst"
    );
    let home = Home::new();
    let ended = home.run_abx(&["report", record, "--quiet"]);
    let words: Vec<&str> = ended.stdout.split_whitespace().collect();
    assert!(
        words.join(" ").contains("2 without a result"),
        "{}",
        ended.stdout
    );
    assert_eq!(ended.expect(0, &[]).stderr, "");
    // The reason of an open expectation is the expectation itself, not another pair's finding.
    let wish = "throughput: uwsgi > gunicorn-sync";
    let ended = home.run_abx(&["report", record, "--quiet", "--expect", wish]);
    let ended = ended.expect(3, &["no verdict is possible (exit code 3): expected", wish]);
    assert!(
        !ended.stderr.contains("stopped responding under load; "),
        "{}",
        ended.stderr
    );
}
