//! Encrypted connections to servers that are not ours, which log their responses.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};

use abx_sys::process::Signal;
use serde_json::Value;

use crate::support::{Home, Server, response, send, wait_for};

/// Makes a certificate for `server.test` and 127.0.0.1, and its key.
pub fn certify(home: &Home) {
    let output = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
        ])
        .args([
            "-days",
            "2",
            "-subj",
            "/CN=server.test",
            "-keyout",
            "key.pem",
            "-out",
            "cert.pem",
        ])
        .args(["-addext", "subjectAltName=DNS:server.test,IP:127.0.0.1"])
        .current_dir(home.path())
        .output()
        .expect("openssl is there: run scripts/install-test-servers");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
}

/// The usual log of each response: its protocol, whether its session was resumed, and its number on
/// the connection.
const USUAL_LOG: &str = "$ssl_protocol $ssl_session_reused $connection_requests";

/// The configuration of an nginx that uses TLS at `PORT`, and logs a line for each response.
fn configuration(home: &Home, versions: &str, locations: &str, log: &str) -> String {
    let folder = home.path().display();
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {folder}/{name};"))
        .join(" ");
    format!(
        "daemon off; pid {folder}/pid; events {{}} http {{ {paths} \
         log_format all '{log}'; \
         access_log {folder}/log all; keepalive_requests 100000; server {{ \
         listen 127.0.0.1:PORT ssl; ssl_protocols {versions}; ssl_session_cache shared:s:1m; \
         ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem; {locations} }} }}"
    )
}

/// A running nginx, which is ended when it is dropped.
pub struct Nginx {
    child: Child,
    pub port: u16,
}

impl Nginx {
    fn start(home: &Home, versions: &str, locations: &str) -> Nginx {
        Nginx::logging(home, versions, locations, USUAL_LOG)
    }

    /// Starts one that logs these variables.
    pub fn logging(home: &Home, versions: &str, locations: &str, log: &str) -> Nginx {
        certify(home);
        let text = configuration(home, versions, locations, log);
        // Another process may take the port first.
        for _ in 0..5 {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = free.local_addr().unwrap().port();
            drop(free);
            let file = home.write("nginx.conf", &text.replace("PORT", &port.to_string()));
            let folder = home.path().display().to_string();
            let mut command = Command::new("nginx");
            command.args(["-e", "stderr", "-p", &folder, "-c", &file]);
            let mut child = command.spawn().unwrap();
            let listens = wait_for("nginx", || match child.try_wait().unwrap() {
                Some(_) => Some(false),
                None => TcpStream::connect(("127.0.0.1", port))
                    .is_ok()
                    .then_some(true),
            });
            if listens {
                return Nginx { child, port };
            }
        }
        panic!("nginx finds no port");
    }

    /// Ends it and returns its log, which is complete then.
    pub fn log(mut self, home: &Home) -> Vec<String> {
        self.end();
        let log = fs::read_to_string(home.join("log")).unwrap();
        log.lines().map(str::to_owned).collect()
    }

    fn end(&mut self) {
        if self.child.try_wait().unwrap().is_none() {
            send(self.child.id(), Signal::Quit);
            self.child.wait().unwrap();
        }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        self.end();
    }
}

/// A location that responds to every request.
pub const HELLO: &str = "location / { return 200 hello; }";

/// Requests that abx sends before a load, which nginx logs as well.
const PROBES: usize = 3;

#[test]
fn a_run_over_tls_agrees_with_the_servers_log() {
    // Method: an nginx with both versions of TLS, with and without keep-alive and resumption. It
    // logs the version of each request and whether its session was resumed.
    for (flags, version, resumed) in [
        (&["--tls-version", "1.3"][..], "TLSv1.3", "."),
        (&["--tls-version", "1.2"], "TLSv1.2", "."),
        (&["--tls-version", "1.3", "--no-keepalive"], "TLSv1.3", "."),
        (
            &["--tls-version", "1.3", "--no-keepalive", "--tls-resume"],
            "TLSv1.3",
            "r",
        ),
    ] {
        let home = Home::new();
        let nginx = Nginx::start(&home, "TLSv1.2 TLSv1.3", HELLO);
        let url = format!("https://127.0.0.1:{}/", nginx.port);
        let usual = [
            "run", &url, "--ca", "cert.pem", "-c", "4", "-n", "200", "--json", "-",
        ];
        let ended = home.run_abx(&[&usual[..], flags].concat());
        let record = ended.json();
        ended.expect(0, &[]);
        assert_eq!(record["outcomes"], serde_json::json!({ "ok": 200 }));
        assert_eq!(response(&record)["tls"]["version"], version);
        assert_eq!(record["loads"][0]["settings"]["tls"]["trust"], "given");
        let log = nginx.log(&home);
        assert_eq!(log.len(), 200 + PROBES, "{log:?}");
        let last = &log[PROBES + 100..];
        let expected = format!("{version} {resumed} ");
        assert!(
            last.iter().all(|line| line.starts_with(&expected)),
            "{last:?}"
        );
    }
}

#[test]
fn an_untrusted_certificate_is_reported_with_a_remedy() {
    // Method: a certificate without a known authority, with and without --insecure; one for another
    // name; https:// to a server without TLS, and --insecure without TLS.
    let home = Home::new();
    let nginx = Nginx::start(&home, "TLSv1.3", HELLO);
    let url = format!("https://127.0.0.1:{}/", nginx.port);
    home.run_abx(&["run", &url, "-n", "10"])
        .expect(2, &["TLS handshake failed", "--ca FILE", "--insecure"]);
    home.run_abx(&["run", &url, "-n", "10", "--insecure"])
        .expect(0, &[]);
    let local = format!("https://localhost:{}/", nginx.port);
    home.run_abx(&["run", &local, "-n", "10", "--ca", "cert.pem"])
        .expect(2, &["TLS handshake failed", "not valid for", "localhost"]);
    let plain = Server::start(&[]);
    let wrong = plain.url.replace("http://", "https://");
    home.run_abx(&["run", &wrong, "-n", "10"])
        .expect(2, &["TLS handshake failed", "http://"]);
    home.run_abx(&["run", &plain.url, "-n", "10", "--insecure"])
        .expect(2, &["--insecure is for https://"]);
    home.run_abx(&["run", &url, "-n", "10", "--ca", "nginx.conf"])
        .expect(2, &["nginx.conf", "certificate"]);
}

#[test]
fn websockets_are_encrypted_too() {
    // Method: nginx terminates TLS in front of our own echo server.
    let home = Home::new();
    let echo = Server::start(&["--websocket"]);
    let to = echo.url.trim_end_matches('/');
    let location = format!(
        "location / {{ proxy_pass {to}; proxy_http_version 1.1; proxy_buffering off; \
         proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; }}"
    );
    let nginx = Nginx::start(&home, "TLSv1.3", &location);
    let url = format!("wss://127.0.0.1:{}/echo", nginx.port);
    let words = [
        "run",
        &url,
        "--ca",
        "cert.pem",
        "-c",
        "3",
        "-n",
        "90",
        "--message-bytes",
        "5000",
    ];
    let ended = home.run_abx(&[&words[..], &["--json", "-"]].concat());
    let record = ended.json();
    ended.expect(0, &[]);
    assert_eq!(record["outcomes"], serde_json::json!({ "ok": 90 }));
}

#[test]
fn tls_is_a_factor_of_a_study() {
    // Method: one nginx with and without TLS, started by a study file.
    let home = Home::new();
    certify(&home);
    let both = |listen: &str| {
        configuration(&home, "TLSv1.3", HELLO, USUAL_LOG)
            .replace("PORT ssl", &format!("{{port}}{listen}"))
            .replace(&format!("{}/pid", home.path().display()), "{dir}/pid")
    };
    home.write("tls.conf.in", &both(" ssl"));
    home.write("plain.conf.in", &both(""));
    let subject = |name: &str, more: &str| {
        format!(
            "[[subject]]\nname = \"{name}\"\ntemplates = {{ \"n.conf\" = \"{name}.conf.in\" }}\n\
             command = [\"nginx\", \"-e\", \"stderr\", \"-p\", \"{{dir}}\", \"-c\", \"{{dir}}/n.conf\"]\n{more}\n"
        )
    };
    let file = [
        subject("plain", ""),
        subject("tls", "tls = \"server.test\""),
        "[[load]]\nname = \"hello\"\nconnections = 4\nrequests = [{ path = \"/\" }]\n\
         tls = { ca = \"cert.pem\", version = \"1.3\" }\n"
            .to_owned(),
    ];
    let file = home.write("study.toml", &file.concat());
    let ended = home.run_abx(&[
        "compare", &file, "--blocks", "2", "--rounds", "4", "--slice", "20ms", "--pilot", "brief",
        "--json", "-",
    ]);
    let record = ended.json();
    ended.expect_measured(&record);
    let load = &record["loads"][0];
    assert_eq!(load["answers"]["tls"][0]["tls"]["version"], "TLSv1.3");
    assert_eq!(load["answers"]["plain"][0]["tls"], Value::Null);
    assert_eq!(load["settings"]["tls"]["version"], "1.3");
}
