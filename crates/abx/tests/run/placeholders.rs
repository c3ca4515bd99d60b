//! `{seq}`, `{rand:...}`, `{uuid}` and `{line:...}` in the requests that arrive at a server.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::protocols::http2::Foreign;
use crate::run::requests::{Listener, ReceivedRequest};
use crate::support::{Home, Server, only_slice};

/// Requests before the load.
const BEFORE: usize = 3;

/// Runs with all requests ok, and returns the requests that arrived, in order.
fn received(home: &Home, server: &Listener, words: &[&str]) -> Vec<ReceivedRequest> {
    let fixed = ["run", &server.url, "--quiet", "--json", "-"];
    let record = home.run_abx(&[&fixed[..], words].concat());
    let record = record.expect(0, &[]).json();
    let requests = only_slice(&record);
    assert_eq!(requests["ok"], requests["sent"], "{words:?} {requests}");
    server.take()
}

#[test]
fn every_number_is_requested_once_by_any_worker() {
    // Method: two workers with pipelining. Path, header and body have the same number, each request
    // has its own UUID, and every random number of the range occurs.
    let home = Home::new();
    let server = Listener::start();
    let words = "-c 4 -t 2 --pipeline 3 -n 400 --seed 7 --path /items/{seq} -X PUT";
    let mut words: Vec<&str> = words.split(' ').collect();
    words.extend(["-H", "X-User: u{seq}-{rand:5..7}"]);
    words.extend(["-b", "{\"n\":{seq},\"id\":\"{uuid}\",\"as\":\"{{seq}}\"}"]);
    let requests = received(&home, &server, &words);
    let (mut numbers, mut ids, mut drawn) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for request in &requests {
        let number = request.path.strip_prefix("/items/").unwrap();
        let (user, random) = request.user.split_once('-').unwrap();
        assert_eq!(user, format!("u{number}"));
        drawn.insert(random.to_owned());
        let body: Value = serde_json::from_str(&request.body).unwrap();
        assert_eq!(body["n"], json!(number.parse::<u64>().unwrap()));
        assert_eq!(body["as"], "{seq}");
        assert!(ids.insert(body["id"].as_str().unwrap().to_owned()));
        numbers.push(number.parse::<usize>().unwrap());
    }
    numbers.sort_unstable();
    let expected: Vec<usize> = (0..400 + BEFORE).collect();
    assert_eq!(numbers, expected);
    assert_eq!(drawn, ["5", "6", "7"].map(str::to_owned).into());
}

/// Serves HTTP/2 with nghttp2's library, accepts few streams and few bytes at a time, and logs the
/// requests.
const NODE: &str = r#"
const http2 = require('http2'), fs = require('fs');
const server = http2.createServer({ settings: { maxConcurrentStreams: 3, initialWindowSize: 20000 } });
server.on('stream', (stream, headers) => {
  const parts = [];
  stream.on('error', () => {});
  stream.on('data', part => parts.push(part));
  stream.on('end', () => {
    const body = Buffer.concat(parts).toString().split(',');
    const fields = [headers[':path'], headers['x-user'], +headers['content-length'], body[0], body[1].length, body[2]];
    fs.appendFileSync(process.argv[2], JSON.stringify(fields) + '\n');
    stream.respond({ ':status': 200 });
    stream.end('hello');
  });
});
server.listen(+process.argv[1], '127.0.0.1');
"#;

#[test]
fn http2_streams_carry_placeholders() {
    // Method: more streams than the server accepts at once, bodies larger than its window, and two
    // workers. Each number arrives once, in path and body, with the correct length.
    let home = Home::new();
    let log = home.join("log");
    let server = Foreign::start(|port| {
        let mut command = Command::new("node");
        command.args(["-e", NODE, &port.to_string()]).arg(&log);
        command
    });
    home.write("words", "one\n two \n");
    let middle = "x".repeat(30_000);
    fs::write(
        home.join("body"),
        format!("{{seq}},{middle},{{line:words}}"),
    )
    .unwrap();
    let words = "--http2 --streams 8 -c 2 -t 2 -n 200 -X PUT --path /{seq} --template -b @body";
    let url = server.url();
    let mut arguments = vec!["run", url.as_str(), "--quiet", "--json", "-"];
    arguments.extend(words.split(' '));
    arguments.extend(["-H", "X-User: {line:words}"]);
    let record = home.run_abx(&arguments).expect(0, &[]).json();
    assert_eq!(record["ok"], 200);
    let text = fs::read_to_string(&log).unwrap();
    let mut numbers = Vec::new();
    for line in text.lines() {
        let fields: Value = serde_json::from_str(line).unwrap();
        let number = fields[3].as_str().unwrap();
        let line = fields[5].as_str().unwrap();
        assert_eq!(fields[0], format!("/{number}"));
        assert_eq!(fields[1], line.trim());
        assert_eq!(fields[2], number.len() + 30_002 + line.len());
        assert_eq!(fields[4], 30_000);
        numbers.push(number.parse::<usize>().unwrap());
    }
    numbers.sort_unstable();
    let expected: Vec<usize> = (0..200 + BEFORE).collect();
    assert_eq!(numbers, expected);
}

#[test]
fn lines_are_requested_in_order() {
    // Method: one connection, and a file with an empty line and one that a path must encode, in
    // path and header; then a file of requests that takes its lines from another file.
    let home = Home::new();
    home.write("words", "one\n\ntwo words\nthree\n");
    home.write(
        "all.jsonl",
        "{\"path\": \"/\", \"method\": \"PUT\", \"body\": \"{line:words}\"}\n",
    );
    let server = Listener::start();
    let words = ["-c", "1", "-t", "1", "-n", "5"];
    let by_flags = ["--path", "/?q={line:words}", "-H", "X-User: {line:words}"];
    let by_flags = received(&home, &server, &[&words[..], &by_flags].concat());
    let paths: Vec<&str> = (by_flags[BEFORE..].iter())
        .map(|request| request.path.as_str())
        .collect();
    let [one, two, three] = ["/?q=one", "/?q=two%20words", "/?q=three"];
    assert_eq!(paths, [one, two, three, one, two]);
    assert_eq!(by_flags[BEFORE + 1].user, "two words");
    let by_file = [&words[..], &["--request-file", "all.jsonl"]].concat();
    let by_file = received(&home, &server, &by_file);
    let bodies: Vec<&str> = (by_file[BEFORE..].iter())
        .map(|request| request.body.as_str())
        .collect();
    assert_eq!(bodies, ["one", "two words", "three", "one", "two words"]);
}

#[test]
fn a_body_that_the_kernel_takes_in_parts_arrives_whole() {
    // Method: three megabytes between two numbers, with and without keep-alive.
    let home = Home::new();
    let middle = "x".repeat(3_000_000);
    fs::write(home.join("large"), format!("{{seq}},{middle},{{seq}}")).unwrap();
    let server = Listener::start();
    for flags in [&[][..], &["--no-keepalive"]] {
        let words = [
            "-c",
            "2",
            "-n",
            "8",
            "-X",
            "PUT",
            "--template",
            "-b",
            "@large",
        ];
        let requests = received(&home, &server, &[&words[..], flags].concat());
        assert_eq!(requests.len(), 8 + BEFORE);
        for request in requests {
            let parts: Vec<&str> = request.body.split(',').collect();
            let [first, between, last] = parts[..] else {
                panic!("{} parts", parts.len());
            };
            assert!(first == last && first.parse::<u32>().is_ok() && between == middle);
        }
    }
}

#[test]
fn a_study_sends_placeholders_and_compares_responses_that_agree() {
    // Method: a study file with the same server twice and a list. If pages do not depend on the
    // query, abx compares bodies. If the server responds with the path, it compares statuses only.
    let home = Home::new();
    home.write("words", "a\nb\n");
    let page = Server::start(&[]);
    let page = format!("http://127.0.0.1:{}", page.port());
    let echo = Listener::start();
    for (url, is_compared) in [
        (page.as_str(), true),
        (echo.url.trim_end_matches('/'), false),
    ] {
        home.write(
            "s.toml",
            &format!(
                "[[subject]]\nname = \"a\"\naddress = \"{url}\"\n\
                 [[subject]]\nname = \"b\"\naddress = \"{url}\"\n\
                 [[load]]\nname = \"l\"\nconnections = 2\n\
                 requests = [{{ path = \"/?q={{line:words}}{{rand:1..99}}\" }}]\n"
            ),
        );
        let words =
            "compare s.toml --pilot brief --slice 20ms --blocks 1 --rounds 2 --quiet --json -";
        let words: Vec<&str> = words.split(' ').collect();
        let ended = home.run_abx(&words);
        let record = ended.json();
        ended.expect_measured(&record);
        let settings = &record["loads"][0]["settings"];
        assert_eq!(settings["bodies_compared"], is_compared, "{url}");
        let path = "/?q={line:words}{rand:1..99}";
        assert_eq!(settings["requests"][0]["path"], path);
    }
    let queries: BTreeSet<String> = echo
        .take()
        .into_iter()
        .map(|request| request.path)
        .collect();
    assert!(queries.len() > 20, "{queries:?}");
    let is_valid = |path: &String| {
        let rest = path
            .strip_prefix("/?q=")
            .and_then(|rest| rest.strip_prefix(['a', 'b']));
        let number = rest.and_then(|rest| rest.parse::<u32>().ok());
        number.is_some_and(|number| (1..100).contains(&number))
    };
    assert!(queries.iter().all(is_valid), "{queries:?}");
}

#[test]
fn invalid_placeholders_are_refused_and_curl_commands_have_none() {
    // Method: one wrong command line for each message, then braces after `curl`.
    let home = Home::new();
    home.write("none", "\n");
    let server = Listener::start();
    for (words, part) in [
        (
            &["--path", "/{rand:9..1}"][..],
            "`{rand:9..1}` is not a range",
        ),
        (&["-b", "{line:gone}"], "cannot read gone"),
        (&["-b", "{line:none}"], "none has no values"),
    ] {
        let words = [&["run", &server.url, "-n", "9"][..], words].concat();
        home.run_abx(&words).expect(2, &[part]);
    }
    let a = format!("a={}{{seq}}", server.url);
    let b = format!("b={}", server.url);
    home.run_abx(&["compare", &a, &b])
        .expect(2, &["the URL of a has a placeholder", "--path"]);
    assert!(server.take().is_empty());
    let words = ["run", "-n", "4", "curl", &server.url, "-d", "{seq} {n}"];
    home.run_abx(&words).expect(0, &[]);
    let requests = server.take();
    assert!(requests.iter().all(|request| request.body == "{seq} {n}"));
}
