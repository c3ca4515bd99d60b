//! Inputs that are odd but unambiguous: paths, addresses and files as other tools accept them, and
//! messages about a server's responses.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::support::{Home, Server, findings, read_json};

/// A server that keeps each request, and always sends the same response, once per connection. Its
/// threads end with the test program.
struct Logger {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Logger {
    fn start(response: &str) -> Logger {
        Logger::start_at("127.0.0.1:0", response)
    }

    fn start_at(address: &str, response: &str) -> Logger {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (sink, response) = (Arc::clone(&requests), response.to_owned());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (sink, response) = (Arc::clone(&sink), response.clone());
                thread::spawn(move || respond(stream, &sink, &response));
            }
        });
        Logger { address, requests }
    }

    /// Runs this and returns the requests that arrived meanwhile.
    fn during(&self, work: impl FnOnce()) -> Vec<String> {
        self.requests.lock().unwrap().clear();
        work();
        self.requests.lock().unwrap().clone()
    }
}

fn respond(mut stream: TcpStream, sink: &Mutex<Vec<String>>, response: &str) {
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split("Content-Length: ").nth(1);
            let length = length.and_then(|rest| rest.split("\r\n").next()?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                break;
            }
        }
        match stream.read(&mut buffer) {
            Ok(read) if read > 0 => bytes.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    }
    let request = String::from_utf8_lossy(&bytes).into_owned();
    sink.lock().unwrap().push(request);
    let _ = stream.write_all(response.as_bytes());
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

fn request_line(requests: &[String]) -> &str {
    requests[0].split("\r\n").next().unwrap()
}

fn run(program: &str, words: &[&str]) {
    let output = Command::new(program).args(words).output().unwrap();
    assert!(output.status.success(), "{program} {words:?}: {output:?}");
}

#[test]
fn odd_paths_are_sent_as_by_the_original_tools() {
    // Method: the request lines of abx must equal those of ab and httperf byte for byte.
    let home = Home::new();
    let logger = Logger::start(OK);
    let port = logger.address.port().to_string();
    for path in [
        "/a b",
        "/#x",
        "/\u{fc}?q=\u{e9}",
        "/a?b c#d",
        "/{seq}\"<>|\\^`",
    ] {
        let url = format!("http://127.0.0.1:{port}{path}");
        let ab = ["-n", "1", "-c", "1", &url];
        let original = logger.during(|| run("ab", &ab));
        let ours = logger.during(|| {
            home.run_abx(&[&["ab"][..], &ab].concat()).expect(0, &[]);
        });
        assert_eq!(request_line(&ours), request_line(&original), "ab {path}");
        let httperf = ["--server", "127.0.0.1", "--port", &port, "--uri", path];
        let texts = ["--num-conns", "1"];
        let original =
            logger.during(|| run("httperf", &[&["--hog"], &httperf[..], &texts].concat()));
        let ours = logger.during(|| {
            let words = [&["httperf"], &httperf[..], &texts].concat();
            home.run_abx(&words).expect(0, &[]);
        });
        assert_eq!(ours, original, "httperf {path}");
    }
}

#[test]
fn a_run_encodes_paths_as_curl_does() {
    // Method: the request line of curl for a URL beyond ASCII, compared with that of a URL, --path,
    // and lists with a byte-order mark; then a URL that curl refuses too.
    let home = Home::new();
    let logger = Logger::start(OK);
    let server = format!("http://{}", logger.address);
    let url = format!("{server}/\u{fc}/\u{1f980}");
    let original = logger.during(|| run("curl", &["-s", &url]));
    let list = home.write("list", "\u{feff}/\u{fc}/\u{1f980}\n");
    let file = home.write("file", "\u{feff}{\"path\": \"/\u{fc}/\u{1f980}\"}\n");
    let fixed = ["-n", "1", "-c", "1", "-q"];
    for words in [
        &[url.as_str()][..],
        &[&server, "--path", "/\u{fc}/\u{1f980}"],
        &[&server, "--urls", &list],
        &[&server, "--request-file", &file],
    ] {
        let ours = logger.during(|| {
            let words = [&["run"], words, &fixed].concat();
            home.run_abx(&words).expect(0, &[]);
        });
        assert_eq!(request_line(&ours), request_line(&original), "{words:?}");
    }
    home.run_abx(&["run", &format!("{server}/a b")])
        .expect(2, &["%20"]);
}

#[test]
fn ipv6_addresses_have_brackets_everywhere() {
    // Method: the host that each command sends to a server on ::1, with and without a zone; then
    // addresses with a port and without brackets.
    let home = Home::new();
    let logger = Logger::start_at("[::1]:0", OK);
    let port = logger.address.port().to_string();
    let texts = ["-n", "1", "-c", "1"];
    let [plain, zone] = ["[::1]", "[::1%25lo]"].map(|host| format!("http://{host}:{port}/"));
    for url in [&plain, &zone] {
        for command in ["run", "ab"] {
            let words = [&[command][..], &texts, &[url]].concat();
            let received = logger.during(|| {
                home.run_abx(&words).expect(0, &[]);
            });
            let host = format!("\r\nHost: [::1]:{port}\r\n");
            assert!(received[0].contains(&host), "{words:?}: {received:?}");
        }
    }
    for server in ["::1", "[::1]", "[::1%25lo]"] {
        let words = [
            "httperf",
            "--server",
            server,
            "--port",
            &port,
            "--num-conns",
            "1",
        ];
        let received = logger.during(|| {
            home.run_abx(&words).expect(0, &[]);
        });
        assert!(
            received[0].contains("\r\nHost: [::1]\r\n"),
            "{server}: {received:?}"
        );
    }
    let bare = format!("::1:{port}");
    let expected = format!("`[::1]:{port}`");
    for words in [
        &["run", &bare][..],
        &["run", &format!("http://{bare}/")],
        &["compare", &bare, &plain],
    ] {
        home.run_abx(words).expect(2, &["brackets", &expected]);
    }
}

#[test]
fn a_file_is_sent_byte_for_byte_unless_it_is_a_template() {
    // Method: a file with placeholders, as the server receives it, with and without --template and
    // --count, in a form and in a curl command.
    let home = Home::new();
    let logger = Logger::start(OK);
    let url = format!("http://{}/", logger.address);
    let text = "{\"t\":\"{seq}\",\"n\":\"{n}\",\"e\":\"{{uuid}}\"}\r\n";
    home.write("b", text);
    let fixed = ["-n", "1", "-c", "1", "-q"];
    let bodies = |words: &[&str]| {
        let received = logger.during(|| {
            home.run_abx(&[&["run"], &fixed[..], words].concat())
                .expect(0, &[]);
        });
        let bodies = received
            .iter()
            .map(|text| text.split_once("\r\n\r\n").unwrap().1.to_owned());
        bodies.collect::<Vec<String>>()
    };
    for words in [
        &[&url, "-b", "@b"][..],
        &[&url, "-b", "@b", "--path", "/{n}", "--count", "2"],
        &["curl", &url, "--data-binary", "@b"],
    ] {
        let sent = bodies(words);
        assert!(sent.iter().all(|body| body == text), "{words:?}: {sent:?}");
    }
    let form = bodies(&[&url, "-F", "user={seq}", "-F", "f=@b"]);
    assert!(form.iter().all(|body| body.contains(text)), "{form:?}");
    assert!(form[3].contains("\r\n\r\n3\r\n"), "{form:?}");
    let filled = bodies(&[&url, "-b", "@b", "--template", "--count", "1"]);
    let expected = "{\"t\":\"3\",\"n\":\"0\",\"e\":\"{uuid}\"}\r\n";
    assert_eq!(filled[3], expected, "{filled:?}");
}

#[test]
fn a_refused_response_is_explained() {
    // Method: servers that give a reason in the body, that require another protocol, and that have
    // an invalid status; then two bodies that differ in one byte.
    let home = Home::new();
    let refusing = |status: &str, body: &str| {
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close");
        Logger::start(&format!("{head}\r\n\r\n{body}"))
    };
    for (status, body, parts, is_to_expect) in [
        (
            "400 Bad",
            "{\"error\":\n \"bad json\"}",
            &["{\"error\": \"bad json\"}"][..],
            true,
        ),
        (
            "426 Upgrade",
            "Upgrade Required",
            &["ws://", "Upgrade Required"],
            false,
        ),
        ("999 Denied", "", &["999", "correct the server"], false),
        (
            "404 No",
            "\u{1b}[2Jnone of our pages has this address",
            &["none of our"],
            true,
        ),
    ] {
        let logger = refusing(status, body);
        let url = format!("http://{}/", logger.address);
        let ended = home.run_abx(&["run", &url, "-n", "1"]);
        ended.expect(2, parts);
        assert_eq!(
            ended.stderr.contains("--expect-status"),
            is_to_expect,
            "{ended:?}"
        );
        assert!(!ended.stderr.contains('\u{1b}'), "{ended:?}");
    }
    let loggers = ["price: 10", "price: 12"].map(|body| refusing("200 OK", body));
    let urls = loggers.map(|logger| format!("http://{}/", logger.address));
    home.run_abx(&["compare", &urls[0], &urls[1]]).expect(
        2,
        &["byte 9: `price: 10` and `price: 12`", "--expect-body any"],
    );
}

#[test]
fn a_server_that_ends_during_a_run_is_named_as_the_cause() {
    // Method: a server that is killed under load. The message must be about the server.
    let home = Home::new();
    let server = Server::start(&[]);
    let url = server.url.clone();
    let running = home.start(&mut home.abx(&["run", &url, "-c", "4", "-d", "60s"]));
    server.wait_until_loaded();
    drop(server);
    let ended = running.wait();
    ended.expect(3, &[]);
    let record = home.record();
    for id in ["stopped_answering", "failed_requests"] {
        for finding in findings(&record, id) {
            let remedy = finding["remedy"].as_str().unwrap();
            assert!(remedy.contains("still running"), "{finding}");
            assert!(
                !finding["message"].as_str().unwrap().contains("slice"),
                "{finding}"
            );
        }
    }
    assert!(!ended.stdout.contains("--expect-body"), "{}", ended.stdout);
}

#[test]
fn missing_records_are_explained() {
    // Method: last without any record, an invalid id, two runs in one report, and last~1 with only
    // one record.
    let home = Home::new();
    home.run_abx(&["report", "last"])
        .expect(2, &["no records yet", "abx run"]);
    home.run_abx(&["report", "zz99zz"])
        .expect(2, &["`zz99zz`", "`abx history` lists"]);
    let server = Server::start(&[]);
    home.run_abx(&["run", &server.url, "-n", "1", "-q"])
        .expect(0, &[]);
    home.run_abx(&["report", "last~1"])
        .expect(2, &["only 1 is kept"]);
    home.run_abx(&["run", &server.url, "-n", "1", "-q"])
        .expect(0, &[]);
    home.run_abx(&["report", "last", "last~1"])
        .expect(2, &["`abx view last last~1`", "abx compare URL URL"]);
}

#[test]
fn certificates_and_the_two_meanings_of_k_are_explained() {
    // Method: an untrusted certificate with ab's -k, which means --insecure in curl; and a scenario
    // in HTTP/2.
    let home = Home::new();
    let server = Server::start(&["--tls-self-signed"]);
    let run = |more: &[&str]| home.run_abx(&[&["run", &server.url, "-n", "1"], more].concat());
    let refused = run(&["-k"]);
    refused.expect(
        2,
        &["-k keeps connections open", "the certificate", "--insecure"],
    );
    assert!(!refused.stderr.contains("Error"), "{refused:?}");
    run(&["-k", "--insecure"]).expect(0, &[]);
    home.write("s.toml", "[[step]]\npath = \"/\"\n");
    run(&["--insecure", "--http2", "--scenario", "s.toml"]).expect(2, &["HTTP/1.1 only"]);
}

#[test]
fn flags_of_other_tools_are_accepted_or_explained() {
    // Method: flags and words of other tools, some accepted and some with a message.
    let home = Home::new();
    let server = Server::start(&[]);
    let url = server.url.as_str();
    for words in [
        &[
            "run",
            url,
            "-d",
            "0.2",
            "--timeout",
            "1.5",
            "--latency",
            "-q",
        ][..],
        &["run", url, "-r", "500/s", "-n", "5", "-q"],
    ] {
        home.run_abx(words).expect(0, &[]);
    }
    for (words, parts) in [
        (
            &["run", "-z", "2s", "-q", "100", "-c", "10", url][..],
            &["-r RATE"][..],
        ),
        (&["run", url, "--json", "{\"name\":\"a\"}"], &["-b"]),
        (&["run", url, "--json", " [1]"], &["-b"]),
        (&["run", url, "-r", "60/m"], &["per second"]),
        (
            &["compare", "x=PORT={port} node s.js", "y=node s.js {port}"],
            &["env PORT={port}"],
        ),
        (
            &["compare", "x=cd a && node s.js {port}", "y=z {port}"],
            &["sh -c"],
        ),
        (&["compare", "node s.js {port}"], &["node=node s.js {port}"]),
        (&[url], &["abx run"]),
    ] {
        home.run_abx(words).expect(2, parts);
    }
    assert_eq!(
        home.records_in("state/abx").len(),
        2,
        "only what ran has a record"
    );
}

#[test]
fn a_header_that_closes_connections_leads_to_the_flag() {
    // Method: `Connection: close` by a flag, in a curl command and for two servers; then the load
    // with `--no-keepalive` in place of the header.
    let home = Home::new();
    let server = Server::start(&[]);
    let url = server.url.as_str();
    let header = ["-H", "Connection: close"];
    let run = ["run", url, "-n", "20", "-c", "2"];
    let [a, b] = ["a", "b"].map(|name| format!("{name}={url}"));
    for words in [
        [&run[..], &header].concat(),
        vec!["run", "-n", "20", "curl", url, "-H", "connection: Close"],
        [&["compare", &a, &b, "--blocks", "1"][..], &header].concat(),
    ] {
        let ended = home.run_abx(&words);
        assert_eq!(ended.status.code(), Some(2), "{words:?}: {ended:#?}");
        assert!(ended.stderr.contains("--no-keepalive"), "{ended:#?}");
    }
    home.run_abx(&[&run[..], &["--no-keepalive"]].concat())
        .expect(0, &[]);
}

#[test]
fn no_run_reports_more_than_it_offered() {
    // Method: few requests at a low rate, and a duration that is no multiple of the interval
    // between requests.
    let home = Home::new();
    let server = Server::start(&[]);
    for (words, offered) in [
        (["-r", "20", "-n", "2", "-c", "5"].as_slice(), 20.0),
        (&["-r", "20", "-n", "1"], 20.0),
        (&["-r", "5", "-d", "500ms"], 5.0),
    ] {
        let more = [words, &["--json", "run.json"]].concat();
        home.run_abx(&[&["run", server.url.as_str()][..], &more].concat())
            .expect(0, &[]);
        let record = read_json(&home.join("run.json"));
        let throughput = record["throughput_per_s"].as_f64().unwrap();
        assert!(throughput <= offered, "{words:?}: {throughput}");
    }
}
