//! `abx run --scenario`: logins, failures by step, ends and errors, with a shop in Python that logs
//! its responses.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use abx_sys::process::Signal;
use serde_json::Value;

use crate::support::Home;

/// The shop, which is ended when it is dropped.
pub struct Shop<'a> {
    child: Child,
    home: &'a Home,
    log: &'static str,
    pub url: String,
}

impl Shop<'_> {
    fn start(home: &Home) -> Shop<'_> {
        Shop::slow(home, "asked", 0)
    }

    /// Starts a shop that keeps a log of this name and needs this time for a login.
    pub fn slow<'a>(home: &'a Home, log: &'static str, login_ms: u32) -> Shop<'a> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/scenario_peer.py");
        let mut child = Command::new("python3")
            .args([script, &login_ms.to_string()])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{}", home.join(log).display()).unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let url = format!("http://127.0.0.1:{}/", line.trim());
        Shop {
            child,
            home,
            log,
            url,
        }
    }

    /// The number of its responses by path and status.
    pub fn responded(&self) -> BTreeMap<(String, u64), u64> {
        let text = fs::read_to_string(self.home.join(self.log)).unwrap_or_default();
        let mut counts = BTreeMap::new();
        for line in text.lines() {
            let (path, status, _): (String, u64, Option<String>) =
                serde_json::from_str(line).unwrap();
            *counts.entry((path, status)).or_default() += 1;
        }
        counts
    }

    /// The number of its responses with this path and status.
    pub fn count(&self, path: &str, status: u64) -> u64 {
        let counts = self.responded();
        let count = counts.get(&(path.to_owned(), status));
        count.copied().unwrap_or(0)
    }

    /// Runs users with this scenario, and returns the record, which must add up.
    fn run(&self, scenario: &str, words: &[&str], exit: i32) -> Value {
        let file = self.home.write("s.toml", scenario);
        let fixed = ["run", &self.url, "--scenario", &file, "-q", "--json", "-"];
        let ended = self.home.run_abx(&[&fixed[..], words].concat());
        let record = ended.expect(exit, &[]).json();
        assert_adds_up(&record);
        record
    }
}

impl Drop for Shop<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

/// The figures of the only subject of a run.
fn summary(record: &Value) -> &Value {
    &record["conclusions"]["summaries"][0]
}

/// The failures of a step for all reasons.
fn failures(step: &Value) -> u64 {
    let reasons = step["failed"].as_object();
    reasons.map_or(0, |reasons| reasons.values().map(number).sum())
}

/// Asserts that every counted session and step succeeded or failed.
fn assert_adds_up(record: &Value) {
    let sessions = summary(record);
    let mut before = number(&sessions["sent"]);
    for step in sessions["steps"].as_array().unwrap() {
        assert_eq!(number(&step["begun"]), before, "{record}");
        assert_eq!(before, number(&step["ok"]) + failures(step), "{record}");
        before = number(&step["ok"]);
    }
    assert_eq!(number(&sessions["ok"]), before, "{record}");
}

pub const LOGIN: &str = r#"
cookies = true
values = { password = "secret" }
headers = { X-Session = "{session}" }

[[step]]
name = "form"
path = "/form"
extract.csrf = { after = 'name="csrf" value="', before = '"' }

[[step]]
name = "login"
path = "/login"
body = '{"name": "user-{user}", "csrf": "{csrf}", "password": "{password}"}'
extract.token = { json = "/data/token" }
extract.where = { header = "Location" }

[[step]]
name = "account"
path = "{where}"
headers = { Authorization = "Bearer {token}" }
think = "1ms..5ms"
"#;

#[test]
fn a_login_works_for_every_user_and_session() {
    // Method: a form field, a cookie, a token and a path, which differ per session, on two threads.
    // The login's response ends its connection. The shop's log has the counts of the record and one
    // check session.
    let home = Home::new();
    let shop = Shop::start(&home);
    let record = shop.run(LOGIN, &["-c", "4", "-n", "60", "-t", "2"], 0);
    assert_eq!(record["schema"], "abx.run/2");
    assert_eq!(number(&summary(&record)["ok"]), 60, "{record}");
    let expected = [("/form", 200), ("/login", 200), ("/users/N", 200)];
    let expected = expected.map(|(path, status)| ((path.to_owned(), status), 61));
    assert_eq!(shop.responded(), BTreeMap::from(expected));
    let steps = summary(&record)["steps"].as_array().unwrap();
    let names: Vec<&str> = steps
        .iter()
        .map(|step| step["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["form", "login", "account"]);
    for step in steps {
        assert_eq!(number(&step["ok"]), 60, "{record}");
        assert!(number(&step["response_time_us"]["p50"]) > 0, "{record}");
    }
    // One connection for the session, and one after the login.
    let slices = &record["blocks"][0]["loads"][0]["slices"];
    assert_eq!(number(&slices["connects"][0]), 120, "{record}");
    // The record is listed like any other.
    let listed = home.run_abx(&["history", "--json", "-", "-q"]).json();
    assert_eq!(listed["entries"][0]["kind"], "run", "{listed}");
    assert_eq!(listed["entries"][0]["loads"][0], "s.toml c4", "{listed}");
    let printed = |words: &[&str], parts: &[&str]| {
        let ended = home.run_abx(words);
        ended.expect(0, &[]);
        for part in parts {
            assert!(ended.stdout.contains(part), "`{part}`: {ended:#?}");
        }
    };
    printed(&["history", "s.toml"], &["s.toml c4"]);
    printed(&["history", "login"], &["No matching record"]);
    let again = ["report", "last", "--html", "page.html"];
    printed(&again, &["sessions/s (every step succeeded)", "account"]);
    let page = fs::read_to_string(home.join("page.html")).unwrap();
    assert!(page.contains("60 sessions"), "{page}");
    let cpu_us = &summary(&record)["server_cpu_us_per_request"];
    assert!(cpu_us.as_f64().unwrap() > 0.0, "{record}");
    // Sessions have numbers from 1, and the check session has 0.
    let text = fs::read_to_string(home.join("asked")).unwrap();
    let mut numbers: Vec<u64> = text
        .lines()
        .map(|line| serde_json::from_str::<(String, u64, String)>(line).unwrap())
        .map(|(_, _, session)| session.parse().unwrap())
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers, (0..61).collect::<Vec<u64>>());
}

#[test]
fn failures_are_counted_by_step_and_reason_as_the_server_saw_them() {
    // Method: a shop that responds to every third request of step 2 with 500, and to every third
    // request of step 3 without the value that step 4 needs.
    let home = Home::new();
    let shop = Shop::start(&home);
    let scenario = "[[step]]\nname = \"first\"\npath = \"/form\"\n\
                    [[step]]\nname = \"flaky\"\npath = \"/flaky\"\n\
                    [[step]]\nname = \"odd\"\npath = \"/odd\"\nextract.id = { json = \"/id\" }\n\
                    [[step]]\nname = \"last\"\npath = \"/form?{id}\"\nexpect_status = 404\n";
    let record = shop.run(scenario, &["-c", "3", "-n", "90"], 3);
    let step = |number: usize| &summary(&record)["steps"][number];
    let failed = |number: usize| step(number)["failed"].clone();
    let wrong = shop.count("/flaky", 500);
    assert_eq!(failed(1), serde_json::json!({"wrong_status": wrong}));
    assert_eq!(shop.count("/flaky", 200), number(&step(1)["ok"]) + 1);
    // A third of 91, which include the check session.
    assert_eq!(wrong, 30, "{record}");
    let message = step(1)["first_failure"].as_str().unwrap();
    assert!(
        message.ends_with(": status 500 instead of 200"),
        "{message}"
    );
    let odd = number(&failed(2)["missing_value"]);
    assert_eq!(odd, 61 / 3, "{record}");
    let message = step(2)["first_failure"].as_str().unwrap();
    assert!(
        message.ends_with(": no value for `id`: JSON at \"/id\""),
        "{message}"
    );
    let completed = number(&summary(&record)["ok"]);
    assert_eq!(shop.count("/form?N", 404), completed + 1);
    assert_eq!(completed, 90 - wrong - odd);
}

#[test]
fn sessions_at_the_end_count_whole_and_the_report_is_printed_again() {
    // Method: sessions with pauses, some of which the end interrupts, after a warm-up shorter than
    // a session. The record prints the same text later.
    let home = Home::new();
    let shop = Shop::start(&home);
    let scenario = "[[step]]\npath = \"/form\"\n[[step]]\npath = \"/form\"\nthink = \"600ms\"\n";
    let file = home.write("s.toml", scenario);
    let words = ["run", &shop.url, "--scenario", &file, "-c", "5", "-d", "2s"];
    let outputs = [
        "--json",
        "s.json",
        "--warmup",
        "100ms",
        "--markdown",
        "s.md",
    ];
    let expect = ["--expect", "errors<1%"];
    let ended = home.run_abx(&[&words[..], &outputs, &expect].concat());
    let announcement = " with sessions of 5 users for 2s, after 100ms of warm-up";
    ended.expect(0, &[announcement]);
    let record = crate::support::read_json(&home.join("s.json"));
    assert_adds_up(&record);
    let counted = summary(&record);
    let responded = shop.count("/form", 200);
    let ok: u64 = (0..2)
        .map(|step| number(&counted["steps"][step]["ok"]))
        .sum();
    assert!((10..responded).contains(&ok), "{responded}: {record}");
    // A session takes a user slightly more than 600 ms.
    let rate = counted["throughput_per_s"].as_f64().unwrap();
    assert!((2.0..8.4).contains(&rate), "{rate}: {record}");
    let text: Vec<&str> = ended.stdout.split_whitespace().collect();
    let text = text.join(" ");
    for part in ["sessions/s", "5 users of ", "session time", "step-2"] {
        assert!(text.contains(part), "{part}: {ended:#?}");
    }
    let again = home.run_abx(&["report", "s.json", "--expect", "errors<1%"]);
    assert_eq!(again.expect(0, &[]).stdout, ended.stdout);
    assert!(
        fs::read_to_string(home.join("s.md"))
            .unwrap()
            .contains("step-2")
    );
}

#[test]
fn several_numbers_of_users_are_a_curve() {
    // Method: two numbers of users, each for the same time.
    let home = Home::new();
    let shop = Shop::start(&home);
    let file = home.write("s.toml", "[[step]]\npath = \"/form\"\n");
    let words = [
        "run",
        &shop.url,
        "--scenario",
        &file,
        "-c",
        "1,2",
        "-d",
        "1s",
    ];
    let ended = home.run_abx(&[&words[..], &["-q", "--json", "-"]].concat());
    let record = ended.expect(0, &[]).json();
    let loads = record["loads"].as_array().unwrap().iter();
    let names: Vec<&str> = loads.map(|load| load["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["c1", "c2"]);
}

#[test]
fn a_stopped_scenario_reports_its_results_so_far() {
    // Method: a signal in the middle of a load of an hour.
    let home = Home::new();
    let shop = Shop::start(&home);
    let file = home.write("s.toml", "[[step]]\npath = \"/form\"\n");
    let words = [
        "run",
        &shop.url,
        "--scenario",
        &file,
        "-c",
        "2",
        "-d",
        "1h",
        "--json",
        "-",
    ];
    let mut running = home.start(&mut home.abx(&words));
    running.until("some sessions", |_| {
        (shop.count("/form", 200) > 10).then_some(())
    });
    running.signal(Signal::Int);
    let ended = running.wait();
    let record = ended.expect(130, &[]).json();
    let step = &summary(&record)["steps"][0];
    let unfinished = record["conclusions"]["summaries"][0]["outcomes"]["unfinished"].as_u64();
    let ended = number(&step["ok"]) + unfinished.unwrap_or(0);
    assert_eq!(number(&step["begun"]), ended, "{record}");
    assert_eq!(record["end"]["reason"], "interrupted", "{record}");
    assert!(number(&summary(&record)["ok"]) >= 2, "{record}");
}

#[test]
fn impossible_scenarios_are_refused_before_any_load() {
    // Method: a step that fails in the check session, a missing server, a file with an error, a
    // missing file, and flags without a meaning for scenarios.
    let home = Home::new();
    let shop = Shop::start(&home);
    let refused = |scenario: &str, words: &[&str], message: &str| {
        let file = home.write("s.toml", scenario);
        let fixed = ["run", &shop.url, "--scenario", &file];
        home.run_abx(&[&fixed[..], words].concat())
            .expect(2, &[message]);
    };
    let text = "[[step]]\nname = \"a\"\npath = \"/form\"\n";
    refused(
        "[[step]]\nname = \"in\"\npath = \"/nowhere\"\n",
        &[],
        "step \"in\" (GET /nowhere)",
    );
    refused(
        &format!("{text}[[step]]\nname = \"b\"\npath = \"/x/{{id}}\"\n"),
        &[],
        "s.toml:6: step \"b\": `path` has {id}, and no step before this one extracts it",
    );
    refused(
        text,
        &["--path", "/x"],
        "--path does not apply to a scenario",
    );
    refused(text, &["-r", "10"], "--rate does not apply to a scenario");
    assert_eq!(
        shop.responded().keys().collect::<Vec<_>>(),
        [&("/nowhere".to_owned(), 404)]
    );
    let file = home.write("s.toml", text);
    let gone = ["run", "http://127.0.0.1:1/", "--scenario", &file];
    home.run_abx(&gone)
        .expect(2, &["step \"a\" (GET /form) failed before the load"]);
    let none = ["run", &shop.url, "--scenario", "none.toml"];
    home.run_abx(&none)
        .expect(2, &["none.toml: cannot be read", "[[step]]"]);
}
