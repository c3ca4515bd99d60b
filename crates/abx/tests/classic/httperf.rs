//! `abx httperf` compared with the system's httperf, over the same servers.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use abx_sys::process::Signal;

use crate::classic::ab::assert_read_by_wrappers;
use crate::support::{ABX, Ended, Home, Server};

/// Prefixes of lines that contain no time and must be identical.
const EXACT: [&str; 12] = [
    "httperf --",
    "Connection length",
    "Request size",
    "Reply size",
    "Reply status",
    "Errors",
    "Session: ",
    "Session length",
    "SH",
    "SS",
    "SB",
    "RS",
];

/// A line with N in place of each number, unless it must be identical. The report's first line
/// keeps all counts and loses the time.
fn masked(line: &str) -> String {
    if let Some((counts, _)) = line.split_once(" test-duration ") {
        return counts.to_owned();
    }
    if let Some((rates, counts)) = line
        .strip_prefix("Session rate")
        .and_then(|rest| rest.split_once('('))
    {
        let rates: String = rates
            .chars()
            .filter(|char| !char.is_ascii_digit())
            .collect();
        return format!("Session rate{rates}({counts}");
    }
    let is_print = line.starts_with("RH") || line.starts_with("RB");
    if is_print || EXACT.iter().any(|start| line.starts_with(start)) {
        return line.to_owned();
    }
    let mut masked = String::new();
    for char in line.chars() {
        match char {
            '0'..='9' if masked.ends_with('N') => {}
            '0'..='9' => masked.push('N'),
            '.' if masked.ends_with('N') => {}
            other => masked.push(other),
        }
    }
    masked
}

pub(super) fn shape(report: &str) -> Vec<String> {
    report.lines().map(masked).collect()
}

/// Runs the system's httperf and abx with the same arguments.
pub(super) fn both(home: &Home, words: &[&str]) -> (Ended, Ended) {
    let system = Command::new("httperf")
        .args(words)
        .stdin(Stdio::null())
        .output()
        .expect("httperf is missing: run scripts/install-test-servers");
    let system = Ended {
        status: system.status,
        stdout: String::from_utf8_lossy(&system.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&system.stderr).into_owned(),
    };
    let ended = home.run_abx(&[&["httperf"], words].concat());
    (system, ended)
}

#[track_caller]
pub(super) fn assert_alike(home: &Home, words: &[&str]) -> Ended {
    let (system, ended) = both(home, words);
    assert_eq!(shape(&ended.stdout), shape(&system.stdout), "{words:?}");
    assert_eq!(ended.status.code(), system.status.code(), "{words:?}");
    ended
}

/// A server that sends the same response to each request, and closes the connection after the
/// first if so configured.
pub(super) struct Responding {
    pub(super) port: String,
    is_over: Arc<AtomicBool>,
    /// How each connection ended: orderly, or with an error.
    pub(super) ends: Arc<Mutex<Vec<std::io::Result<()>>>>,
    acceptor: Option<JoinHandle<()>>,
}

impl Responding {
    pub(super) fn start(response: &'static str, closes: bool) -> Responding {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let ends = Arc::new(Mutex::new(Vec::new()));
        let results = Arc::clone(&ends);
        let acceptor = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                // One connection at a time, as the loads here open them.
                let end = stream.and_then(|stream| serve(stream, response, closes));
                results.lock().unwrap().push(end);
            }
        });
        Responding {
            port,
            is_over,
            ends,
            acceptor: Some(acceptor),
        }
    }
}

/// Responds until the client leaves.
fn serve(mut stream: TcpStream, response: &str, closes: bool) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut received = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        while let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") {
            received.drain(..end + 4);
            stream.write_all(response.as_bytes())?;
            if closes {
                return stream.shutdown(Shutdown::Both);
            }
        }
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            count => received.extend_from_slice(&buffer[..count]),
        }
    }
}

impl Drop for Responding {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // Only a connection wakes the acceptor.
        let _ = TcpStream::connect(format!("127.0.0.1:{}", self.port));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

#[test]
fn reports_equal_those_of_httperf_line_by_line() {
    // Method: the system's httperf and abx with the same arguments on the same server. Lines differ
    // only in times and rates; counts and bytes are the same.
    let home = Home::new();
    let server = Server::start(&[]);
    let to = ["--server", "127.0.0.1", "--port", server.port()];
    for load in [
        "--num-conns 20",
        "--num-conns=40 --num-calls=3 --rate=400 --hog --timeout=60 -v",
        "--num-conns 5 --num-calls 6 --burst-length 3",
        "--method HEAD --http-version 1.0 --num-conn 3 --num-call 4 --uri /x?y=1",
        "--method POST --add-header X-A:b\\nX-C:d\\n --server-name foo --client 1/3",
        "--num-conns 2 --num-calls 2 --print-request --print-reply",
        "--num-conns 2 --print-request=body --print-reply=header --think-timeout 60",
        "--wset 12,0.5 --num-conns 6 --print-request=header --uri /set",
        "--period e0.002 --num-conns 10",
        "--period u0.001,0.002 --num-conns 10",
        "--period 0.002 --num-conns 10 --send-buffer=4096 --recv-buffer=16384",
    ] {
        let words: Vec<&str> = to.into_iter().chain(load.split(' ')).collect();
        assert_alike(&home, &words).expect(0, &[]);
    }
    home.write("log", "/a\0/b\0/c\0");
    let log = format!("--wlog=y,{}", home.join("log").display());
    let words = [
        &to[..],
        &[log.as_str(), "--num-conns=4", "--print-request=header"],
    ]
    .concat();
    assert_alike(&home, &words).expect(0, &[]);
}

#[test]
fn failures_are_counted_as_in_httperf() {
    // Method: servers that close after a response, in the middle of one or before it, that send
    // chunks and errors, and that never respond; and a port without a server.
    let home = Home::new();
    let alike_at = |host: &str, port: &str, load: &str| {
        let to = ["--server", host, "--port", port];
        let words: Vec<&str> = to.into_iter().chain(load.split(' ')).collect();
        assert_alike(&home, &words)
    };
    let alike = |port: &str, load: &str| alike_at("127.0.0.1", port, load);
    for (response, closes) in [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
            true,
        ),
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end", true),
        ("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhello", true),
        ("", true),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n \
             world\r\n0\r\n\r\n",
            false,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T: \
             abc\r\n\r\n",
            false,
        ),
        (
            "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
            false,
        ),
        ("HTTP/1.1 304 Not Modified\r\n\r\n", false),
    ] {
        let server = Responding::start(response, closes);
        alike(&server.port, "--num-conns 4 --num-calls 3");
        alike(&server.port, "--num-conns 4 --num-calls 1");
    }
    let server = Responding::start("HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\nno", true);
    let ended = alike(&server.port, "--num-conns 3");
    ended.expect(0, &["cut off: 3", "among the replies: 3 of 3"]);
    drop(server);

    // The kernel takes connections that no process accepts.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let ended = alike(&port, "--num-conns 3 --rate 50 --timeout 1 --num-calls 2");
    ended.expect(0, &["timed out: 3", "abx run http://127.0.0.1:"]);
    // No process listens there.
    alike_at("127.0.0.77", "1", "--num-conns 5 --rate 500").expect(0, &[]);
}

#[test]
fn scripts_can_read_the_report() {
    // Method: the expressions and word positions of scripts that wrap httperf, over both reports of
    // connections and of sessions.
    let home = Home::new();
    let server = Server::start(&[]);
    let to = ["--server=127.0.0.1", "--port", server.port()];
    for load in ["--num-conns=9 --num-calls=2", "--wsess=3,2,0.01"] {
        let words: Vec<&str> = to.into_iter().chain(load.split(' ')).collect();
        let (system, ended) = both(&home, &words);
        home.write("system.txt", &system.stdout);
        home.write("own.txt", &ended.stdout);
        assert_read_by_wrappers(&home, "httperf", &["system.txt", "own.txt"]);
    }
}

#[test]
fn the_suggested_command_makes_the_same_load() {
    // Method: a load with everything that the suggested command may have, too short for a sample of
    // the reply rate, which is noted; then the command of the last line, as a shell would run it.
    let home = Home::new();
    let server = Server::start(&[]);
    let first = home.run_abx(&[
        "httperf",
        "--server=127.0.0.1",
        "--port",
        server.port(),
        "--uri=/x?y='z'",
        "--num-conns=10",
        "--num-calls=2",
        "--rate=100",
        "--method=HEAD",
        "--http-version=1.0",
        "--add-header=X-A: it's\\n",
        "--server-name=x.org",
    ]);
    first.expect(0, &["no sample"]);
    let last = first.stderr.lines().last().unwrap();
    let command = last.split_once("findings: abx ").unwrap().1;
    let words = shell_words::split(command).unwrap();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ended = home.run_abx(&[&words[..], &["--json", "-"]].concat());
    let outcomes = &ended.json()["outcomes"];
    assert_eq!(outcomes["ok"], 20, "{ended:#?}");
}

#[test]
fn abx_audit_reads_the_report() {
    // Method: `abx audit` of the output of `abx httperf`; it reads every line.
    let home = Home::new();
    let server = Server::start(&[]);
    let ended = home.run_abx(&[
        "httperf",
        "--server=127.0.0.1",
        "--port",
        server.port(),
        "--num-conns=30",
        "--num-calls=2",
    ]);
    ended.expect(0, &[]);
    home.write("own.txt", &ended.stdout);
    let audit = home.run_abx(&["audit", "own.txt", "--json", "-"]).json();
    assert_eq!(audit["files"][0]["reports"], 1, "{audit:#}");
    assert_eq!(audit["files"][0]["unread"], serde_json::json!([]));
    let report = &audit["reports"][0];
    assert_eq!(report["tool"], "httperf", "{report:#}");
    assert_eq!(report["figures"]["status2xx"]["printed"], "60");
}

#[test]
fn a_link_named_httperf_runs_httperf() {
    // Method: a symbolic link to abx, with a load, with options of httperf, and with a command of
    // abx.
    let home = Home::new();
    let server = Server::start(&[]);
    symlink(ABX, home.join("httperf")).unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(home.join("httperf"));
        command.args(words);
        home.settle(&mut command);
        home.run(&mut command)
    };
    let load = ["--server", "127.0.0.1", "--port", server.port(), "--hog"];
    let ended = run(&load);
    ended.expect(0, &[]);
    assert!(ended.stdout.starts_with("httperf --hog --client=0/1"));
    assert!(ended.stdout.contains("2xx=1 "), "{ended:#?}");
    assert!(run(&["--version"]).stdout.contains("httperf-0.9.0"));
    assert!(run(&["-h"]).stdout.starts_with("Usage: httperf"));
    run(&["compare"]).expect(1, &["httperf: `compare` is not an option"]);
}

#[test]
fn unsupported_options_are_refused_in_one_line() {
    // Method: options that abx does not support, invalid options and values, and servers and files
    // that do not exist. The exit code is that of httperf for wrong options.
    let home = Home::new();
    home.write("wrong", "/a foo=1\n");
    for (words, message) in [
        (
            &["--ssl-ciphers=ECDHE-RSA-AES128-GCM-SHA256:x"][..],
            "httperf: abx does not support these --ssl-ciphers: `x` is not one of ECDHE-",
        ),
        (
            &["--ssl-verify", "--ssl", "--ssl-ca-file=gone"],
            "httperf: gone: ",
        ),
        (&["--servers=f"], "httperf: abx does not support --servers"),
        (&["--nonsense"], "httperf: unrecognized option '--nonsense'"),
        (&["--num-conns=x"], "httperf: illegal number of connections"),
        (&["--session-cookies"], "httperf: --session-cookie requires"),
        (&["--wsess=1,2"], "httperf: bad user think time (3rd param)"),
        (&["\u{2013}rate=10"], "begins with a dash"),
    ] {
        let ended = home.run_abx(&[&["httperf"], words].concat());
        ended.expect(1, &[message]);
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
        assert_eq!(ended.stdout, "");
    }
    for (words, message) in [
        (&["--server=nowhere.invalid"][..], "invalid server address"),
        (&["--wlog=y,no-file"], "can't open no-file"),
        (&["--wsesslog=1,0,no-file"], "can't open no-file"),
        (&["--wsesslog=1,0,wrong"], "recognize arg 'foo=1' in wrong"),
    ] {
        let ended = home.run_abx(&[&["httperf"], words].concat());
        ended.expect(1, &[message]);
        assert!(ended.stdout.starts_with("httperf --client=0/1"));
    }
}

#[test]
fn tls_works_and_every_certificate_is_trusted() {
    // Method: a server with a self-signed certificate; six calls over two handshakes.
    let home = Home::new();
    let server = Server::start(&["--tls-self-signed"]);
    let ended = home.run_abx(&[
        "httperf",
        "--ssl",
        "--ssl-no-reuse",
        "--server=127.0.0.1",
        "--port",
        server.port(),
        "--num-conns=2",
        "--num-calls=3",
    ]);
    ended.expect(0, &["https://127.0.0.1:", "--insecure"]);
    let counts = "Total: connections 2 requests 6 replies 6 ";
    assert!(ended.stdout.contains(counts), "{ended:#?}");
    assert!(ended.stdout.contains("2xx=6 "), "{ended:#?}");
}

#[test]
fn ctrl_c_ends_with_the_report() {
    // Method: a load that would take days, stopped once it has begun.
    let home = Home::new();
    let server = Server::start(&[]);
    let mut running = home.start(&mut home.abx(&[
        "httperf",
        "--server=127.0.0.1",
        "--port",
        server.port(),
        "--rate=1",
        "--num-conns=1000000",
        "-v",
    ]));
    running.until("its first line", |home| {
        let message = std::fs::read_to_string(home.join("stdout")).ok()?;
        message.contains("open descriptors").then_some(())
    });
    running.signal(Signal::Int);
    let ended = running.wait();
    ended.expect(0, &[]);
    assert!(ended.stdout.contains("Total: connections "), "{ended:#?}");
}
