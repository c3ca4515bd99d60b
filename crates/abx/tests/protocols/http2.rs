//! HTTP/2 to servers that are not ours, which count their responses.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};

use abx_sys::process::Signal;
use serde_json::{Value, json};

use crate::protocols::tls::certify;
use crate::support::{Home, assert_honest, findings, only_slice, response, send, wait_for};

/// Serves HTTP/2 with nghttp2's library, which checks each frame against the standard. It counts
/// requests and the bytes of their bodies, and writes both to a file when it ends.
const NODE: &str = r#"
const http2 = require('http2');
let served = 0, bytes = 0;
const server = http2.createServer({ settings: { maxConcurrentStreams: 5, initialWindowSize: 20000 } });
server.on('sessionError', error => {
  if (/HTTP2/.test(error.code)) served = 'a broken session: ' + error;
});
server.on('stream', (stream, headers) => {
  stream.on('error', () => {});
  stream.on('data', part => { bytes += part.length; });
  stream.on('end', () => {
    served += 1;
    stream.additionalHeaders({ ':status': 103, link: '</a>' });
    stream.respond({ ':status': 200, 'server-timing': 'app;dur=2' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-served': String(served) }));
    stream.end('hello');
  });
});
process.on('SIGTERM', () => {
  require('fs').writeFileSync(process.argv[2], served + ' ' + bytes);
  process.exit(0);
});
server.listen(+process.argv[1], '127.0.0.1');
"#;

/// A running server of another program, which is ended when it is dropped.
pub struct Foreign {
    child: Child,
    port: u16,
}

impl Foreign {
    /// Starts the command for a port, and waits until it listens there.
    pub fn start(command: impl Fn(u16) -> Command) -> Foreign {
        // Another process may take the port first.
        for _ in 0..5 {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = free.local_addr().unwrap().port();
            drop(free);
            let mut child = command(port).spawn().unwrap();
            let listens = wait_for("a server", || match child.try_wait().unwrap() {
                Some(_) => Some(false),
                None => TcpStream::connect(("127.0.0.1", port))
                    .is_ok()
                    .then_some(true),
            });
            if listens {
                return Foreign { child, port };
            }
        }
        panic!("a server finds no port");
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    fn end(&mut self, signal: Signal) {
        if self.child.try_wait().unwrap().is_none() {
            send(self.child.id(), signal);
            self.child.wait().unwrap();
        }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.end(Signal::Term);
    }
}

/// The configuration of an nginx that listens with these words, and logs the protocol, the status
/// and the length of the body for each request.
fn configuration(home: &Home, listen: &str) -> String {
    let folder = home.path().display();
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {folder}/{name};"))
        .join(" ");
    format!(
        "daemon off; pid {{dir}}/pid; events {{}} http {{ {paths} \
         log_format all '$server_protocol $status $body_bytes_sent'; \
         access_log {{dir}}/log all; server {{ listen 127.0.0.1:{{port}} {listen}; \
         ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem; \
         location / {{ return 200 hello; }} }} }}"
    )
}

fn nginx(home: &Home, listen: &str) -> Foreign {
    certify(home);
    let folder = home.path().display().to_string();
    let text = configuration(home, listen).replace("{dir}", &folder);
    Foreign::start(|port| {
        let text = text.replace("{port}", &port.to_string());
        let file = home.write("nginx.conf", &text);
        let mut command = Command::new("nginx");
        command.args(["-e", "stderr", "-p", &folder, "-c", &file]);
        command
    })
}

/// The record of a run.
fn record(home: &Home, url: &str, words: &str, code: i32) -> Value {
    let mut arguments = vec!["run", url, "--http2", "--quiet", "--json", "-"];
    arguments.extend(words.split(' '));
    let ended = home.run_abx(&arguments);
    ended.expect(code, &[]);
    ended.json()
}

/// Requests that abx sends before a load, which servers count as well.
const PROBES: usize = 3;

#[test]
fn a_run_over_streams_agrees_with_the_log_of_nginx() {
    // Method: 5,000 requests over four connections with 16 streams each, with prior knowledge and
    // with ALPN. nginx ends each connection after 1,000 requests with a GOAWAY, and logs every
    // request that it responds to.
    for (listen, scheme, words) in [
        ("http2", "http", ""),
        ("ssl http2", "https", " --ca cert.pem"),
        ("ssl http2", "https", " --ca cert.pem --tls-version 1.2"),
    ] {
        let home = Home::new();
        let mut nginx = nginx(&home, listen);
        let url = nginx.url().replace("http", scheme);
        let words = format!("-c 4 --streams 16 -n 5000 --verify-every 7{words}");
        let record = record(&home, &url, &words, 0);
        let settings = &record["loads"][0]["settings"];
        assert_eq!(
            (&settings["protocol"], &settings["pipeline"]),
            (&json!("http/2"), &json!(16))
        );
        let agreed = &response(&record)["tls"];
        let expected = if scheme == "https" {
            json!("h2")
        } else {
            Value::Null
        };
        assert_eq!(agreed["protocol"], expected, "{agreed}");
        let requests = only_slice(&record);
        assert_honest(&requests);
        assert_eq!(requests["ok"], 5_000, "{requests}");
        let outcomes = requests["outcomes"].as_object().unwrap();
        // Requests that nginx had not read when it ended a connection were sent again.
        let are_known = outcomes
            .keys()
            .all(|name| name == "ok" || name == "idle_close");
        assert!(are_known, "{requests}");
        nginx.end(Signal::Quit);
        let log = fs::read_to_string(home.join("log")).unwrap();
        let correct = log.lines().filter(|line| *line == "HTTP/2.0 200 5");
        assert_eq!(correct.count(), 5_000 + PROBES);
        assert_eq!(log.lines().count(), 5_000 + PROBES);
    }
}

#[test]
fn bodies_and_few_streams_agree_with_the_counts_of_node() {
    // Method: bodies of 50,000 bytes through windows of 20,000, and twelve streams although five
    // are allowed. node counts requests and bytes, and responds with 103 and a trailer.
    let home = Home::new();
    let body = "x".repeat(50_000);
    home.write("body", &body);
    let mut node = Foreign::start(|port| {
        let mut command = Command::new("node");
        command.args(["-e", NODE, &port.to_string()]);
        command.arg(home.join("served"));
        command
    });
    let words = "-m POST -b @body -c 3 --streams 12 -n 300 --verify-every 1";
    let record = record(&home, &node.url(), words, 0);
    let requests = only_slice(&record);
    assert_honest(&requests);
    assert_eq!(requests["outcomes"], json!({ "ok": 300 }));
    assert_eq!(requests["hashed"], 300);
    node.end(Signal::Term);
    let total = 300 + PROBES;
    let served = fs::read_to_string(home.join("served")).unwrap();
    assert_eq!(served, format!("{total} {}", total * body.len()));
}

#[test]
fn each_mistake_of_a_server_has_its_outcome() {
    // Method: a server for each fault, on all connections of the load; and correct responses in
    // rare forms.
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/http2_faults.py");
    for (fault, outcome, more) in [
        ("odd", "ok", ""),
        ("reset", "stream_reset", ""),
        ("go-away", "early_close", ""),
        ("bad-block", "malformed", ""),
        ("no-status", "malformed", ""),
        ("push", "malformed", ""),
        ("long-head", "head_too_large", ""),
        ("flood", "malformed", ""),
        ("half", "early_close", ""),
        ("mute", "timeout", " --timeout 300ms"),
        ("stall", "timeout", " --timeout 300ms -m POST -b @body"),
    ] {
        let home = Home::new();
        home.write("body", &"x".repeat(1000));
        let server = Foreign::start(|port| {
            let mut command = Command::new("python3");
            command.args([script, &port.to_string(), fault]);
            command
        });
        let words = format!("-c 2 --streams 4 -n 64{more}");
        let code = if outcome == "ok" { 0 } else { 3 };
        let record = record(&home, &server.url(), &words, code);
        let outcomes = record["outcomes"].as_object().unwrap();
        assert!(outcomes.contains_key(outcome), "{fault}: {outcomes:?}");
        let others = ["idle_close", "rest_close", "unfinished"];
        let is_known = |name: &String| name == outcome || others.contains(&name.as_str());
        assert!(outcomes.keys().all(is_known), "{fault}: {outcomes:?}");
        let failed = usize::from(outcome != "ok");
        assert_eq!(
            findings(&record, "failed_requests").len(),
            failed,
            "{fault}"
        );
    }
}

#[test]
fn a_server_without_http2_is_reported_before_the_load() {
    // Method: an nginx with HTTP/1 only; one with HTTP/2 only, which gets a request in HTTP/1.1;
    // one whose ALPN does not offer HTTP/2; and flags that contradict each other.
    let [home, http1_home, tls_home] = [(); 3].map(|()| Home::new());
    let http1 = nginx(&http1_home, "");
    home.run_abx(&["run", &http1.url(), "--http2", "-n", "9"])
        .expect(2, &["HTTP/1, not HTTP/2"]);
    let http2 = nginx(&home, "http2");
    home.run_abx(&["run", &http2.url(), "-n", "9"])
        .expect(2, &["HTTP/2, not HTTP/1.1"]);
    let tls = nginx(&tls_home, "ssl");
    let url = tls.url().replace("http", "https");
    home.run_abx(&["run", &url, "--http2", "--insecure", "-n", "9"])
        .expect(2, &["TLS handshake failed", "without --http2"]);
    let url = http2.url();
    home.run_abx(&["run", &url, "--http2", "--pipeline", "4"])
        .expect(2, &["--pipeline"]);
    let [a, b] = ["a", "b"].map(|name| format!("{name}={url}"));
    home.run_abx(&["compare", &a, &b, "--http2-for", "c"])
        .expect(2, &["no subject is named `c`"]);
    home.run_abx(&["run", &url, "--streams", "4"])
        .expect(2, &["--http2"]);
    home.run_abx(&["run", &url, "--http2", "-H", "Connection: close"])
        .expect(2, &["no meaning in HTTP/2"]);
}

#[test]
fn the_protocol_is_a_factor_of_a_study() {
    // Method: two equal nginx with TLS, which offer HTTP/1.1 and HTTP/2 on one port. The second one
    // is always loaded in HTTP/2.
    let home = Home::new();
    certify(&home);
    home.write("n.conf.in", &configuration(&home, "ssl http2"));
    let subject = |name: &str, keys: &str| {
        format!(
            "[[subject]]\nname = \"{name}\"\ntls = \"server.test\"\n\
             templates = {{ \"n.conf\" = \"n.conf.in\" }}\n\
             command = [\"nginx\", \"-e\", \"stderr\", \"-p\", \"{{dir}}\", \"-c\", \"{{dir}}/n.conf\"]\n{keys}\n"
        )
    };
    let load = |name: &str, keys: &str| {
        format!(
            "[[load]]\nname = \"{name}\"\nconnections = 4\nrequests = [{{ path = \"/\" }}]\n\
             tls = {{ ca = \"cert.pem\" }}\n{keys}\n"
        )
    };
    let file = [
        subject("one", ""),
        subject("two", "http2 = true"),
        load("h1", "pipeline = 8"),
        load("h2", "protocol = \"http/2\"\nstreams = 8"),
    ];
    let file = home.write("study.toml", &file.concat());
    let ended = home.run_abx(&[
        "compare", &file, "--blocks", "2", "--rounds", "4", "--slice", "20ms", "--pilot", "brief",
        "--json", "-",
    ]);
    let record = ended.json();
    ended.expect_measured(&record);
    let h2 = json!("h2");
    for (index, one) in [&Value::Null, &h2].into_iter().enumerate() {
        let responses = &record["loads"][index]["answers"];
        let protocol = |name: &str| &responses[name][0]["tls"]["protocol"];
        assert_eq!((protocol("one"), protocol("two")), (one, &h2));
    }
    assert_eq!(record["subjects"][1]["http2"], true);
    let settings = &record["loads"][1]["settings"];
    assert_eq!(
        (&settings["protocol"], &settings["pipeline"]),
        (&json!("http/2"), &json!(8))
    );
}
