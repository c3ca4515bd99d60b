//! Secrets stay out of records, pages, messages, lists, command lines and core files. Secrets in
//! single flags are tested in `requests_of_clients`.

use std::fs;
use std::path::Path;

use abx_sys::process::Signal;

use crate::support::{Ended, Home, Server};

/// The planted secret.
const SECRET: &str = "hunter2";

/// The bytes of every file below a folder, except the planted ones.
fn saved(folder: &Path) -> String {
    let mut bytes = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let is_planted = entry.file_name().to_string_lossy().starts_with("planted");
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && !is_planted {
                bytes.extend(fs::read(path).unwrap());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Asserts that neither the output of a command nor a saved file has the secret.
#[track_caller]
fn assert_hidden(home: &Home, ended: &Ended) {
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    assert!(!printed.contains(SECRET), "{printed}");
    assert!(!saved(home.path()).contains(SECRET));
}

/// Asserts that the command printed its report, with or without a verdict, and no secret.
#[track_caller]
fn assert_shown(home: &Home, ended: &Ended) {
    assert!(matches!(ended.status.code(), Some(0 | 3)), "{ended:?}");
    assert_hidden(home, ended);
}

const FORMATS: &str = "--full --html h.html --markdown m.md --json r.json --prometheus p --csv c";

#[test]
fn no_secret_of_a_file_is_saved_or_shown() {
    // Method: a study file with a secret in a header, a token, a cookie, a password, a form field
    // and a subject's environment; a scenario with one in a value and a header; and an invalid PEM
    // file. Then lists, reports and pages of all records.
    let home = Home::new();
    let server = Server::start(&["--model", "event"]);
    let abx = crate::support::ABX;
    let requests = format!(
        "requests = [\n\
         {{ path = \"/\", headers = {{ X-Api-Key = \"{SECRET}\" }}, bearer = \"{SECRET}\" }},\n\
         {{ path = \"/\", cookie = \"sid={SECRET}\", user = \"me:{SECRET}\" }},\n\
         {{ path = \"/\", form = [\"password={SECRET}\"] }}]\n"
    );
    let subject = |name| {
        format!(
            "[[subject]]\nname = \"{name}\"\nenv = {{ DB_PASSWORD = \"{SECRET}\" }}\n\
             command = [\"{abx}\", \"serve\", \"--port\", \"{{port}}\"]\n"
        )
    };
    let load = "[[load]]\nname = \"l\"\nconnections = 1\n";
    let study = [&subject("a"), &subject("b"), load, &requests].concat();
    home.write("planted.toml", &study);
    let brief = "--pilot brief --slice 5ms --blocks 1 --rounds 2 --no-ceiling";
    let words = format!("compare planted.toml {brief} {FORMATS}");
    let words: Vec<&str> = words.split(' ').collect();
    let ended = home.run_abx(&words);
    assert_shown(&home, &ended);
    let refused = home.run(
        home.abx(&["study", "check", "planted.toml"])
            .env("HOME", "/none"),
    );
    assert_hidden(&home, &refused);
    let scenario = format!(
        "values = {{ password = \"{SECRET}\" }}\n[[step]]\npath = \"/\"\n\
         headers = {{ Authorization = \"Bearer {{password}}\" }}\n"
    );
    home.write("planted-steps.toml", &scenario);
    let words = format!(
        "run {} --scenario planted-steps.toml -c 1 -n 9 {FORMATS}",
        server.url
    );
    let ended = home.run_abx(&words.split(' ').collect::<Vec<_>>());
    assert_hidden(&home, ended.expect(0, &[]));
    home.write(
        "planted.pem",
        &format!("-----BEGIN PRIVATE KEY-----\n{SECRET}\n"),
    );
    let key = ["--ca", "--cert", "--key"]
        .map(|flag| [flag, "planted.pem"])
        .concat();
    let words = [&["run", "https://127.0.0.1:1/"][..], &key].concat();
    assert_hidden(&home, &home.run_abx(&words));
    for words in [
        "history",
        "history --json -",
        "report last --full",
        "report last~1 --full --json -",
        "report last~1 --html -",
    ] {
        let ended = home.run_abx(&words.split_whitespace().collect::<Vec<_>>());
        assert_shown(&home, &ended);
    }
}

#[test]
fn no_message_about_a_mistake_repeats_a_secret() {
    // Method: each secret in a word or a line that is not valid.
    let home = Home::new();
    let url = format!("http://me:{SECRET}@127.0.0.1:1/");
    let bus = format!("nats://me:{SECRET}@127.0.0.1:1");
    let header = format!("Authorization: Bearer {SECRET}\r\nX: y");
    let without_colon = format!("Authorization {SECRET}");
    let (token, cookie) = (format!("{SECRET} {SECRET}"), format!("sid={SECRET}\u{1}"));
    let here = "http://127.0.0.1:1/";
    for words in [
        &["run", &url][..],
        &["compare", &url, here],
        &["compare", &format!("a={url}"), here],
        &["run", here, "-H", &header],
        &["run", here, "-H", &without_colon],
        &["run", here, "--bearer", &token],
        &["run", here, "--cookie", &cookie],
        &["run", here, "--cookie", SECRET],
        &["run", here, "-u", SECRET],
        &["run", here, "-F", SECRET],
        &["run", here, "--otlp", &url],
        &["run", here, "--bus", &bus, "--agents", "1"],
        &["agent", "--bus", &bus, "--nonsense"],
        &["run", "curl", here, "-H", &header],
        &["run", "curl", &url],
        &["ab", "-n", "1", "-A", &format!("me:{SECRET}"), here],
    ] {
        let ended = home.run_abx(words);
        assert_ne!(ended.status.code(), Some(0), "{words:?}");
        assert_hidden(&home, &ended);
    }
    for (number, line) in [
        format!("bearer = \"{SECRET}"),
        format!("headers = {{ Authorization = \"{SECRET}\\n\" }}"),
        format!("user = \"{SECRET}\""),
        format!("bearer = \"{SECRET} {SECRET}\""),
        format!("cookie = \"{SECRET}\""),
        format!("headers = {{ Authorization = [\"{SECRET}\"] }}"),
        format!("address = \"http://me:{SECRET}@127.0.0.1/\""),
    ]
    .iter()
    .enumerate()
    {
        let name = format!("planted{number}.toml");
        let text = if line.starts_with("address") {
            format!("[[subject]]\nname = \"a\"\n{line}\n")
        } else {
            let requests = format!("[[load.requests]]\npath = \"/\"\n{line}\n");
            format!("[[load]]\nname = \"l\"\n{requests}")
        };
        home.write(&name, &text);
        assert_hidden(&home, home.run_abx(&["compare", &name]).expect(2, &[&name]));
    }
}

#[test]
fn no_process_sees_the_secrets_of_a_running_command() {
    // Method: a run of a minute with secrets in flags, and one with a curl command. As soon as abx
    // has hidden them, no command line has them, and a crash leaves no core file with them.
    let home = Home::new();
    let server = Server::start(&["--model", "event"]);
    let user = format!("me:{SECRET}");
    let cookie = format!("sid={SECRET}");
    for words in [
        &["-u", &user, "--cookie", &cookie, &server.url][..],
        &["curl", &server.url, "-u", &user, "-b", &cookie],
    ] {
        let run = ["run", "-c", "1", "-d", "60s", "--quiet"];
        let words = [&run[..], words].concat();
        let mut command = home.abx_after("ulimit -c unlimited", &words);
        let mut running = home.start(&mut command);
        let pid = running.id();
        let line = || fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        running.until("hidden secrets", |_| line().contains("****").then_some(()));
        server.wait_until_loaded();
        assert!(!line().contains(SECRET), "{}", line());
        for (pid, line) in home.processes() {
            assert!(!line.contains(SECRET), "{pid}: {line}");
        }
        // SIGABRT, since processes that a shell starts in the background ignore SIGQUIT.
        running.signal(Signal::Abrt);
        let ended = running.wait_alone();
        assert!(!ended.status.success());
        home.wait_until_empty();
        assert_hidden(&home, &ended);
    }
}
