//! `abx run --scenario`: logins, failures by step, ends and mistakes, on a shop in Python that
//! writes down what it answers.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use abx_sys::process::Signal;
use serde_json::Value;

use crate::support::Home;

/// The shop; ended when it is dropped.
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

    /// One that keeps a log of this name, and takes so long for a login.
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

    /// How often it answered what, by path and status.
    pub fn responded(&self) -> BTreeMap<(String, u64), u64> {
        let text = fs::read_to_string(self.home.join(self.log)).unwrap_or_default();
        let mut numbers = BTreeMap::new();
        for line in text.lines() {
            let (path, status, _): (String, u64, Option<String>) =
                serde_json::from_str(line).unwrap();
            *numbers.entry((path, status)).or_default() += 1;
        }
        numbers
    }

    /// How often it answered with this status at this path.
    pub fn count(&self, path: &str, status: u64) -> u64 {
        let numbers = self.responded();
        numbers
            .get(&(path.to_owned(), status))
            .copied()
            .unwrap_or(0)
    }

    /// The record of users with this scenario, which adds up.
    fn run(&self, scenario: &str, words: &[&str]) -> Value {
        let file = self.home.write("s.toml", scenario);
        let fixed = ["run", &self.url, "--scenario", &file, "-q", "--json", "-"];
        let ended = self.home.run_abx(&[&fixed[..], words].concat());
        let record = ended.expect(0, &[]).json();
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

/// Sessions and steps that were begun all came to an end of some kind.
fn assert_adds_up(record: &Value) {
    let sessions = &record["sessions"];
    let of = |key: &str| number(&sessions[key]);
    assert_eq!(
        of("begun"),
        of("completed") + of("failed") + of("cut_off"),
        "{record}"
    );
    let mut before = of("begun");
    let mut all_failed = 0;
    for step in record["steps"].as_array().unwrap() {
        let failed = step["failed"].as_object().unwrap().values().map(number);
        let failed: u64 = failed.sum();
        let ended = number(&step["ok"]) + failed + number(&step["cut_off"]);
        assert_eq!(number(&step["begun"]), ended, "{record}");
        assert!(number(&step["begun"]) <= before, "{record}");
        (before, all_failed) = (number(&step["ok"]), all_failed + failed);
    }
    assert_eq!(
        (of("completed"), of("failed")),
        (before, all_failed),
        "{record}"
    );
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
fn a_login_goes_through_for_every_user_and_session() {
    // Method: a form's field, a cookie, a token and a path, each of the session alone, on two
    // threads; the login's response ends its connection. What the shop wrote down is what the
    // record says, and the trial of one session.
    let home = Home::new();
    let shop = Shop::start(&home);
    let record = shop.run(LOGIN, &["-c", "4", "-n", "60", "-t", "2"]);
    assert_eq!(record["schema"], "abx.scenario/1");
    assert_eq!(number(&record["sessions"]["completed"]), 60, "{record}");
    let expected = [("/form", 200), ("/login", 200), ("/users/N", 200)];
    let expected = expected.map(|(path, status)| ((path.to_owned(), status), 61));
    assert_eq!(shop.responded(), BTreeMap::from(expected));
    let steps = record["steps"].as_array().unwrap();
    let names: Vec<&str> = steps
        .iter()
        .map(|step| step["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["form", "login", "account"]);
    for step in steps {
        assert_eq!(
            (number(&step["ok"]), number(&step["sent"])),
            (60, 60),
            "{record}"
        );
        assert!(number(&step["response_time_us"]["p50"]) > 0, "{record}");
    }
    // One for the session, and one behind the login.
    assert_eq!(number(&record["connections"]), 120, "{record}");
    // It is found again like any other record.
    let listed = home.run_abx(&["history", "--json", "-", "-q"]).json();
    assert_eq!(listed["entries"][0]["kind"], "scenario", "{listed}");
    assert_eq!(listed["entries"][0]["loads"][0], "s.toml", "{listed}");
    let printed = |words: &[&str], parts: &[&str]| {
        let ended = home.run_abx(words);
        ended.expect(0, &[]);
        for part in parts {
            assert!(ended.stdout.contains(part), "`{part}`: {ended:#?}");
        }
    };
    printed(&["history", "s.toml"], &["sessions/s", "s.toml"]);
    printed(&["history", "login"], &["No matching record"]);
    let again = ["report", "last", "--html", "page.html"];
    printed(&again, &["60 sessions", "account"]);
    let page = fs::read_to_string(home.join("page.html")).unwrap();
    assert!(page.contains("60 sessions"), "{page}");
    let times = |key: &str| record[key]["mean"].as_f64().unwrap();
    assert!(times("session_us") >= times("session_without_think_us") + 1_000.0);
    assert!(record["server_cpu_s"].as_f64().unwrap() > 0.0, "{record}");
    // Sessions have numbers from 1, and the trial has 0.
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
    // Method: a shop that answers every third request of step 2 with 500, and every third of
    // step 3 without the value that step 4 needs.
    let home = Home::new();
    let shop = Shop::start(&home);
    let scenario = "[[step]]\nname = \"first\"\npath = \"/form\"\n\
                    [[step]]\nname = \"flaky\"\npath = \"/flaky\"\n\
                    [[step]]\nname = \"odd\"\npath = \"/odd\"\nextract.id = { json = \"/id\" }\n\
                    [[step]]\nname = \"last\"\npath = \"/form?{id}\"\nexpect_status = 404\n";
    let record = shop.run(scenario, &["-c", "3", "-n", "90"]);
    let failed = |step: usize| record["steps"][step]["failed"].clone();
    let wrong = shop.count("/flaky", 500);
    assert_eq!(failed(1), serde_json::json!({"wrong_status": wrong}));
    assert_eq!(
        shop.count("/flaky", 200),
        number(&record["steps"][1]["ok"]) + 1
    );
    // 30 of 91 at least, the trial's among the others.
    assert_eq!(wrong, 30, "{record}");
    let message = record["steps"][1]["first_failure"].as_str().unwrap();
    assert!(
        message.ends_with(": status 500 instead of 200"),
        "{message}"
    );
    let odd = number(&failed(2)["missing_value"]);
    assert_eq!(odd, 61 / 3, "{record}");
    let reported_message = record["steps"][2]["first_failure"].as_str().unwrap();
    assert!(
        reported_message.ends_with(": no value for `id`: JSON at \"/id\""),
        "{reported_message}"
    );
    let completed = number(&record["sessions"]["completed"]);
    assert_eq!(shop.count("/form?N", 404), completed + 1);
    assert_eq!(completed, 90 - wrong - odd);
}

#[test]
fn what_the_end_cuts_off_is_counted_and_the_report_is_printed_again() {
    // Method: sessions of pauses that the end meets; the record prints the same text later.
    let home = Home::new();
    let shop = Shop::start(&home);
    let scenario = "[[step]]\npath = \"/form\"\n[[step]]\npath = \"/form\"\nthink = \"600ms\"\n";
    let file = home.write("s.toml", scenario);
    let words = ["run", &shop.url, "--scenario", &file, "-c", "5", "-d", "2s"];
    let kept = ["--json", "s.json"];
    let ended = home.run_abx(&[&words[..], &kept].concat());
    ended.expect(0, &["Sessions of 2 steps by 5 users at "]);
    let record = crate::support::read_json(&home.join("s.json"));
    assert_adds_up(&record);
    assert!(number(&record["sessions"]["cut_off"]) > 0, "{record}");
    let step = |index: usize, key: &str| number(&record["steps"][index][key]);
    let responded = shop.count("/form", 200) - 2;
    assert_eq!(responded, step(0, "ok") + step(1, "ok"), "{record}");
    let text: Vec<&str> = ended.stdout.split_whitespace().collect();
    let text = text.join(" ");
    for part in [
        "sessions/s",
        "sessions",
        "cut off by the end",
        "without pauses",
        "step-2",
        "sessions/s is too low",
    ] {
        assert!(text.contains(part), "{part}: {ended:#?}");
    }
    let again = home.run_abx(&["report", "s.json"]);
    assert_eq!(again.expect(0, &[]).stdout, ended.stdout);
}

#[test]
fn a_scenario_that_is_stopped_says_what_came_until_then() {
    // Method: a signal in the middle of a load without a near end.
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
    assert_adds_up(&record);
    assert_eq!(record["interrupted"], true);
    assert!(number(&record["sessions"]["completed"]) >= 9, "{record}");
}

#[test]
fn what_cannot_work_is_refused_before_any_load() {
    // Method: a step that fails in the trial, a server that is not there, a file with a
    // mistake, none at all, and flags that say nothing here.
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
        "step \"in\" (GET /nowhere) failed before the load: status 404 instead of 200",
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
    refused(text, &["-c", "1,2"], "give -c one number");
    refused(text, &["--markdown", "a.md"], "--markdown does not apply");
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
