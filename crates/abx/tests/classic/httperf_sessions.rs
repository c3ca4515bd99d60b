//! Sessions of `abx httperf` compared with those of the system's httperf, over the same servers.

use crate::classic::httperf::{Responding, assert_alike, both, shape};
use crate::support::{Ended, Home, Server};

/// Runs both with the same arguments at a port of this machine, and asserts that lines and counts
/// are alike.
#[track_caller]
fn alike_at(home: &Home, port: &str, load: &str) -> Ended {
    let to = ["--server", "127.0.0.1", "--port", port];
    let words: Vec<&str> = to.into_iter().chain(load.split(' ')).collect();
    assert_alike(home, &words)
}

#[test]
fn reports_of_sessions_equal_those_of_httperf_line_by_line() {
    // Method: the system's httperf and abx with the same arguments on the same server: sessions in
    // turn and at a rate, bursts over one connection and over several, connections of HTTP/1.0, a
    // status that fails sessions, working sets, and sessions from a file.
    let home = Home::new();
    let server = Server::start(&[]);
    home.write(
        "sessions",
        "# two\n/a think=0.02\n  /b\n\t/c\n/d\n\n/e think=0.01\n/f\n",
    );
    let log = format!("--wsesslog=3,0.01,{}", home.join("sessions").display());
    let printed = format!("{log} --print-request --add-header=X:y\\n");
    for load in [
        "--wsess=3,4,0.02",
        "--wsess=4,7,0.02 --burst-length=3 --rate=40 -v",
        "--wsess=2,8,0.02 --burst-length 4 --max-piped-calls=1 --max-connections=4",
        "--wsess=2,7,0.02 --burst-length 7 --max-piped-calls=2",
        "--wsess=2,6,0.02 --burst-length=3 --http-version=1.0",
        "--wsess=3,2,0.02 --failure-status=200 --hog",
        "--wsess=2,3,0.02 --failure-status=404 --retry-on-failure --method=HEAD",
        "--wsess=2,3,0 --wset=10,1 --print-request=header --print-reply=header",
        "--wsess=5,2,0.05 --period=e0.02 --timeout=60 --session-cookies",
        printed.as_str(),
    ] {
        alike_at(&home, server.port(), load).expect(0, &[]);
    }
}

#[test]
fn requests_of_sessions_equal_those_of_httperf() {
    // Method: contents in each form, and a server that sets a cookie; both tools print what they
    // send.
    let home = Home::new();
    let server = Responding::start(
        "HTTP/1.1 200 OK\r\nSet-Cookie: id=7; path=/\r\nContent-Length: 2\r\n\r\nok",
        false,
    );
    home.write(
        "sessions",
        "/a method=POST contents='one two'\n/b method=PUT contents=\"a\\nb\"\n  /c\n\n/d \
         contents=x\n/e\n",
    );
    let log = format!("--wsesslog=3,0.01,{}", home.join("sessions").display());
    for more in [
        &["--print-request"][..],
        &["--print-request=header", "--session-cookies"],
    ] {
        let to = [
            "--server",
            "127.0.0.1",
            "--port",
            &server.port,
            log.as_str(),
        ];
        let (system, ended) = both(&home, &[&to[..], more].concat());
        assert_eq!(without_request_size(&ended), without_request_size(&system));
        assert!(ended.stdout.contains(":Content-length: 7\n"), "{ended:#?}");
        let has_body = more.len() == 1;
        assert_eq!(ended.stdout.contains("\nSB1:a\n"), has_body, "{ended:#?}");
        assert_eq!(
            ended.stdout.contains(":Cookie: id=7\n"),
            !has_body,
            "{ended:#?}"
        );
    }
}

/// The lines of a report without the size of requests, in which httperf leaves out some contents
/// and counts repeated requests twice.
fn without_request_size(ended: &Ended) -> Vec<String> {
    let lines = shape(&ended.stdout).into_iter();
    lines
        .filter(|line| !line.starts_with("Request size"))
        .collect()
}

#[test]
fn sessions_fail_as_in_httperf() {
    // Method: servers that close after a response and before one, that respond with a status that
    // fails sessions, and that never respond; and a port without a server.
    let home = Home::new();
    let page = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let server = Responding::start(page, true);
    let words = [
        "--server",
        "127.0.0.1",
        "--port",
        &server.port,
        "--wsess=2,3,0.05",
    ];
    let (system, ended) = both(&home, &words);
    assert_eq!(without_request_size(&ended), without_request_size(&system));
    assert!(
        ended.stdout.contains("requests 10 replies 6 "),
        "{ended:#?}"
    );
    let server = Responding::start("", true);
    let ended = alike_at(&home, &server.port, "--wsess=2,3,0.05");
    ended.expect(0, &["sessions that failed: 2 of 2;"]);
    let server = Responding::start("HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno", false);
    let ended = alike_at(&home, &server.port, "--wsess=2,3,0.01 --failure-status=404");
    ended.expect(0, &["sessions that failed: 2 of 2;"]);
    alike_at(&home, &server.port, "--wsess=2,3,0.01").expect(0, &[]);

    // The kernel takes a connection that no process accepts.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let ended = alike_at(&home, &port, "--wsess=1,2,0.01 --timeout 1");
    ended.expect(0, &["sessions that failed: 1 of 1;"]);
    // No process listens there.
    let load = "--server 127.0.0.77 --port 1 --wsess=3,2,0.1 --rate 100";
    let words: Vec<&str> = load.split(' ').collect();
    assert_alike(&home, &words).expect(0, &[]);
}
