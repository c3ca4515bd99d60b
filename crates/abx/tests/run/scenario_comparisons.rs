//! Scenarios in `abx compare` and in study files: their counts agree with the servers' own logs,
//! step by step, and impossible ones are refused.

use serde_json::Value;

use crate::run::scenarios::{LOGIN, Shop, number};
use crate::support::{Home, subject};

/// Sums of one subject over all blocks: counted sessions, and the correct responses of each step.
fn counted(record: &Value, subject: &str) -> (u64, Vec<u64>) {
    let blocks = record["blocks"].as_array().unwrap();
    let mut steps = vec![0; 3];
    for block in blocks {
        let block_steps = &block["loads"][0]["histograms"][subject]["steps"];
        for (sum, step) in steps.iter_mut().zip(block_steps.as_array().unwrap()) {
            *sum += number(&step["ok"]);
        }
    }
    let summaries = record["conclusions"]["summaries"].as_array().unwrap();
    let summary = summaries
        .iter()
        .find(|summary| summary["subject"] == subject)
        .unwrap();
    assert_eq!(summary["ok"], summary["sent"], "{summary}");
    (number(&summary["ok"]), steps)
}

/// The comparison of this metric, for one step if given.
fn compared<'a>(record: &'a Value, metric: &str, step: Option<&str>) -> &'a Value {
    let values = record["comparisons"].as_array().unwrap();
    let result = values.iter().find(|value| {
        value["metric"] == metric && value.get("step").and_then(Value::as_str) == step
    });
    result.unwrap_or_else(|| panic!("{metric} {step:?}: {values:#?}"))
}

#[test]
fn a_slow_login_is_found_in_its_step_and_every_count_is_in_the_logs() {
    // Method: two shops that log their responses. One takes 100 ms longer for each login. Each
    // session has its own cookie, form field, token and path.
    let home = Home::new();
    let quick = Shop::slow(&home, "quick", 0);
    let slow = Shop::slow(&home, "slow", 100);
    home.write("s.toml", &LOGIN.replace("think = \"1ms..5ms\"", ""));
    let [a, b] = [("a", &quick), ("b", &slow)].map(|(name, shop)| format!("{name}={}", shop.url));
    let words = [
        "compare",
        &a,
        &b,
        "--scenario",
        "s.toml",
        "-c",
        "20",
        "--blocks",
        "2",
    ];
    // On a busy machine, too, a block has the 200 sessions that a p50 needs.
    let more = ["--slice", "2500ms", "--pilot", "brief", "--json", "o.json"];
    let ended = home.run_abx(&[&words[..], &more].concat());
    let record = crate::support::read_json(&home.join("o.json"));
    ended.expect_measured(&record);
    let load = &record["loads"][0];
    assert_eq!(load["settings"]["shape"], "scenario");
    assert_eq!(load["settings"]["scenario"]["steps"][1], "login");
    assert_eq!(load["pilot"]["interleave"], "trials");
    for (name, shop) in [("a", &quick), ("b", &slow)] {
        let (sessions, steps) = counted(&record, name);
        assert!(sessions > 50, "{record:#}");
        assert_eq!(
            steps,
            vec![sessions; 3],
            "each step of each session that counts"
        );
        for (path, count) in ["/form", "/login", "/users/N"].into_iter().zip(&steps) {
            assert!(shop.count(path, 200) >= *count, "{path}");
        }
        let wrong = shop
            .responded()
            .into_keys()
            .filter(|(_, status)| *status != 200);
        assert_eq!(wrong.count(), 0, "values were mixed up");
    }
    let ratio = |metric, step| compared(&record, metric, step)["per_block"].clone();
    // The product of both blocks, since one block may show little on a busy machine.
    let product = |metric, step| -> f64 {
        let blocks = ratio(metric, step);
        let blocks = blocks.as_array().unwrap().iter();
        blocks.map(|block| block.as_f64().unwrap()).product()
    };
    assert!(product("throughput", None) < 0.8, "{record:#}");
    assert!(product("step_p50", Some("login")) > 1.5, "{record:#}");
    let text = home.run_abx(&["report", "o.json"]);
    for words in [
        "sessions/s",
        // A wide interval puts the step's name on the next line.
        "p50 of step",
        "20 users, sessions of s.toml (form, login, account)",
    ] {
        assert!(text.stdout.contains(words), "{words}: {text:#?}");
    }
    for flag in ["--html", "--markdown", "--csv-comparisons"] {
        let ended = home.run_abx(&["report", "o.json", flag, "out"]);
        ended.expect(0, &[]);
        let out = std::fs::read_to_string(home.join("out")).unwrap();
        assert!(out.contains("login"), "{flag}");
    }
}

#[test]
fn users_who_pause_are_compared_without_their_pauses() {
    // Method: a study file with two servers of abx, a pause in each session, and two numbers of
    // users.
    let home = Home::new();
    std::fs::create_dir(home.join("study")).unwrap();
    home.write(
        "study/s.toml",
        "[[step]]\nname = \"page\"\npath = \"/\"\nthink = \"2ms\"\n",
    );
    let command = "command = [\"{abx}\", \"serve\", \"--port\", \"{port}\"]";
    home.write(
        "study/study.toml",
        &format!(
            "[[subject]]\nname = \"a\"\n{command}\n[[subject]]\nname = \"b\"\n{command}\n\
             [[load]]\nname = \"users\"\nconnections = [4, 8]\nscenario = \"s.toml\"\n"
        ),
    );
    let words = [
        "compare", "study", "--blocks", "2", "--slice", "500ms", "--pilot", "brief",
    ];
    let ended = home.run_abx(&[&words[..], &["--json", "o.json"]].concat());
    assert!(home.join("o.json").exists(), "{ended:#?}");
    let record = crate::support::read_json(&home.join("o.json"));
    ended.expect_measured(&record);
    let names = |index: usize| record["loads"][index]["name"].as_str().unwrap();
    assert_eq!([names(0), names(1)], ["users-c4", "users-c8"]);
    assert_eq!(
        record["loads"][0]["settings"]["arrivals"]["connections_rest"],
        true
    );
    let primary = compared(&record, "response_p50", None);
    assert_eq!(primary["role"], "primary");
    assert_eq!(compared(&record, "throughput", None)["role"], "exploratory");
    assert_eq!(
        compared(&record, "wire_bytes", None)["verdict"],
        "equivalent"
    );
}

#[test]
fn scenarios_that_cannot_be_compared_are_refused() {
    // Method: a subject whose check session fails, flags without a meaning for users, and study
    // files with other keys, with a missing scenario, and with an error in it.
    let home = Home::new();
    let file = home.write("s.toml", "[[step]]\nname = \"in\"\npath = \"/\"\n");
    let wrong = "[[step]]\nname = \"in\"\npath = \"/\"\nexpect_status = 201\n";
    let wrong = home.write("wrong.toml", wrong);
    let [a, b] = ["a", "b"].map(|name| subject(name, ""));
    let with = |words: &[&str], message: &str| {
        let words = [&["compare", a.as_str(), b.as_str()][..], words].concat();
        home.run_abx(&words).expect(2, &[message]);
    };
    with(
        &["--scenario", &wrong],
        "step \"in\" (GET /) failed before the load",
    );
    with(&["--scenario", &file, "-r", "10"], "--rate does not apply");
    with(
        &["--scenario", &file, "--path", "/x"],
        "--path does not apply",
    );
    with(&["--scenario", &file, "-c", "1,1"], "given twice");
    with(&["--scenario", "none.toml"], "none.toml: cannot be read");
    let study = |load: &str, message: &str| {
        let subject = "[[subject]]\nname = \"a\"\naddress = \"http://127.0.0.1:1\"\n";
        let text = format!("{subject}[[load]]\nname = \"l\"\n{load}");
        home.write("study.toml", &text);
        home.run_abx(&["compare", "study.toml"])
            .expect(2, &[message]);
    };
    study("scenario = \"s.toml\"\nrate = 5\n", "`rate`");
    study(
        "scenario = \"gone.toml\"\n",
        "put it next to the study file",
    );
    study("", "`requests` is missing");
    home.write("s.toml", "[[step]]\npath = \"/{id}\"\n");
    study(
        "scenario = \"s.toml\"\n",
        "no step before this one extracts it",
    );
}
