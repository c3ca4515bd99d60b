//! `abx view`: the pages that it shows, and the files that it does not disclose.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use abx_sys::process::Signal;

use crate::support::{Home, Server, read_json, send, wait_for};

/// A running `abx view`, which is ended when it is dropped.
struct View {
    child: Child,
    url: String,
}

impl View {
    /// Starts one in a home, and reads the address that it prints.
    fn start(home: &Home, words: &[&str]) -> View {
        let mut child = home
            .abx(&[&["view"], words].concat())
            .stdout(Stdio::piped())
            .stderr(File::create(home.join("view-stderr")).unwrap())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut url).unwrap();
        assert!(url.starts_with("http://") && url.ends_with("/\n"), "{url}");
        View {
            child,
            url: url.trim_end().to_owned(),
        }
    }

    fn address(&self) -> &str {
        self.url
            .strip_prefix("http://")
            .unwrap()
            .trim_end_matches('/')
    }

    /// Sends these bytes and reads the whole response.
    fn send(&self, bytes: &[u8]) -> Response {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        Response::read(&mut stream)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
    }

    /// A GET of this target, as browsers send it.
    fn get(&self, target: &str) -> Response {
        self.request("GET", target, self.address())
    }

    fn request(&self, method: &str, target: &str, host: &str) -> Response {
        let request = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        self.send(request.as_bytes())
    }
}

impl Drop for View {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A response as it arrived.
#[derive(Debug)]
struct Response {
    status: u16,
    head: String,
    body: String,
}

impl Response {
    fn read(stream: &mut TcpStream) -> Response {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").expect("a whole head");
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Response {
            status,
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }

    #[track_caller]
    fn expect(self, status: u16, parts: &[&str]) -> Response {
        assert_eq!(self.status, status, "{self:#?}");
        for part in parts {
            assert!(self.body.contains(part), "`{part}` is missing: {self:#?}");
        }
        self
    }
}

/// A study of the built-in pair and a run, measured once for all tests here: the files of the state
/// folder, and both ids, the study's first. In memory, since copies of this program may run at the
/// same time.
static RECORDS: LazyLock<(Vec<SavedFile>, [String; 2])> = LazyLock::new(|| {
    let home = Home::new();
    let words = "compare --blocks 2 --slice 20ms --pilot brief --seed 7";
    home.run_abx(&words.split(' ').collect::<Vec<_>>());
    let server = Server::start(&[]);
    home.run_abx(&["run", &server.url, "-n", "99", "-c", "3"])
        .expect(0, &[]);
    let list = home.run_abx(&["history", "--json", "-", "-q"]).json();
    let ids = list["entries"].as_array().unwrap().iter();
    let ids: Vec<String> = ids
        .map(|value| value["id"].as_str().unwrap().to_owned())
        .collect();
    let files = fs::read_dir(home.join("state/abx")).unwrap().flatten();
    let files = files.map(|file| (file.file_name(), fs::read(file.path()).unwrap()));
    // Newest first.
    (files.collect(), [ids[1].clone(), ids[0].clone()])
});

/// A file's name and its content.
type SavedFile = (OsString, Vec<u8>);

/// Puts [`RECORDS`] into a folder's history, and returns their ids.
fn two_records(home: &Home) -> [String; 2] {
    let (files, ids) = &*RECORDS;
    let folder = home.join("state/abx");
    fs::create_dir_all(&folder).unwrap();
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).unwrap();
    }
    ids.clone()
}

#[test]
fn records_are_listed_shown_and_compared_side_by_side() {
    // Method: a study and a run: the list, each page compared with that of `abx report`, both
    // records on one page, HEAD, a search, and the end by Ctrl-C.
    let home = Home::new();
    let [study, run] = two_records(&home);
    let reports = [&study, &run].map(|id| {
        home.run_abx(&["report", id, "--html", "page.html"]);
        fs::read_to_string(home.join("page.html")).unwrap()
    });
    let mut view = View::start(&home, &[]);
    let message = fs::read_to_string(home.join("view-stderr")).unwrap();
    assert!(
        message.contains("2 records") && !message.contains("loopback"),
        "{message}"
    );
    let links = [&study, &run].map(|id| format!("href=\"/record/{id}\""));
    let list = view
        .get("/")
        .expect(200, &[&links[0], &links[1], "event, thread"]);
    let places = links.each_ref().map(|link| list.body.find(link));
    assert!(places[1] < places[0], "newest first");
    for (id, page) in [&study, &run].into_iter().zip(reports) {
        assert!(view.get(&format!("/record/{id}")).expect(200, &[]).body == page);
    }
    let head = view.request("HEAD", "/", "localhost");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    let length = format!("content-length: {}", list.body.len());
    assert!(head.head.contains(&length), "{head:#?}");
    for header in [
        "content-security-policy: default-src 'none'",
        "frame-ancestors 'none'",
    ] {
        assert!(head.head.contains(header), "{head:#?}");
    }

    let record = read_json(&home.record_of(&study));
    let ratio = &record["comparisons"][0];
    let row = format!("{study}, 50 connections");
    let throughput = "requests/s";
    let parts = [&row, &run, "event", "thread", "127.0.0.1", throughput];
    let side = view
        .get(&format!("/side?ids={study},{run}"))
        .expect(200, &parts);
    assert_eq!(ratio["subject"], "thread");
    assert_eq!(side.body.matches("<tfoot").count(), 1, "one axis");
    let by_form = view.get(&format!("/side?ids={study}&ids={run}"));
    assert_eq!(by_form.body, side.body);
    view.get(&format!("/side?ids={study}"))
        .expect(400, &["1 were named"]);
    let with_unknown = format!("/side?ids={study},ffff00");
    view.get(&with_unknown)
        .expect(200, &["Not shown", "ffff00</bdi>: No record", &row]);

    let response = view
        .get("/?text=THREAD")
        .expect(200, &[&links[0], "value=\"THREAD\""]);
    assert!(!response.body.contains(&links[1]));
    view.get("/?text=%22%3E%3Cscript%3E")
        .expect(200, &["No matching record", "&quot;&gt;&lt;script"]);

    send(view.child.id(), Signal::Int);
    let status = wait_for("its end", || view.child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
}

#[test]
fn only_named_records_are_shown() {
    // Method: records named by their paths and by an id, one of them damaged after the start. Other
    // records are not found.
    let home = Home::new();
    let [study, run] = two_records(&home);
    fs::create_dir(home.join("old")).unwrap();
    fs::copy(home.record_of(&study), home.join("old/one.json")).unwrap();
    let damaged = home.write("damaged.json", "");
    let view = View::start(&home, &["old/one.json", &damaged, &run]);
    fs::write(&damaged, "{\"schema\":\"abx.study/1\"").unwrap();
    let parts = ["old/one.json", &run, "damaged.json</bdi> is not listed"];
    let list = view.get("/").expect(200, &parts);
    assert!(!list.body.contains(&format!("/record/{study}")));
    view.get(&format!("/record/{study}"))
        .expect(404, &["No record"]);
    view.get(&format!("/record/{run}"))
        .expect(200, &["One run against"]);
    drop(view);
    home.run_abx(&["view", "gone.json"])
        .expect(2, &["gone.json", "abx history"]);
    home.run_abx(&["view", "old"])
        .expect(2, &["old", "not a file"]);
}

#[test]
fn a_damaged_record_has_a_page_that_reports_it() {
    // Method: half a file in the folder of records, opened by its id. The rest of the list stays.
    let home = Home::new();
    let [study, run] = two_records(&home);
    let path = home.record_of(&study);
    let bytes = fs::read(&path).unwrap();
    let view = View::start(&home, &[]);
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let page = format!("/record/{study}");
    view.get(&page)
        .expect(500, &["This record cannot be read", name]);
    view.get("/")
        .expect(200, &[&run, &format!("{name}</bdi> is not listed")]);
    let side = format!("/side?ids={study},{run}");
    view.get(&side)
        .expect(200, &["Not shown", name, "127.0.0.1"]);
    fs::remove_file(&path).unwrap();
    view.get(&page).expect(404, &["There is no such record"]);
    view.get(&side).expect(200, &["Not shown"]);
}

#[test]
fn no_path_comes_from_a_url() {
    // Method: files next to the records and in the working folder, requested in every way that
    // worked with other servers. No response may have their content.
    let home = Home::new();
    let ids = two_records(&home);
    let letters = ["abcd", "abce", "abcf"];
    let none = letters
        .into_iter()
        .find(|start| !ids.iter().any(|id| id.starts_with(start)));
    let none = none.expect("two records have two ids");
    let secret = "{\"schema\":\"abx.run/1\",\"secret\":\"s3cret\"}";
    for place in ["secret.json", "state/secret.json"] {
        fs::write(home.join(place), secret).unwrap();
    }
    for place in [none, &format!("state/{none}")] {
        fs::write(home.join(place), secret).unwrap();
    }
    let view = View::start(&home, &[]);
    let absolute = home.join("secret.json").display().to_string();
    let outside = [
        "/record/../secret.json",
        "/record/../../secret.json",
        "/record/..%2f..%2fsecret.json",
        "/record/%2e%2e/%2e%2e/secret.json",
        "/record/....//....//secret.json",
        "/record/..\\..\\secret.json",
        "/record/",
        "/secret.json",
        "/../secret.json",
        "//secret.json",
        "/etc/passwd",
        "/record//etc/passwd",
        "/state/abx/history.sqlite3",
        "/record/history.sqlite3",
        "*",
    ];
    let named = [
        format!("/record/{none}"),
        format!("/record/./{none}"),
        format!("/record/{none}%00.json"),
        format!("http://127.0.0.1/record/{none}"),
        format!("/record/{absolute}"),
        absolute.clone(),
    ];
    for target in outside.into_iter().map(str::to_owned).chain(named) {
        let response = view.get(&target).expect(404, &[]);
        assert!(!response.body.contains("s3cret"), "{target}");
    }
    let side = format!("/side?ids=../secret.json,{none},{absolute}");
    let side = view.get(&side).expect(404, &["Not shown", "No record"]);
    assert!(!side.body.contains("s3cret"));
}

#[test]
fn only_names_that_cannot_be_rebound_are_served() {
    // Method: correct names, names that a browser sends for an attacker's page, no name, and two
    // names, also with other ports.
    let home = Home::new();
    let view = View::start(&home, &[]);
    let port = view.address().rsplit(':').next().unwrap();
    let good = ["localhost", "127.0.0.1:1", "[::1]:80", "LOCALHOST"];
    for host in good.into_iter().chain([&*format!("localhost:{port}")]) {
        view.request("GET", "/", host).expect(200, &["Records"]);
    }
    let evil = [
        "evil.example",
        "127.0.0.1.evil.example",
        "192.0.2.7",
        "",
        "localhost.evil.example",
    ];
    for host in evil.into_iter().chain([&*format!("evil.example:{port}")]) {
        let response = view.request("GET", "/", host).expect(421, &["localhost"]);
        assert!(!response.body.contains("state/abx"), "{host}");
    }
    view.send(b"GET / HTTP/1.0\r\n\r\n").expect(421, &[]);
    view.send(b"GET / HTTP/1.1\r\n\r\n").expect(400, &[]);
    view.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n")
        .expect(400, &[]);
    view.send(b"GET / HTTP/1.0\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
        .expect(421, &[]);
}

#[test]
fn changes_and_large_requests_are_refused() {
    // Method: every other method, with a body that is not read; heads that are too long; bytes that
    // are not HTTP; and a truncated head. Afterwards the server works as before.
    let home = Home::new();
    let view = View::start(&home, &[]);
    for method in [
        "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "get",
    ] {
        let response = view
            .request(method, "/", "localhost")
            .expect(405, &["GET and HEAD"]);
        assert!(response.head.contains("allow: get, head"), "{response:#?}");
    }
    let body = "x".repeat(200_000);
    let post =
        format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n{body}");
    view.send(post.as_bytes()).expect(405, &[]);
    let head = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}",
        "x".repeat(60_000)
    );
    view.send(head.as_bytes()).expect(431, &["16 KiB"]);
    let head = format!(
        "GET /?text={} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "x".repeat(20_000)
    );
    view.send(head.as_bytes()).expect(431, &[]);
    view.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        .expect(400, &["HTTP"]);
    let mut cut = view.connect();
    cut.write_all(b"GET / HT").unwrap();
    drop(cut);
    view.get("/").expect(200, &[]);
}

#[test]
fn silent_connections_do_not_block_others() {
    // Method: ten connections with half a head each, ten that do not read their responses, and one
    // with an ordinary request; then two hundred at once, more than the server serves at a time.
    let home = Home::new();
    let [study, _] = two_records(&home);
    let view = View::start(&home, &[]);
    let begin = |count: usize, text: &str| -> Vec<TcpStream> {
        let connection = |_| {
            let mut stream = view.connect();
            stream.write_all(text.as_bytes()).unwrap();
            stream
        };
        (0..count).map(connection).collect()
    };
    let silent = begin(10, "GET / HTTP/1.1\r\nHost: loc");
    let deaf = begin(
        10,
        &format!("GET /record/{study} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    );
    view.get("/").expect(200, &[&study]);
    // Slow clients still get a response when they continue.
    for mut stream in silent {
        stream.write_all(b"alhost\r\n\r\n").unwrap();
        Response::read(&mut stream).expect(200, &[&study]);
    }
    for mut stream in deaf {
        Response::read(&mut stream).expect(200, &["Which is faster"]);
    }
    for mut stream in begin(200, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") {
        Response::read(&mut stream).expect(200, &[&study]);
    }
}

#[test]
fn an_address_that_other_machines_reach_causes_a_warning() {
    // Method: all addresses in a network namespace, and a port that is in use.
    let home = Home::new();
    let words = ["view", "--address", "0.0.0.0", "--port", "8000"];
    let mut running = home.start(&mut home.abx_apart("n", "ip link set lo up", &words));
    running.until("its address", |home| {
        let message = fs::read_to_string(home.join("stdout")).ok()?;
        (message == "http://0.0.0.0:8000/\n").then_some(())
    });
    running.signal(Signal::Int);
    running
        .wait()
        .expect(0, &["0.0.0.0", "anyone who can reach it"]);

    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    home.run_abx(&["view", "--port", &port])
        .expect(2, &[&port, "--port"]);
}

#[test]
fn the_pages_fit_a_browser_and_their_form_works() {
    // Method: a browser opens the list, marks both records, submits, and follows a link to a
    // report; no page may scroll sideways or print to the console.
    let home = Home::new();
    two_records(&home);
    let view = View::start(&home, &[]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/view.mjs");
    let scratch = tempfile::tempdir().unwrap();
    let ended = Command::new("node")
        .arg(script)
        .arg(&view.url)
        .env("TMPDIR", scratch.path())
        .output()
        .expect("node is installed: scripts/install-test-servers");
    let message = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{message}");
}
