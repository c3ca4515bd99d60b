//! The built-in studies: abx lists, shows, checks and runs them, and reports every subject that it
//! skips.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;

use crate::catalog::cassandra::CLIENTS;
use crate::support::{ABX, Ended, Home, assert_honest, findings, slices};

/// The names of the studies in this repository.
fn study_names() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join("study.toml").exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn every_study_is_listed_and_shown() {
    // Method: the list that abx prints in an empty folder equals the studies of this repository.
    let home = Home::new();
    let ended = home.run_abx(&["study", "list"]);
    ended.expect(0, &[]);
    let first = |line: &str| line.split_whitespace().next().unwrap().to_owned();
    let listed: Vec<String> = ended.stdout.lines().map(first).collect();
    assert_eq!(listed, study_names());
    for name in &listed {
        let shown = home.run_abx(&["study", "show", name]);
        shown.expect(0, &[]);
        for part in ["# ", "Subjects:", "Loads:", "the packages "] {
            assert!(shown.stdout.contains(part), "{part}: {shown:?}");
        }
    }
    let shown = home.run_abx(&["study", "show", "event-servers"]).stdout;
    for part in [
        "stands in for shortfin",
        "bring abx-shortfin",
        "fresh-c500: /",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!home.join(".cache").exists(), "written without need");
}

#[test]
fn an_unknown_study_is_refused_by_name() {
    // Method: an unknown study, subject and load, one subject alone, a flag for the load, and two
    // studies.
    let home = Home::new();
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["show", "no-such"],
            &["`no-such`", "event-servers", "abx study run PATH"],
        ),
        (
            &["show", "nginx-sendfil"],
            &["`nginx-sendfil`", "did you mean `nginx-sendfile`?"],
        ),
        (&["check", "no-such"], &["`no-such`", "static-files"]),
        (&["run", "no-such"], &["`no-such`", "static-files"]),
        (
            &["run", "nginx-sendfile", "--subjects", "on,of"],
            &["--subjects", "`of`", "off, on"],
        ),
        (
            &["run", "nginx-sendfile", "--loads", "tiny"],
            &["--loads", "`tiny`", "small, large"],
        ),
        (
            &["run", "nginx-sendfile", "--subjects", "on"],
            &["one subject alone"],
        ),
        (
            &["run", "nginx-sendfile", "-c", "9"],
            &["--connections", "[[load]]"],
        ),
        (
            &["run", "nginx-sendfile", "static-files"],
            &["static-files"],
        ),
    ];
    for (words, texts) in cases {
        home.run_abx(&[&["study"], *words].concat())
            .expect(2, texts);
    }
    assert!(!home.join("state/abx").exists(), "a record of nothing");
}

#[test]
fn a_study_of_the_catalog_can_be_compared_by_its_name() {
    // Method: an exact name, which shows by a flag that study files refuse; a misspelt name; two
    // names; and a folder of the same name, which takes precedence.
    let home = Home::new();
    for (words, texts) in [
        (
            &["nginx-sendfile", "-c", "9"][..],
            &["--connections", "[[load]]"][..],
        ),
        (
            &["nginx-sendfil"],
            &["`nginx-sendfil`", "did you mean `nginx-sendfile`?"],
        ),
        (
            &["nginx-sendfile", "static-files"],
            &["`nginx-sendfile` is a study", "give it alone"],
        ),
    ] {
        home.run_abx(&[&["compare"], words].concat())
            .expect(2, texts);
    }
    fs::create_dir(home.join("nginx-sendfile")).unwrap();
    home.run_abx(&["compare", "nginx-sendfile"])
        .expect(2, &["nginx-sendfile/study.toml"]);
    assert!(!home.join("state/abx").exists(), "a record of nothing");
}

/// A study with subjects that are ready, missing, broken in three ways, and skipped.
fn mixed() -> String {
    let serve = r#"command = ["{abx}", "serve", "--port", "{port}""#;
    let subject = |name: &str, rest: &str| format!("[[subject]]\nname = \"{name}\"\n{rest}\n");
    [
        subject("good", &format!("{serve}]")),
        subject(
            "absent",
            &format!("from = {{ packages = [\"no-such-package-of-abx\"] }}\n{serve}]"),
        ),
        subject(
            "ends",
            r#"command = ["sh", "-c", "echo no way; exit 3", "{port}"]"#,
        ),
        subject("other-page", &format!(r#"{serve}, "--page-bytes", "86"]"#)),
        subject("nowhere", r#"command = ["no-such-server", "{port}"]"#),
        subject(
            "private",
            "from.bring = { program = \"no-such-server\", how = \"write it first\" }\n\
             command = [\"no-such-server\", \"{port}\"]",
        ),
        "[[load]]\nname = \"one\"\nrequests = [{ path = \"/\" }]\n".to_owned(),
    ]
    .concat()
}

#[test]
fn a_check_reports_the_status_of_each_subject() {
    // Method: a study with a subject of each kind; the summary, the JSON document and the exit
    // code, and no process keeps running.
    let home = Home::new();
    let folder = home.join("mixed");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("study.toml"), mixed()).unwrap();
    let folder = folder.to_str().unwrap();
    let ended = home.run_abx(&["study", "check", folder, "--json", "-"]);
    ended.expect(3, &["1 ready, 1 missing, 3 broken, 1 skipped."]);
    let record = ended.json();
    assert_eq!(
        (&record["schema"], &record["kind"]),
        (&"abx.output/1".into(), &"check".into())
    );
    let subjects = record["subjects"].as_array().unwrap();
    let expected = [
        ("good", "ready", ""),
        ("absent", "missing", "no-such-package-of-abx"),
        ("ends", "broken", "no way"),
        ("other-page", "broken", "86 bytes"),
        ("nowhere", "broken", "no-such-server"),
        ("private", "skipped", "write it first"),
    ];
    assert_eq!(subjects.len(), expected.len(), "{record}");
    for (subject, (name, status, why)) in subjects.iter().zip(expected) {
        let text = |key: &str| subject[key].as_str().unwrap_or_default();
        assert_eq!(text("study"), "mixed");
        assert_eq!((text("subject"), text("status")), (name, status));
        assert!(text("why").contains(why), "{subject}");
        let is_ready = status == "ready";
        assert_eq!(subject["ready_s"].is_number(), is_ready, "{subject}");
        assert_eq!(subject["rss_bytes"].is_number(), is_ready, "{subject}");
    }
    assert!(!home.join("state/abx").exists(), "nothing was measured");
}

#[test]
fn an_installation_starts_nothing_and_a_check_follows_it() {
    // Method: a study of a server that is built and of one that you have to provide, named by its
    // folder without a slash. It is checked, installed, and checked again; then both in one step
    // with an empty cache. The server leaves a file when it starts.
    let home = Home::new();
    fs::create_dir(home.join("mine")).unwrap();
    let build = r#"from.build.command = ["sh", "-c", "echo page >{build}/index.html"]"#;
    let serve = r#"command = ["sh", "-c", "touch $1/started; exec $2 serve --port $3 --root $4", "sh", "{study}", "{abx}", "{port}", "{build}"]"#;
    let brought = "from.bring = { program = \"no-such-server\", how = \"write it first\" }\n\
                   command = [\"no-such-server\", \"{port}\"]";
    let text = format!(
        "[[subject]]\nname = \"built\"\n{build}\n{serve}\n\n[[subject]]\nname = \"private\"\n\
         {brought}\n\n[[load]]\nname = \"one\"\nrequests = [{{ path = \"/\" }}]\n"
    );
    fs::write(home.join("mine/study.toml"), text).unwrap();
    let check = |words: &[&str]| {
        let ended = home.run_abx(&[&["study", "check", "mine"], words].concat());
        ended.expect(0, &[]);
        ended.stdout
    };
    let before = check(&[]);
    assert!(
        before.contains("0 ready, 1 missing, 0 broken, 1 skipped"),
        "{before}"
    );
    let installed = home.run_abx(&["study", "install", "mine"]);
    installed.expect(0, &["mine/private needs", "write it first"]);
    assert!(
        installed.stdout.contains("mine: everything"),
        "{installed:#?}"
    );
    assert!(
        installed.stdout.contains("you have to provide"),
        "{installed:#?}"
    );
    assert!(!home.join("mine/started").exists(), "it was started");
    let after = check(&[]);
    assert!(
        after.contains("1 ready, 0 missing, 0 broken, 1 skipped"),
        "{after}"
    );
    assert!(home.join("mine/started").exists());
    fs::remove_dir_all(home.join(".cache")).unwrap();
    let at_once = check(&["--install"]);
    assert!(
        at_once.contains("1 ready, 0 missing, 0 broken, 1 skipped"),
        "{at_once}"
    );
    assert!(!home.join("state/abx").exists(), "nothing was measured");
    home.run_abx(&["study", "install", "mein"])
        .expect(2, &["no built-in study `mein`"]);
}

/// Runs the tiny form of a study and installs what its subjects need.
pub fn run_installed(study: &str, flags: &[&str]) -> Ended {
    let words = ["study", "run", study, "--tiny", "--install", "--json", "-"];
    Home::new().run_with_cache(&[&words[..], flags].concat())
}

/// Event servers, some of which are built first. All tests share this run.
static EVENT_SERVERS: LazyLock<Ended> = LazyLock::new(|| {
    let subjects = "libevent-1,libevent-2,php-extension,cached,shortfin";
    run_installed("event-servers", &["--subjects", subjects])
});

/// The WebSocket servers, including those from npm and pypi. All tests share this run.
pub static WEBSOCKET: LazyLock<Ended> = LazyLock::new(|| run_installed("websocket", &[]));

/// An application server that is built, and one with a library from npm. All tests share this run.
static APP_SERVER: LazyLock<Ended> = LazyLock::new(|| {
    let subjects = "qt-thread,node-cluster";
    run_installed("app-server", &["--subjects", subjects])
});

/// Many servers of Hello World, of which one is in no registry. All tests share this run. It leaves
/// out one with ten thousand threads that hardly differs from another.
static HTTP_SERVERS: LazyLock<Ended> = LazyLock::new(|| {
    let subjects = "node,node-cluster,node-json,express,express-cluster,nginx,apache-event,\
                    aspnet,beast,proxygen";
    run_installed("http-servers", &["--subjects", subjects])
});

#[test]
fn built_subjects_are_measured_and_missing_ones_are_named() {
    // Method: some of the event servers, one of which no registry has.
    let ended = &*EVENT_SERVERS;
    let record = ended.json();
    ended.expect_measured(&record);
    assert_measured(&record, &["kept-c50", "fresh-c50", "times", "original"]);
    // A message, the record and a finding name the skipped subject.
    assert_eq!(record["skipped"][0]["name"], "shortfin");
    assert_eq!(findings(&record, "skipped").len(), 1);
    ended.expect(
        ended.status.code().unwrap(),
        &["skipping shortfin: it needs the program abx-shortfin"],
    );
}

#[test]
fn the_study_of_application_servers_runs() {
    // Method: the tiny form, in which every page is the same.
    let record = APP_SERVER.json();
    APP_SERVER.expect_measured(&record);
    let loads = ["original", "fresh-c50", "kept-c50", "idle"];
    assert_measured(&record, &loads);
    assert!(findings(&record, "unequal_responses").is_empty());
}

#[test]
fn the_study_of_many_servers_runs() {
    // Method: the tiny form over a subject of each kind. Every response is correct, and bodies
    // differ, which is reported, only in the load of the original.
    let record = HTTP_SERVERS.json();
    HTTP_SERVERS.expect_measured(&record);
    assert_measured(&record, &["kept-c100", "post", "original"]);
    assert_eq!(record["skipped"][0]["name"], "proxygen");
    let differ = findings(&record, "unequal_responses");
    assert!(!differ.is_empty());
    for finding in differ {
        assert_eq!(finding["load"], "original", "{finding}");
    }
}

#[test]
fn every_packaged_subject_starts_and_responds_correctly() {
    // Method: runs install the packages of npm and pypi and build the other subjects; then every
    // built-in study is checked. Only subjects that no registry has may be skipped, and only
    // subjects that are too large for test machines may be missing.
    let record = WEBSOCKET.json();
    WEBSOCKET.expect_measured(&record);
    assert_measured(&record, &["echo-b5", "held", "room"]);
    EVENT_SERVERS.expect_measured(&EVENT_SERVERS.json());
    APP_SERVER.expect_measured(&APP_SERVER.json());
    HTTP_SERVERS.expect_measured(&HTTP_SERVERS.json());
    CLIENTS.expect_measured(&CLIENTS.json());
    let unregistered = [
        "shortfin",
        "lighttpd-1.5",
        "treefrog-thread",
        "treefrog-epoll",
        "proxygen",
        "kestrel",
        "iis",
        "phpcassa",
        "phpcassa-no-opcache",
        "cql",
        "cql-disconnect",
        "fpm-cql",
    ];
    let ended = Home::new().run_with_cache(&["study", "check", "--json", "-", "--quiet"]);
    ended.expect(0, &[]);
    for checked in ended.json()["subjects"].as_array().unwrap() {
        let subject = checked["subject"].as_str().unwrap();
        let too_large = ["python-compiled", "python-pure"];
        let is_too_large = too_large.contains(&subject) || checked["study"] == "cassandra5-clients";
        let is_expected = match checked["status"].as_str().unwrap() {
            "ready" => true,
            "skipped" => unregistered.contains(&subject),
            "missing" => is_too_large,
            _ => false,
        };
        assert!(is_expected, "{checked}");
    }
}

#[test]
fn the_study_of_files_runs() {
    // Method: the tiny form over a subject of each kind; every response is correct.
    let subjects = "lighttpd-epoll-writev,nginx-read-aio,apache-sendfile,abx-read";
    conduct(
        "static-files",
        subjects,
        &["small-c10", "medium", "large-c10", "cold"],
    );
}

#[test]
fn the_study_of_fastcgi_runs() {
    // Method: as with files.
    conduct("fastcgi", "inside,outside-tcp,nginx-fpm", &["page-c10"]);
}

#[test]
fn the_study_of_worker_faults_runs() {
    // Method: as with files, over the subjects of the first question. Each fault was injected into
    // each subject, except the fault of a supervisor into the subject that has none.
    let record = conduct("worker-faults", "inside,outside", &["steady"]);
    let faults = record["blocks"][0]["faults"].as_array().unwrap();
    assert_eq!(faults.len(), 2 * 5 - 1);
    assert_eq!(findings(&record, "fault_left_out").len(), 1);
    assert!(findings(&record, "fault_failed").is_empty());
}

#[test]
fn the_study_of_idle_connections_runs() {
    // Method: as with files.
    conduct(
        "idle-websocket",
        "event,thread",
        &["held-c500", "idle", "busy"],
    );
}

#[test]
fn the_study_of_tls_runs() {
    // Method: as with files. Each subject negotiated the version and the protocol that its name
    // states.
    let subjects = "nginx-http,nginx-tls13,nginx-h2,lighttpd-tls12,lighttpd-rsa,lighttpd-h2";
    let record = conduct(
        "tls",
        subjects,
        &["handshakes", "resumed", "small", "few", "bulk"],
    );
    let tls = |subject: &str| &record["loads"][0]["answers"][subject][0]["tls"];
    assert_eq!(tls("nginx-http")["version"].as_str(), None);
    for (subject, protocol) in [
        ("nginx-tls13", Value::Null),
        ("nginx-h2", "h2".into()),
        ("lighttpd-h2", "h2".into()),
    ] {
        assert_eq!(tls(subject)["protocol"], protocol, "{subject}");
    }
    for (subject, version) in [
        ("nginx-tls13", "TLSv1.3"),
        ("lighttpd-tls12", "TLSv1.2"),
        ("lighttpd-rsa", "TLSv1.3"),
    ] {
        assert_eq!(tls(subject)["version"], version, "{subject}");
    }
}

/// Runs the tiny form of a study with these subjects, and expects these loads.
fn conduct(name: &str, subjects: &str, loads: &[&str]) -> Value {
    let home = Home::new();
    let words = ["study", "run", name, "--tiny", "--json", "-"];
    let ended = home.run_abx(&[&words[..], &["--subjects", subjects]].concat());
    let record = ended.json();
    ended.expect_measured(&record);
    assert_measured(&record, loads);
    // The study's own baseline is not always among these subjects.
    assert_eq!(
        record["settings"]["baseline"],
        subjects.split(',').next().unwrap()
    );
    record
}

/// Asserts that a record has these loads, and that every attempt of every subject has one outcome.
pub fn assert_measured(record: &Value, expected: &[&str]) {
    let loads = record["loads"].as_array().unwrap().iter();
    let loads: Vec<&str> = loads.map(|load| load["name"].as_str().unwrap()).collect();
    assert_eq!(loads, expected);
    for subject in record["subjects"].as_array().unwrap() {
        let slices = slices(record, subject["name"].as_str().unwrap());
        assert!(!slices.is_empty(), "{ABX} measured nothing of {subject}");
        slices.iter().for_each(assert_honest);
    }
}
