//! Study files: their meaning, and the messages about texts that are not study files.

mod contrasts;
mod faults;
mod mistakes;
mod services;
mod websocket;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use self::mistakes::MISTAKES;
use abx_engine::schedule::Arrivals;
use abx_evidence::ExpectedStatus;
use abx_lab::study_file::{Need, RunSpec, StudyFile, StudyFileError, parse, read, schema};
use abx_lab::{ExpectBody, Load, Pin, Source, Template};
use abx_sys::process::Signal;
use proptest::prelude::*;
use serde_json::Value;

use crate::fuzz;

/// Every kind of section except services and faults, and most keys.
const GOOD: &str = r#"schema = "abx.study_file/1"
baseline = "two"
margin = "2.5%"
budget = "90s"
pin = "shared"
seed = 7

[[file]]
path = "small.bin"
bytes = 1_320

[[subject]]
name = "one"
from = { packages = ["a", "b"], npm = ["ws"], stand_in_for = "zero" }
templates = { "n.conf" = "conf/n.conf.in" }
command = ["one", "-c", "{dir}/n.conf"]
env = { MODE = "{study}/x" }
ready = { path = "/ready", within = "1m", status = 204 }
stop = { signal = "QUIT" }

[[subject]]
name = "two"
command = ["./two", "{port}"]
[subject.from.build]
command = ["make", "two"]
folder = "./server"

[[subject]]
name = "three"
address = "http://127.0.0.1:8081/"

[[load]]
name = "small"
connections = [10, 100]
requests = [
  { path = "/small.bin", weight = 3 },
  { path = "/form?a=b", method = "POST", headers = { Accept = "*/*" }, body = "x" },
]
keep_alive = false
timeout = "2s"
expect = { body = "any" }

[[load]]
name = "one"
shape = "request"
protocol = "http/1.1"
connections = 1
requests = [{ path = "/" }]

[[contrast]]
subject = "two"
baseline = "one"
loads = ["small", "one"]
"#;

fn parsed(text: &str) -> Result<StudyFile, StudyFileError> {
    parse(text, Path::new("study.toml"), &|path| match path.to_str() {
        Some("conf/n.conf.in") => Ok("listen {port};".to_owned()),
        Some("order.json") => Ok("{\"user\":{n}}".to_owned()),
        Some("token") => Ok("t0ken\n".to_owned()),
        Some("all.jsonl") => Ok(
            "{\"path\": \"/a\", \"headers\": {\"cookie\": \"own=1\"}, \"weight\": 2}\n\
             {\"path\": \"/b\", \"body\": \"{n}\", \"expect_status\": 404}\n"
                .to_owned(),
        ),
        Some("access.log") => Ok(
            "h - - [01/Jan/2020:10:00:00 +0000] \"GET /a HTTP/1.1\" 404 5\n\
             h - - [01/Jan/2020:10:00:00 +0000] \"POST /b HTTP/1.1\" 200 5\n\
             h - - [01/Jan/2020:10:00:03 +0000] \"GET /c HTTP/1.1\" 200 5\n"
                .to_owned(),
        ),
        Some("list.txt") => Ok("/a\nhttp://127.0.0.1/b\n/a\n".to_owned()),
        _ => Err(std::io::Error::other("no such file")),
    })
}

fn message(text: &str) -> String {
    let error = parsed(text).expect_err("a text that is no study");
    error.to_string()
}

#[test]
fn a_slice_has_a_length() {
    // Method: a length that is added after the budget.
    let text = GOOD.replace("\"90s\"", "\"90s\"\nslice = \"250ms\"");
    let slice = parsed(&text).unwrap().slice;
    assert_eq!(slice, Some(Duration::from_millis(250)));
}

#[test]
fn a_count_makes_many_files_and_requests_by_number() {
    // Method: three files and three requests of one line each, and plain ones with braces; then a
    // name that occurs twice.
    let many = GOOD
        .replace("[[subject]]\nname = \"one\"", "[[file]]\npath = \"many/{n}.bin\"\ncount = 3\nbytes = 5\n\n[[file]]\npath = \"{n}\"\nbytes = 6\n\n[[subject]]\nname = \"one\"")
        .replace("[{ path = \"/\" }]", "[{ path = \"/many/{n}.bin?{n}\", count = 3, weight = 2 }, { path = \"/%7Bn%7D\" }]");
    let study = parsed(&many).unwrap();
    let paths = study.files.iter().map(|file| file.path.to_str().unwrap());
    assert_eq!(
        paths.collect::<Vec<_>>(),
        ["small.bin", "many/0.bin", "many/1.bin", "many/2.bin", "{n}"]
    );
    let requests = study.loads.last().unwrap().requests.iter();
    let requests = requests.map(|request| (request.path.as_deref().unwrap(), request.weight));
    assert_eq!(
        requests.collect::<Vec<_>>(),
        [
            ("/many/0.bin?0", 2),
            ("/many/1.bin?1", 2),
            ("/many/2.bin?2", 2),
            ("/%7Bn%7D", 1)
        ]
    );
    let twice = many.replace("\"{n}\"\nbytes", "\"many/1.bin\"\nbytes");
    assert!(
        message(&twice).contains("many/1.bin"),
        "{}",
        message(&twice)
    );
}

#[test]
fn a_body_is_a_text_or_a_file_numbered_and_posted() {
    // Method: each way to write a body, and the method of its requests.
    let requests = |keys: &str| {
        let text = GOOD.replace(
            "[{ path = \"/\" }]",
            &format!("[{{ path = \"/\", {keys} }}]"),
        );
        let requests = parsed(&text).unwrap().loads.pop().unwrap().requests;
        let lines = requests.into_iter().map(|request| {
            let body = String::from_utf8(request.body).unwrap();
            format!("{} {body}", request.method)
        });
        lines.collect::<Vec<_>>()
    };
    assert_eq!(requests("weight = 1"), ["GET "]);
    assert_eq!(requests("body = \"x\""), ["POST x"]);
    assert_eq!(requests("body = \"x\", method = \"PUT\""), ["PUT x"]);
    assert_eq!(requests("body = \"@@x\""), ["POST @x"]);
    let numbered = [0, 1].map(|number| format!("POST {{\"user\":{number}}}"));
    assert_eq!(
        requests("body = \"@order.json\", count = 2, template = true"),
        numbered
    );
    assert_eq!(requests("body = '{\"user\":{n}}', count = 2"), numbered);
}

#[test]
fn credentials_cookies_and_forms_become_headers_and_a_body() {
    // Method: each key, with its headers or its body.
    let request = |keys: &str| {
        let keys = format!("[{{ path = \"/\", {keys} }}]");
        let text = GOOD.replace("[{ path = \"/\" }]", &keys);
        parsed(&text)
            .unwrap()
            .loads
            .pop()
            .unwrap()
            .requests
            .remove(0)
    };
    for (keys, header) in [
        ("user = \"a:b\"", "Authorization: Basic YTpi"),
        ("bearer = \"x\"", "Authorization: Bearer x"),
        ("bearer = \"@token\"", "Authorization: Bearer t0ken"),
        ("cookie = \"a=1;b=2\"", "Cookie: a=1; b=2"),
    ] {
        let headers = request(keys).headers;
        let headers = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}"));
        assert_eq!(headers.collect::<Vec<_>>(), [header]);
    }
    let form = request("form = [\"a=1\", \"f=@list.txt\"]");
    assert_eq!((form.method.as_str(), form.is_form), ("POST", true));
    let [(name, value)] = &form.headers[..] else {
        panic!("one header");
    };
    assert!(name == "Content-Type" && value.starts_with("multipart/form-data; boundary="));
    let body = String::from_utf8(form.body).unwrap();
    assert!(body.contains("filename=\"list.txt\"\r\nContent-Type: text/plain\r\n\r\n/a\n"));
}

#[test]
fn a_request_file_has_all_requests() {
    // Method: two requests, with a weight and a cookie for both; the first has its own cookie.
    let text = GOOD.replace(
        "[{ path = \"/\" }]",
        "[{ file = \"all.jsonl\", weight = 3, cookie = \"all=1\" }]",
    );
    let requests = parsed(&text).unwrap().loads.pop().unwrap().requests;
    let [first, second] = &requests[..] else {
        panic!("two requests");
    };
    let header = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    assert_eq!(
        (first.weight, &first.headers),
        (6, &header("cookie", "own=1"))
    );
    assert_eq!(
        (second.weight, &second.headers),
        (3, &header("Cookie", "all=1"))
    );
    assert_eq!(
        (second.method.as_str(), &second.body[..]),
        ("POST", &b"{n}"[..])
    );
    assert_eq!((first.status, second.status), (None, Some(404_u16.into())));
}

#[test]
fn a_log_has_the_requests_and_their_times() {
    // Method: a log at its own speed, and at twice that speed with all methods, and a header and a
    // status for all requests.
    let load = |entry: &str, expect: &str| {
        let requests = format!("[{{ replay = \"access.log\"{entry} }}]{expect}");
        let text = GOOD.replace("[{ path = \"/\" }]", &requests);
        let load = parsed(&text).unwrap().loads.pop().unwrap();
        let Arrivals::Replay(replay) = &load.pacing.arrivals else {
            panic!("it is replayed");
        };
        let due: Vec<_> = replay
            .requests()
            .iter()
            .map(|request| (request.due.0 / 1_000_000, request.request))
            .collect();
        let paths: Vec<_> = load
            .requests
            .iter()
            .map(|request| {
                (
                    request.path.clone().unwrap(),
                    request.status,
                    request.headers.len(),
                )
            })
            .collect();
        (due, paths, load.log.clone().unwrap())
    };
    let path = |path: &str, status: Option<u16>, headers| {
        (
            path.to_owned(),
            status.map(ExpectedStatus::exactly),
            headers,
        )
    };
    assert_eq!(
        load("", ""),
        (
            vec![(0, 0), (3_000, 1)],
            vec![path("/a", Some(404), 0), path("/c", Some(200), 0)],
            "of access.log, 2 requests in 4s; left out: 1 by other methods".to_owned()
        )
    );
    let more = ", speed = 2, replay_methods = \"all\", cookie = \"a=1\"";
    assert_eq!(
        load(more, "\nexpect = { status = \"2xx\" }"),
        (
            vec![(0, 0), (250, 1), (1_500, 2)],
            vec![
                path("/a", None, 1),
                path("/b", None, 1),
                path("/c", None, 1)
            ],
            "of access.log at speed 2, 3 requests in 2s".to_owned()
        )
    );
}

#[test]
fn a_list_of_paths_makes_a_request_of_each() {
    // Method: a list with one path twice, and a single path.
    let text = GOOD.replace(
        "[{ path = \"/\" }]",
        "[{ urls = \"list.txt\", weight = 5 }, { path = \"/\" }]",
    );
    let requests = parsed(&text).unwrap().loads.pop().unwrap().requests;
    let requests = requests.iter();
    let requests = requests.map(|request| (request.path.as_deref().unwrap(), request.weight));
    assert_eq!(
        requests.collect::<Vec<_>>(),
        [("/a", 10), ("/b", 5), ("/", 1)]
    );
}

#[test]
fn connections_are_opened_at_a_rate_if_they_are_kept_alive() {
    // Method: the key with keep-alive and without it, out of its range, and left out.
    let rates = |text: &str| {
        let study = parsed(text).unwrap();
        study
            .loads
            .iter()
            .map(|load| load.open_rate)
            .collect::<Vec<_>>()
    };
    assert!(rates(GOOD).iter().all(Option::is_none));
    let alive = GOOD.replace("keep_alive = false", "open_rate = 5000");
    assert_eq!(rates(&alive)[0], Some(5_000));
    let closed = GOOD.replace("keep_alive = false", "keep_alive = false\nopen_rate = 5000");
    assert!(
        message(&closed).contains("without keep-alive"),
        "{}",
        message(&closed)
    );
    let zero = alive.replace("open_rate = 5000", "open_rate = 0");
    assert!(message(&zero).contains("open_rate"), "{}", message(&zero));
}

#[test]
fn a_cold_load_needs_files_that_abx_makes() {
    // Method: the good file without the subject that has an address, with and without files.
    let address = "[[subject]]\nname = \"three\"\naddress = \"http://127.0.0.1:8081/\"\n\n";
    let cold = GOOD
        .replace(address, "")
        .replace("keep_alive", "cold_cache = true\nkeep_alive");
    let study = parsed(&cold).unwrap();
    let cold_caches = study.loads.iter().map(|load| load.cold_cache);
    assert_eq!(cold_caches.collect::<Vec<_>>(), [true, true, false]);
    let without = cold.replace("[[file]]\npath = \"small.bin\"\nbytes = 1_320\n\n", "");
    assert!(
        message(&without).contains("add a [[file]]"),
        "{}",
        message(&without)
    );
}

#[test]
fn a_study_has_the_values_of_its_file_and_defaults_for_the_rest() {
    // Method: a file with most sections; keys that it has, and keys that it lacks.
    let study = parsed(GOOD).unwrap();
    assert_eq!(study.baseline.as_deref(), Some("two"));
    assert!((study.margin.unwrap().share() - 0.025).abs() < 1e-12);
    assert_eq!(study.budget, Some(Duration::from_secs(90)));
    assert_eq!((study.pin, study.seed), (Some(Pin::Shared), Some(7)));
    assert_eq!(
        (study.blocks, study.slice, study.threads),
        (None, None, None)
    );
    assert_eq!(study.files[0].bytes, 1320);

    let [first, second, third] = &study.subjects[..] else {
        panic!("three subjects");
    };
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|&word| word.to_owned())
            .collect::<Vec<_>>()
    };
    let needs = [
        Need::Packages(words(&["a", "b"])),
        Need::Npm(words(&["ws"])),
    ];
    assert_eq!(first.server.needs, needs);
    assert_eq!(first.stand_in_for.as_deref(), Some("zero"));
    let RunSpec::Launch(launch) = &first.server.run else {
        panic!("a command");
    };
    let template = Template {
        target: "n.conf".into(),
        text: "listen {port};".to_owned(),
    };
    assert_eq!(launch.templates, [template]);
    assert_eq!(launch.ready.status, Some(204));
    assert_eq!(launch.stop.signal, Signal::Quit);
    assert_eq!(launch.stop.within, Duration::from_secs(5));
    let build = Need::Build {
        command: words(&["make", "two"]),
        folder: "server".into(),
    };
    assert_eq!(second.server.needs, [build]);
    assert_eq!(
        third.server.run,
        RunSpec::Address("http://127.0.0.1:8081/".into())
    );

    let [small, larger, single] = &study.loads[..] else {
        panic!("two loads, one of them a sweep over two");
    };
    let row = |load: &Load| (load.name.clone(), load.connections);
    assert_eq!(row(small), ("small-c10".to_owned(), 10));
    assert_eq!(row(larger), ("small-c100".to_owned(), 100));
    assert_eq!(small.requests, larger.requests);
    assert_eq!((small.requests[0].weight, small.requests[1].weight), (3, 1));
    assert_eq!(small.requests[1].method, "POST");
    assert_eq!(small.requests[1].headers, [("Accept".into(), "*/*".into())]);
    assert_eq!((small.keep_alive, &small.body), (false, &ExpectBody::Any));
    assert_eq!(row(single), ("one".to_owned(), 1));
    assert_eq!(single.status, 200_u16.into());
    assert_eq!((single.verify_every, single.keep_alive), (100, true));
    assert_eq!(
        (&single.body, single.timeout.as_secs()),
        (&ExpectBody::Same, 10)
    );
}

#[test]
fn each_mistake_is_named_with_line_place_key_and_remedy() {
    // Method: one text of the good file is replaced at a time; the complete message.
    for (right, wrong, expected) in MISTAKES {
        assert!(GOOD.contains(right), "{right}");
        let text = GOOD.replacen(right, wrong, 1);
        assert_eq!(message(&text), format!("study.toml:{expected}"));
    }
}

#[test]
fn all_unknown_keys_are_listed_or_counted_at_once() {
    // Method: more unknown keys than a message lists.
    let text: String = (0..25)
        .map(|index| format!("unknown{index} = 1\n"))
        .collect();
    let message = message(&format!("{text}{GOOD}"));
    assert_eq!(message.lines().count(), 11);
    assert!(
        message.starts_with("study.toml:1: unknown key `unknown0`"),
        "{message}"
    );
    assert!(message.ends_with("and 15 more like these"), "{message}");
}

#[test]
fn a_text_that_is_not_a_study_has_a_message() {
    // Method: an empty text, only a comment, a text that is far too long, and missing tables.
    let long = format!("#{}", "x".repeat(10_000_000));
    for (text, expected) in [
        (
            "",
            "1: the file is empty: it needs a [[subject]] and a [[load]]; `abx study show NAME` prints an example",
        ),
        (
            "# nothing\n",
            "1: the file is empty: it needs a [[subject]] and a [[load]]; `abx study show NAME` prints an example",
        ),
        (
            &long,
            "1: the file is longer than 1000000 bytes: is it the right one?",
        ),
    ] {
        assert_eq!(message(text), format!("study.toml:{expected}"));
    }
    let missing = message("seed = 1");
    assert!(
        missing.contains("study.toml:1: `[[subject]]` is missing: add it"),
        "{missing}"
    );
    assert!(
        missing.contains("study.toml:1: `[[load]]` is missing: add it"),
        "{missing}"
    );
}

#[test]
fn a_study_is_read_from_its_folder_with_its_templates() {
    // Method: a folder on disk, named by itself and by its file; with mistakes in its template, and
    // then in the file itself.
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("my-study");
    fs::create_dir_all(folder.join("conf")).unwrap();
    let file = folder.join("study.toml");
    let template = folder.join("conf/n.conf.in");
    fs::write(&file, GOOD).unwrap();

    let missing = read(&folder).unwrap_err().to_string();
    assert!(
        missing.contains(
            "study.toml:15: subject \"one\": the template `conf/n.conf.in` cannot be read"
        ),
        "{missing}"
    );

    fs::write(&template, "a { }\nb {prot};\n").unwrap();
    let spoiled = read(&file).unwrap_err().to_string();
    assert!(
        spoiled.contains(
            "conf/n.conf.in:2: subject \"one\": unknown placeholder {prot}; did you mean `port`?"
        ),
        "{spoiled}"
    );

    fs::write(&template, "http {\n listen {port}; if (x) {} }\n").unwrap();
    let (study, study_folder) = read(&folder).unwrap();
    assert_eq!(study.name, "my-study");
    assert_eq!(study_folder, folder.canonicalize().unwrap());
    let other = folder.join("quick.toml");
    fs::copy(&file, &other).unwrap();
    assert_eq!(read(&other).unwrap().0.name, "quick");

    fs::write(&file, vec![b'#'; 10_000_000]).unwrap();
    assert!(
        read(&file)
            .unwrap_err()
            .to_string()
            .ends_with("is it the right one?")
    );
    fs::write(&file, [0xff, 0xfe]).unwrap();
    assert!(
        read(&file)
            .unwrap_err()
            .to_string()
            .contains("study.toml:1: the file is not UTF-8 text")
    );
    let nowhere = read(&root.path().join("nowhere")).unwrap_err().to_string();
    assert!(
        nowhere.ends_with("name a study.toml, or the folder that holds one"),
        "{nowhere}"
    );
}

#[test]
fn accepted_placeholders_can_be_filled() {
    // Method: the command, environment and template of the good file are filled.
    let study = parsed(GOOD).unwrap();
    let subject = study.subjects[0].subject(Path::new("/s")).unwrap();
    let Source::Command(launch) = subject.source else {
        panic!("a command");
    };
    let filled = launch.fill(81, Path::new("/d"), &[]);
    assert_eq!(filled.command[2], "/d/n.conf");
    assert_eq!(filled.environment[0].1, "/s/x");
    assert_eq!(filled.templates[0].text, "listen 81;");
}

#[test]
fn an_image_needs_no_command_and_no_port() {
    // Method: an image alone, one with a command, a signal and a template, and one of a service.
    let text = r#"
[[service]]
name = "db"
from = { image = "redis:7" }
command = ["redis-server", "--port", "{port}"]
[[subject]]
name = "alone"
from = { image = "web:1", stand_in_for = "web:2" }
env = { DB = "{service.db.port}" }
[[subject]]
name = "configured"
from = { image = "nginx" }
command = ["nginx", "-c", "{dir}/n.conf"]
templates = { "n.conf" = "conf/n.conf.in" }
stop = { signal = "QUIT", within = "1s" }
[[load]]
name = "one"
requests = [{ path = "/" }]
"#;
    let study = parsed(text).unwrap();
    let launches: Vec<_> = study.launches().collect();
    assert_eq!(launches[0].words(), ["image:web:1"]);
    let stop_signal = |index: usize| launches[index].image.as_ref().unwrap().stop_signal;
    assert_eq!(stop_signal(0), None);
    assert_eq!(stop_signal(1), Some(Signal::Quit));
    assert_eq!(launches[1].words()[0], "image:nginx");
    assert_eq!(study.services[0].launch().words()[0], "image:redis:7");
    let needs = |name: &str| [Need::Image(name.to_owned())];
    assert_eq!(study.subjects[0].server.needs, needs("web:1"));
    assert_eq!(study.subjects[0].server.line, 8);
    assert_eq!(study.services[0].server.needs, needs("redis:7"));
}

#[test]
fn the_baseline_comes_first_and_each_subject_has_its_line() {
    // Method: the second of three subjects is the baseline; the line of its command.
    let study = parsed(GOOD).unwrap();
    let order: Vec<&str> = study
        .in_order()
        .iter()
        .map(|subject| subject.name.as_str())
        .collect();
    assert_eq!(order, ["two", "one", "three"]);
    let line = GOOD.lines().nth(study.subjects[1].server.line - 1);
    assert_eq!(line, Some(r#"command = ["./two", "{port}"]"#));
}

#[test]
fn only_a_subject_that_is_built_has_the_placeholder_of_its_build() {
    // Method: {build} in the command of a subject that is built, and of one that is not.
    let built = GOOD.replace(r#"["./two", "{port}"]"#, r#"["{build}/two", "{port}"]"#);
    parsed(&built).unwrap();
    let message = message(&GOOD.replace("{dir}/n.conf", "{build}/n.conf"));
    assert!(message.contains("unknown placeholder {build}"), "{message}");
}

#[test]
fn a_row_of_a_sweep_reserves_its_name() {
    // Method: another load has the name that the sweep gives to one of its rows.
    let text = GOOD.replace("[[load]]\nname = \"one\"", "[[load]]\nname = \"small-c10\"");
    let message = message(&text);
    assert!(
        message.contains("the name `small-c10` is taken by the load"),
        "{message}"
    );
}

#[test]
fn a_sweep_visits_every_number_of_connections_at_every_rate() {
    // Method: rates as whole numbers, fractions, shares and `auto`; the names of the rows, and
    // whether their rates are still to be found.
    let names = |rate: &str| {
        let text = GOOD.replace("[10, 100]", &format!("[10, 100]\nrate = {rate}"));
        let study = parsed(&text).unwrap();
        let rows = study
            .loads
            .into_iter()
            .filter(|load| load.name.starts_with("small"));
        let row = |load: Load| format!("{} {}", load.name, load.rate.is_unresolved());
        rows.map(row).collect::<Vec<_>>()
    };
    assert_eq!(names("2000"), ["small-c10 false", "small-c100 false"]);
    assert_eq!(names("0.5"), ["small-c10 false", "small-c100 false"]);
    assert_eq!(
        names("[2000, 2.5, \"50%\"]"),
        [
            "small-c10-r2000 false",
            "small-c10-r2.5 false",
            "small-c10-r50pct true",
            "small-c100-r2000 false",
            "small-c100-r2.5 false",
            "small-c100-r50pct true",
        ]
    );
    assert_eq!(names("\"auto\"").len(), 8);
    assert_eq!(names("\"90%\""), ["small-c10 true", "small-c100 true"]);
}

#[test]
fn a_file_without_a_line_or_with_a_line_twice_is_read_or_refused() {
    // Method: every single line of the good file.
    let lines: Vec<&str> = GOOD.lines().collect();
    for index in 0..lines.len() {
        let mut shortened = lines.clone();
        shortened.remove(index);
        fuzz::any_text(&shortened.join("\n"));
        let mut doubled = lines.clone();
        doubled.insert(index, lines[index]);
        fuzz::any_text(&doubled.join("\n"));
    }
}

#[test]
fn long_and_deep_texts_end_in_a_message() {
    // Method: texts that make a parser recurse, or take quadratic time: nested lists and tables,
    // long dotted keys, very many keys, names and numbers, and long words.
    let dotted = vec!["a"; 79].join(".");
    let nested = format!("{}{}", format!("{{{dotted}=").repeat(70), "1");
    let many: String = (0..60_000).map(|index| format!("k{index}=1\n")).collect();
    let sweep: String = (1..120_000).map(|index| format!("{index},")).collect();
    for text in [
        format!("[{dotted}]\n{dotted}={nested}{}", "}".repeat(70)),
        format!("x = {}", "[".repeat(500_000)),
        "a.".repeat(400_000),
        format!("{} = 1", "k".repeat(900_000)),
        many,
        GOOD.replace("[10, 100]", &format!("[{sweep}]")),
        "[[subject]]\nname=\"x\"\n".repeat(40_000),
    ] {
        fuzz::any_text(&text);
    }
}

#[test]
fn inputs_that_fuzzing_kept_are_studies_or_refused() {
    // Method: the fuzz target's body, on kept inputs and mutations of them.
    abx_corpus::replay_text("study_file", 1_000, fuzz::any_text);
}

proptest! {
    #[test]
    fn any_text_is_a_study_or_refused(text in any::<String>()) {
        // Method: random text.
        fuzz::any_text(&text);
    }

    #[test]
    fn any_change_of_a_good_file_is_a_study_or_refused(
        place in 0..GOOD.len(),
        length in 0_usize..40,
        instead in "[a-z{}\\[\\]\"=., \n0-9é\u{0}]{0,12}",
    ) {
        // Method: a piece of the good file is replaced by characters that have a meaning.
        let mut text = GOOD.to_owned();
        text.replace_range(place..(place + length).min(GOOD.len()), &instead);
        fuzz::any_text(&text);
    }
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[test]
fn the_schema_for_editors_is_the_one_of_the_types() {
    // Method: the schema is generated again and compared; UPDATE=1 writes it.
    let path = docs().join("study-file.schema.json");
    let generated = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &generated).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == generated,
        "docs/study-file.schema.json is not what the types say; write it anew with: \
         UPDATE=1 cargo test -p abx-lab --test lab schema"
    );
}

#[test]
fn every_key_is_documented_and_the_examples_are_read() {
    // Method: each key of the schema has its row in the section of its table; each TOML block of
    // the page is a study.
    let page = fs::read_to_string(docs().join("reference/study-file.md")).unwrap();
    let schema = schema();
    let mut missing = Vec::new();
    for (table, tables) in [
        ("The study", &schema),
        ("`[[file]]`", &schema["properties"]["file"]["items"]),
        ("`[[subject]]`", &schema["properties"]["subject"]["items"]),
        ("`[[service]]`", &schema["properties"]["service"]["items"]),
        ("`[[load]]`", &schema["properties"]["load"]["items"]),
        ("`[[fault]]`", &schema["properties"]["fault"]["items"]),
        ("`[[contrast]]`", &schema["properties"]["contrast"]["items"]),
    ] {
        let section = page
            .split(&format!("\n## {table}\n"))
            .nth(1)
            .unwrap_or_default();
        let section = section.split("\n## ").next().unwrap_or_default();
        for key in keys(tables, "") {
            if !section.contains(&format!("\n| `{key}` |")) {
                missing.push(format!("{table}: {key}"));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "without a row in docs/reference/study-file.md: {missing:#?}"
    );

    let examples: Vec<&str> = page.split("```toml\n").skip(1).collect();
    assert!(!examples.is_empty());
    for example in examples {
        let text = example.split("```").next().unwrap();
        let study = parse(text, Path::new("study.toml"), &|_| Ok("{port}".to_owned()));
        study.unwrap_or_else(|error| panic!("{error}"));
    }
}

/// The keys of a table and of the tables in it, joined by points. Lists of tables at the top have
/// their own sections.
fn keys(table: &Value, prefix: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (key, inner) in table["properties"].as_object().into_iter().flatten() {
        let path = format!("{prefix}{key}");
        let list = &inner["items"];
        if list["properties"].is_object()
            && ["file", "subject", "service", "load", "fault", "contrast"].contains(&path.as_str())
        {
            continue;
        }
        let deeper = if list.is_object() { list } else { inner };
        paths.extend(keys(deeper, &format!("{path}.")));
        paths.push(path);
    }
    paths
}
