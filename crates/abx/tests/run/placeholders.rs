//! `{seq}`, `{rand:...}`, `{uuid}` and `{line:...}`: the requests that arrive at a server that
//! keeps them.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::protocols::http2::Foreign;
use crate::run::requests::{Listener, ReceivedRequest};
use crate::support::{Home, Server, only_slice};

/// Questions before the load.
const BEFORE: usize = 3;

/// Runs with all requests ok; returns the requests that arrived, in order.
fn asked(home: &Home, server: &Listener, words: &[&str]) -> Vec<ReceivedRequest> {
    let fixed = ["run", &server.url, "--quiet", "--json", "-"];
    let record = home.run_abx(&[&fixed[..], words].concat());
    let record = record.expect(0, &[]).json();
    let requests = only_slice(&record);
    assert_eq!(requests["ok"], requests["sent"], "{words:?} {requests}");
    server.take()
}

#[test]
fn every_number_is_requested_once_by_any_worker() {
    // Method: two workers with pipelining; the same number in path, header and body, another
    // UUID for each, and random numbers of which all come, at the ends too.
    let home = Home::new();
    let server = Listener::start();
    let words = "-c 4 -t 2 --pipeline 3 -n 400 --seed 7 --path /items/{seq} -X PUT";
    let mut words: Vec<&str> = words.split(' ').collect();
    words.extend(["-H", "X-User: u{seq}-{rand:5..7}"]);
    words.extend(["-b", "{\"n\":{seq},\"id\":\"{uuid}\",\"as\":\"{{seq}}\"}"]);
    let asked = asked(&home, &server, &words);
    let (mut numbers, mut ids, mut drawn) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for weighted_request in &asked {
        let number = weighted_request.path.strip_prefix("/items/").unwrap();
        let (user, random) = weighted_request.user.split_once('-').unwrap();
        assert_eq!(user, format!("u{number}"));
        drawn.insert(random.to_owned());
        let body: Value = serde_json::from_str(&weighted_request.body).unwrap();
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

/// Serves HTTP/2 by nghttp2's library, takes few streams and few bytes at a time, and writes down
/// the requests.
const NODE: &str = r#"
const http2 = require('http2'), fs = require('fs');
const server = http2.createServer({ settings: { maxConcurrentStreams: 3, initialWindowSize: 20000 } });
server.on('stream', (stream, headers) => {
  const parts = [];
  stream.on('error', () => {});
  stream.on('data', part => parts.push(part));
  stream.on('end', () => {
    const body = Buffer.concat(parts).toString().split(',');
    const said = [headers[':path'], headers['x-user'], +headers['content-length'], body[0], body[1].length, body[2]];
    fs.appendFileSync(process.argv[2], JSON.stringify(said) + '\n');
    stream.respond({ ':status': 200 });
    stream.end('hello');
  });
});
server.listen(+process.argv[1], '127.0.0.1');
"#;

#[test]
fn http2_streams_carry_placeholders() {
    // Method: more streams than the server takes at once, bodies longer than it has room for, two
    // workers; each number comes once, everywhere the same, with the correct length.
    let home = Home::new();
    let log = home.join("asked");
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
    let mut texts = vec!["run", url.as_str(), "--quiet", "--json", "-"];
    texts.extend(words.split(' '));
    texts.extend(["-H", "X-User: {line:words}"]);
    let record = home.run_abx(&texts).expect(0, &[]).json();
    assert_eq!(record["ok"], 200);
    let text = fs::read_to_string(&log).unwrap();
    let mut numbers = Vec::new();
    for line in text.lines() {
        let figure: Value = serde_json::from_str(line).unwrap();
        let number = figure[3].as_str().unwrap();
        let line = figure[5].as_str().unwrap();
        assert_eq!(figure[0], format!("/{number}"));
        assert_eq!(figure[1], line.trim());
        assert_eq!(figure[2], number.len() + 30_002 + line.len());
        assert_eq!(figure[4], 30_000);
        numbers.push(number.parse::<usize>().unwrap());
    }
    numbers.sort_unstable();
    let expected: Vec<usize> = (0..200 + BEFORE).collect();
    assert_eq!(numbers, expected);
}

#[test]
fn lines_are_requested_in_order() {
    // Method: one connection, a file with an empty line and one that a path cannot have, in
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
    let by_flags = asked(&home, &server, &[&words[..], &by_flags].concat());
    let paths: Vec<&str> = (by_flags[BEFORE..].iter())
        .map(|weighted_request| weighted_request.path.as_str())
        .collect();
    let [text, two, three] = ["/?q=one", "/?q=two%20words", "/?q=three"];
    assert_eq!(paths, [text, two, three, text, two]);
    assert_eq!(by_flags[BEFORE + 1].user, "two words");
    let by_file = [&words[..], &["--request-file", "all.jsonl"]].concat();
    let by_file = asked(&home, &server, &by_file);
    let bodies: Vec<&str> = (by_file[BEFORE..].iter())
        .map(|weighted_request| weighted_request.body.as_str())
        .collect();
    assert_eq!(bodies, ["one", "two words", "three", "one", "two words"]);
}

#[test]
fn a_body_that_the_kernel_takes_in_parts_arrives_whole() {
    // Method: three megabytes between two numbers, over connections that are kept and such
    // that are not.
    let home = Home::new();
    let middle = "x".repeat(3_000_000);
    fs::write(home.join("large"), format!("{{seq}},{middle},{{seq}}")).unwrap();
    let server = Listener::start();
    for kept in [&[][..], &["--no-keepalive"]] {
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
        let asked = asked(&home, &server, &[&words[..], kept].concat());
        assert_eq!(asked.len(), 8 + BEFORE);
        for weighted_request in asked {
            let parts: Vec<&str> = weighted_request.body.split(',').collect();
            let [first, between, last] = parts[..] else {
                panic!("{} parts", parts.len());
            };
            assert!(first == last && first.parse::<u32>().is_ok() && between == middle);
        }
    }
}

#[test]
fn a_study_sends_placeholders_and_compares_responses_that_agree() {
    // Method: a server whose pages do not depend on the query, in a study file twice with a list
    // next to it: bodies are compared. And one that responds with the path: only the status is.
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
        .map(|weighted_request| weighted_request.path)
        .collect();
    assert!(queries.len() > 20, "{queries:?}");
    let is_right = |path: &String| {
        let rest = path
            .strip_prefix("/?q=")
            .and_then(|rest| rest.strip_prefix(['a', 'b']));
        let number = rest.and_then(|rest| rest.parse::<u32>().ok());
        number.is_some_and(|number| (1..100).contains(&number))
    };
    assert!(queries.iter().all(is_right), "{queries:?}");
}

#[test]
fn invalid_placeholders_are_refused_and_curl_commands_have_none() {
    // Method: one wrong command line for each message; then braces after `curl`.
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
    let subject_a = format!("a={}{{seq}}", server.url);
    let other = format!("b={}", server.url);
    home.run_abx(&["compare", &subject_a, &other])
        .expect(2, &["the URL of a has a placeholder", "--path"]);
    assert!(server.take().is_empty());
    let words = ["run", "-n", "4", "curl", &server.url, "-d", "{seq} {n}"];
    home.run_abx(&words).expect(0, &[]);
    assert!(
        server
            .take()
            .iter()
            .all(|weighted_request| weighted_request.body == "{seq} {n}")
    );
}
