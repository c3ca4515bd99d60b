//! Requests as other clients make them: credentials, cookies, forms, files of requests, and
//! commands of curl. A server in Python reports what arrived.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Ended, Home, only_slice};

/// The server, which logs its requests. It is ended when it is dropped.
struct Peer<'a> {
    child: Child,
    home: &'a Home,
    url: String,
}

impl Peer<'_> {
    fn start(home: &Home) -> Peer<'_> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/request_peer.py");
        let mut child = Command::new("python3")
            .arg(script)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let log = home.join("asked");
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{}", log.display()).unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let url = format!("http://127.0.0.1:{}/", line.trim());
        Peer { child, home, url }
    }

    /// The requests since the last call, each kind once.
    fn take(&self) -> Vec<Value> {
        let file = self.home.join("asked");
        let text = fs::read_to_string(&file).unwrap_or_default();
        fs::write(&file, "").unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.dedup();
        let lines = lines.into_iter();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Runs a few requests, which must all be ok, and returns those that arrived.
    fn run(&self, words: &[&str]) -> Vec<Value> {
        let fixed = ["run", "-c", "2", "-n", "40", "--quiet", "--json", "-"];
        let ended = self.home.run_abx(&[&fixed[..], words].concat());
        let record = ended.expect(0, &[]).json();
        let requests = only_slice(&record);
        assert_eq!(requests["ok"], requests["sent"], "{words:?} {requests}");
        self.take()
    }

    /// Like [`Peer::run`], with one kind of request to the root.
    fn run_one(&self, words: &[&str]) -> Value {
        let received = self.run(&[&[self.url.as_str()][..], words].concat());
        let [value] = &received[..] else {
            panic!("{words:?}: {received:#?}");
        };
        value.clone()
    }
}

impl Drop for Peer<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Everything that a command printed.
fn text(ended: &Ended) -> String {
    format!("{}{}", ended.stdout, ended.stderr)
}

#[test]
fn credentials_and_cookies_arrive() {
    // Method: each way to write credentials and cookies, as a server in Python decodes them.
    let home = Home::new();
    home.write("token", "t0.k-en\n");
    let peer = Peer::start(&home);
    for (words, who) in [
        (&["-u", "me:pass:word"][..], "Basic me:pass:word"),
        (&["--user", "me:p\u{e4}ss"], "Basic me:p\u{e4}ss"),
        (&["--bearer", "t0.k-en"], "Bearer t0.k-en"),
        (&["--bearer", "@token"], "Bearer t0.k-en"),
    ] {
        assert_eq!(peer.run_one(words)["who"], who, "{words:?}");
    }
    let received = peer.run_one(&["--cookie", "a=1; b=\"x\"", "--cookie", "c="]);
    assert_eq!(received["cookies"], json!(["a=1; b=\"x\"; c="]));
    for (words, part) in [
        (&["-u", "me"][..], "NAME:PASSWORD"),
        (&["-u", "a:b", "--bearer", "c"], "--bearer"),
        (
            &["-u", "a:b", "-H", "Authorization: c"],
            "leave one of them out",
        ),
        (&["--bearer", "@none"], "--bearer: cannot read `none`"),
        (&["--cookie", "jar"], "NAME=VALUE"),
    ] {
        let words = [&["run", peer.url.as_str()][..], words].concat();
        home.run_abx(&words).expect(2, &[part]);
    }
}

#[test]
fn a_form_arrives_with_its_fields_and_files() {
    // Method: text, a picture with bytes of every value, and files with and without their own name
    // and type. Python's mail parser reads the body.
    let home = Home::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(7_000).collect();
    fs::write(home.join("a.png"), &bytes).unwrap();
    home.write("note", "--x\r\n\r\n");
    let peer = Peer::start(&home);
    let received = peer.run_one(&[
        "-F",
        "name=J. D\u{f6}",
        "-F",
        "empty=",
        "-F",
        "picture=@a.png",
        "-F",
        "note=<note",
        "-F",
        "other=@note;filename=o.txt;type=text/x-o",
    ]);
    assert_eq!(
        (&received["method"], &received["type"]),
        (&json!("POST"), &json!("multipart/form-data"))
    );
    let part = |name: &str, file: Option<&str>, kind: &str, content: &[u8]| {
        json!([name, file, kind, hex(content)])
    };
    assert_eq!(
        received["parts"],
        json!([
            part("name", None, "text/plain", "J. D\u{f6}".as_bytes()),
            part("empty", None, "text/plain", b""),
            part("picture", Some("a.png"), "image/png", &bytes),
            part("note", None, "text/plain", b"--x\r\n\r\n"),
            part("other", Some("o.txt"), "text/x-o", b"--x\r\n\r\n"),
        ])
    );
    for (words, part) in [
        (&["-F", "name"][..], "NAME=VALUE"),
        (&["-F", "a=@none"], "`none` of the field `a`"),
        (&["-F", "a=1", "-b", "x"], "--body"),
        (
            &["-F", "a=1", "-H", "content-type: x/y"],
            "leave that header out",
        ),
    ] {
        let words = [&["run", peer.url.as_str()][..], words].concat();
        home.run_abx(&words).expect(2, &[part]);
    }
}

#[test]
fn a_file_of_requests_is_sent_by_weight_with_expected_statuses() {
    // Method: three kinds of requests, one of which expects a missing page; then the same file in a
    // study file.
    let home = Home::new();
    let peer = Peer::start(&home);
    home.write(
        "all.jsonl",
        &format!(
            "{{\"path\": \"/a?b=c\", \"weight\": 8, \"headers\": {{\"X-More\": [\"1\", \"2\"]}}}}\n\n\
             {{\"path\": \"{}post\", \"method\": \"PUT\", \"body_base64\": \"/wA=\"}}\n\
             {{\"path\": \"/missing\", \"expect_status\": 404}}\n",
            peer.url
        ),
    );
    let received = peer.run(&[&peer.url, "--request-file", "all.jsonl", "-u", "a:b"]);
    let line = |value: &Value| format!("{} {} {}", value["method"], value["path"], value["more"]);
    let mut lines: Vec<String> = received.iter().map(line).collect();
    lines.sort();
    let expected = [
        "\"GET\" \"/a?b=c\" [\"1\",\"2\"]",
        "\"GET\" \"/missing\" null",
        "\"PUT\" \"/post\" null",
    ];
    assert_eq!(lines, expected);
    assert!(received.iter().all(|value| value["who"] == "Basic a:b"));
    let put = received
        .iter()
        .find(|value| value["method"] == "PUT")
        .unwrap();
    assert_eq!(put["body"], hex(b"\xff\0"));

    home.write(
        "s.toml",
        &format!(
            "[[subject]]\nname = \"a\"\naddress = \"{0}\"\n[[subject]]\nname = \"b\"\naddress = \"{0}\"\n\
             [[load]]\nname = \"l\"\nconnections = 2\nrequests = [{{ file = \"all.jsonl\", bearer = \"t\" }}]\n",
            peer.url
        ),
    );
    let words = "compare s.toml --pilot brief --slice 20ms --blocks 1 --rounds 2 --quiet --json -";
    let words: Vec<&str> = words.split(' ').collect();
    let record = home.run_abx(&words).json();
    let requests = &record["loads"][0]["settings"]["requests"];
    assert_eq!(
        (&requests[0]["weight"], &requests[2]["status"]),
        (&json!(8), &json!(404))
    );
    assert!(peer.take().iter().all(|value| value["who"] == "Bearer t"));
}

#[test]
fn an_invalid_file_of_requests_is_explained() {
    // Method: one file for each error, one that is missing, and a flag that contradicts it.
    let home = Home::new();
    let peer = Peer::start(&home);
    for (text, part) in [
        ("{}\n{\"pth\": 1}", "bad.jsonl: line 2: unknown field `pth`"),
        (
            "{\"path\": \"http://127.0.0.1:1/\"}",
            "line 1: `http://127.0.0.1:1/` is not a URL of",
        ),
        ("# nothing", "no request in it"),
    ] {
        home.write("bad.jsonl", text);
        home.run_abx(&["run", &peer.url, "--request-file", "bad.jsonl"])
            .expect(2, &[part]);
    }
    home.run_abx(&["run", &peer.url, "--request-file", "none"])
        .expect(2, &["--request-file: cannot read none"]);
    home.run_abx(&[
        "run",
        &peer.url,
        "--request-file",
        "bad.jsonl",
        "--path",
        "/",
    ])
    .expect(2, &["--path"]);
}

#[test]
fn a_curl_command_is_sent_as_by_curl_itself() {
    // Method: the same words after `curl` and after `abx run ... curl`. The server must see no
    // difference except the user agent.
    let home = Home::new();
    home.write("file", "@a\n");
    let peer = Peer::start(&home);
    let url = format!("{}a?b=c", peer.url);
    let url = url.as_str();
    for words in [
        &["-H", "X-More: 1", "-b", "a=1; b=2", "--compressed", url][..],
        &[url, "-X", "PUT", "--data-raw", "@a&b=\u{e4}"],
        &[url, "-d", "a=1", "-d", "b=2", "-u", "me:pass"],
        &[
            "--data-binary",
            "@file",
            "-H",
            "Content-Type: x/y",
            "--url",
            url,
        ],
        &[
            url,
            "--json",
            "{\"a\": 1}",
            "-HX-More: 2",
            "-H",
            "X-More: 3",
        ],
        &[url, "-G", "--data-urlencode", "q=a b&c"],
        &["-sS", "-XDELETE", url, "--oauth2-bearer", "t0ken"],
        &["-T", "file", url],
    ] {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "60"]).args(words);
        let output = curl.current_dir(home.path()).output().unwrap();
        assert!(output.status.success(), "{words:?} {output:?}");
        let expected = peer.take();
        assert_eq!(expected.len(), 1, "{words:?}");
        let received = peer.run(&[&["curl"][..], words].concat());
        assert_eq!(received, expected, "{words:?}");
    }
    home.run_abx(&["run", "curl", url, "--proxy", "x"])
        .expect(2, &["curl's --proxy is not supported"]);
    home.run_abx(&["run", "curl", "-s"]).expect(2, &["no URL"]);
}

/// Appends the content of all files below a folder, except the server's log.
fn read_all(folder: &Path, bytes: &mut Vec<u8>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => read_all(&path, bytes),
            kind if kind.is_file() && entry.file_name() != "asked" => {
                bytes.extend(fs::read(&path).unwrap());
            }
            _ => {}
        }
    }
}

#[test]
fn no_secret_is_saved_or_shown() {
    // Method: a secret in each flag of a run, of a curl command and of a comparison. Then all
    // output and all written files, in every format, and the lists of records.
    let home = Home::new();
    let peer = Peer::start(&home);
    let secret = "hunter2";
    let user = format!("me:{secret}");
    let [cookie, field, key] = ["c=", "f=", "X-Api-Key: "].map(|flag| format!("{flag}{secret}"));
    let mut printed = Vec::new();
    let formats = "--html h.html --markdown m.md --json r.json --full";
    let formats: Vec<&str> = formats.split(' ').collect();
    let fixed = ["--cookie", &cookie, "-F", &field, "-H", &key];
    for who in [["-u", &user], ["--bearer", secret]] {
        let run = ["run", &peer.url, "-c", "1", "-n", "9"];
        let words = [&run[..], &who, &fixed, &formats].concat();
        let ended = home.run_abx(&words);
        printed.push(text(ended.expect(0, &[])));
    }
    let authorization = format!("Authorization: Bearer {secret}");
    let curl = [
        "run",
        "-n",
        "9",
        "curl",
        &peer.url,
        "-H",
        &authorization,
        "-b",
        &cookie,
    ];
    let ended = home.run_abx(&curl);
    printed.push(text(ended.expect(0, &[])));
    let [a, b] = ["a", "b"].map(|name| format!("{name}={}", peer.url));
    let short = "-c 1 --pilot brief --slice 5ms --blocks 1 --rounds 2";
    let short: Vec<&str> = short.split(' ').collect();
    let compare = [
        &["compare", &a, &b, "-u", &user][..],
        &short[..],
        &fixed,
        &formats,
    ]
    .concat();
    printed.push(text(&home.run_abx(&compare)));
    assert_eq!(home.records_in("state/abx").len(), 4);
    for words in [
        &["history"][..],
        &["history", "--json", "-"],
        &["report", "last", "--full"],
    ] {
        printed.push(text(&home.run_abx(words)));
    }
    let printed = printed.concat();
    assert!(!printed.contains(secret), "{printed}");
    let mut saved = Vec::new();
    read_all(home.path(), &mut saved);
    let saved = String::from_utf8_lossy(&saved);
    assert!(!saved.contains(secret));
    for hidden in [
        "me:<hidden>",
        "c=<hidden>",
        "f=<hidden>",
        "X-Api-Key: <hidden>",
    ] {
        assert!(saved.contains(hidden), "{hidden}");
    }
    assert!(
        peer.take()
            .iter()
            .any(|value| value["who"] == format!("Basic {user}"))
    );
}
