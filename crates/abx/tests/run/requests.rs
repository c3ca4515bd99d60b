//! Requests: bodies, numbers and lists of paths arrive at a server as they were written and are in
//! the record, and impossible ones are refused.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::{Home, only_slice};

/// A request as it arrived. `user` is its header `X-User`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReceivedRequest {
    pub method: String,
    pub path: String,
    pub user: String,
    pub body: String,
}

/// A server that responds to each path with the path, and keeps the requests. Its status is 201
/// below `/made` and 404 below `/missing`.
pub struct Listener {
    pub url: String,
    requests: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Listener {
    pub fn start() -> Listener {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", socket.local_addr().unwrap());
        let requests = Arc::<Mutex<Vec<ReceivedRequest>>>::default();
        let sink = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in socket.incoming().flatten() {
                let sink = Arc::clone(&sink);
                std::thread::spawn(move || serve(&stream, &sink));
            }
        });
        Listener { url, requests }
    }

    /// The requests since the last call.
    pub fn take(&self) -> Vec<ReceivedRequest> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }

    /// The number of requests since the last call, by the part that `key` returns.
    fn counts(&self, key: impl Fn(&ReceivedRequest) -> String) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for request in self.take() {
            *counts.entry(key(&request)).or_default() += 1;
        }
        counts
    }
}

/// Responds on one connection until it ends.
fn serve(stream: &TcpStream, sink: &Mutex<Vec<ReceivedRequest>>) -> Option<()> {
    let mut input = BufReader::new(stream);
    loop {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if input.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let header = |name: &str| {
            let mut fields = lines.iter().filter_map(|line| line.split_once(": "));
            let pair = fields.find(|(field, _)| field.eq_ignore_ascii_case(name));
            pair.map_or("", |(_, value)| value)
        };
        let mut words = lines.first()?.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
        input.read_exact(&mut body).ok()?;
        let user = header("x-user").to_owned();
        let closes = header("connection") == "close";
        let status = match &path {
            path if path.starts_with("/made") => 201,
            path if path.starts_with("/missing") => 404,
            _ => 200,
        };
        let response = format!(
            "HTTP/1.1 {status} As Asked\r\nContent-Length: {}\r\n\r\n{path}",
            path.len()
        );
        sink.lock().unwrap().push(ReceivedRequest {
            method,
            path,
            user,
            body: String::from_utf8(body).ok()?,
        });
        let mut output = stream;
        output.write_all(response.as_bytes()).ok()?;
        if closes {
            return None;
        }
    }
}

/// Runs over one connection, on which all requests must be ok, and returns the record.
fn run(home: &Home, server: &Listener, words: &[&str]) -> Value {
    let fixed = ["run", &server.url, "-c", "1", "--quiet", "--json", "-"];
    let record = home.run_abx(&[&fixed[..], words].concat());
    let record = record.expect(0, &[]).json();
    let requests = only_slice(&record);
    assert_eq!(requests["ok"], requests["sent"], "{requests}");
    record
}

/// A record's entry for the requests of its first load.
fn requests(record: &Value) -> &Value {
    &record["loads"][0]["settings"]["requests"]
}

#[test]
fn a_body_is_a_text_or_a_file_and_is_posted() {
    // Method: each way to write a body, as it arrives at the server and as the record has it.
    let home = Home::new();
    home.write("order.json", "{\"user\": 1}\n");
    let server = Listener::start();
    for (words, sent) in [
        (&["-b", "a=1"][..], "POST a=1"),
        (&["-b", "@order.json"], "POST {\"user\": 1}\n"),
        (&["-b", "@@order"], "POST @order"),
        (&["-b", "a=1", "-X", "PUT"], "PUT a=1"),
        (&["-b", "a=1", "-m", "GET"], "GET a=1"),
        (&[], "GET "),
    ] {
        let record = run(&home, &server, &[words, &["-n", "7"]].concat());
        let counts = server.counts(|request| format!("{} {}", request.method, request.body));
        // abx sends three requests before the load.
        assert_eq!(counts, BTreeMap::from([(sent.to_owned(), 10)]), "{words:?}");
        let (method, body) = sent.split_once(' ').unwrap();
        let request = &requests(&record)[0];
        assert_eq!(request["method"], method);
        match body {
            "" => assert_eq!(request["body"], Value::Null),
            body => {
                assert_eq!(request["body"]["text"], body);
                assert_eq!(request["body"]["bytes"], body.len());
            }
        }
    }
}

#[test]
fn a_number_is_filled_into_paths_headers_and_bodies() {
    // Method: three requests, sent often enough that all of them occur. The seed sets the order.
    let home = Home::new();
    let server = Listener::start();
    let words = [
        "--path",
        "/items/{n}",
        "-H",
        "X-User: u{n}",
        "-b",
        "{\"user\":{n}}",
        "--count",
        "3",
        "-n",
        "200",
        "--seed",
        "5",
    ];
    let record = run(&home, &server, &words);
    let first = server.take();
    let mut different = first.clone();
    different.sort();
    different.dedup();
    let expected = [0, 1, 2].map(|number| ReceivedRequest {
        method: "POST".to_owned(),
        path: format!("/items/{number}"),
        user: format!("u{number}"),
        body: format!("{{\"user\":{number}}}"),
    });
    assert_eq!(different, expected);
    assert_eq!(requests(&record)[2]["body"]["text"], "{\"user\":2}");
    run(&home, &server, &words);
    assert_eq!(first, server.take(), "the seed is the same");
}

#[test]
fn several_paths_are_requested_as_often_as_listed() {
    // Method: paths as flags, and a list of paths and URLs that has one path eight times. Each path
    // has its own response, which abx verifies.
    let home = Home::new();
    let server = Listener::start();
    let paths = ["--path", "/a", "--path", "/b?c", "-n", "400"];
    run(&home, &server, &paths);
    let counts = server.counts(|request| request.path.clone());
    assert_eq!(counts.values().sum::<usize>(), 406);
    assert!(counts["/a"] > 100 && counts["/b?c"] > 100, "{counts:?}");
    let url = &server.url;
    home.write(
        "list",
        &format!("# often\n{}\n{url}seldom\n", "/often\n".repeat(8)),
    );
    let record = run(&home, &server, &["--urls", "list", "-n", "900"]);
    let counts = server.counts(|request| request.path.clone());
    assert_eq!(counts.values().sum::<usize>(), 906);
    assert!(counts["/often"] > 4 * counts["/seldom"], "{counts:?}");
    let weights = requests(&record).as_array().unwrap().iter();
    let weights: Vec<_> = weights
        .map(|weight| (&weight["path"], &weight["weight"]))
        .collect();
    assert_eq!(json!(weights), json!([["/often", 8], ["/seldom", 1]]));
}

#[test]
fn three_thousand_paths_are_verified_and_requested() {
    // Method: a list of 3,000 paths and 9,000 requests, after three requests to each path.
    let home = Home::new();
    let server = Listener::start();
    let list: String = (0..3_000).map(|number| format!("/{number}\n")).collect();
    home.write("list", &list);
    let record = run(&home, &server, &["--urls", "list", "-n", "9000"]);
    let counts = server.counts(|request| request.path.clone());
    assert_eq!(counts.len(), 3_000);
    assert_eq!(counts.values().sum::<usize>(), 18_000);
    // The load draws paths with repetition, so it leaves out about 5 in 100.
    let loaded = counts.values().filter(|count| **count > 3).count();
    assert!(loaded > 2_700, "{loaded}");
    let responses = record["loads"][0]["answers"].as_object().unwrap();
    assert_eq!(
        responses.values().next().unwrap().as_array().unwrap().len(),
        3_000
    );
}

#[test]
fn every_status_of_a_class_is_correct() {
    // Method: two paths with statuses of one class. Runs expect that class, one of its statuses,
    // and another class.
    let home = Home::new();
    let server = Listener::start();
    let paths = ["--path", "/a", "--path", "/made", "-n", "50"];
    let record = run(
        &home,
        &server,
        &[&paths[..], &["--expect-status", "2xx"]].concat(),
    );
    let load = &record["loads"][0];
    assert_eq!(load["settings"]["status"], "2xx");
    let responses = load["answers"]
        .as_object()
        .unwrap()
        .values()
        .next()
        .unwrap();
    assert_eq!(
        (&responses[0]["status"], &responses[1]["status"]),
        (&json!(200), &json!(201))
    );
    let printed = home.run_abx(&["report", "last"]);
    printed.expect(0, &[]);
    for (expected, got) in [("200", "201"), ("3xx", "200")] {
        home.run_abx(
            &[
                &["run", &server.url],
                &paths[..],
                &["--expect-status", expected],
            ]
            .concat(),
        )
        .expect(2, &[&format!("status {got}, not {expected}")]);
    }
}

#[test]
fn a_comparison_requests_all_paths_from_both_servers() {
    // Method: two servers with the same responses, loaded by flags and by a study file with a body
    // from a file and a list of paths.
    let home = Home::new();
    let servers = [Listener::start(), Listener::start()];
    let brief = [
        "--no-ceiling",
        "--blocks",
        "1",
        "--rounds",
        "2",
        "--slice",
        "20ms",
        "--pilot",
        "brief",
        "--json",
        "-",
        "--quiet",
    ];
    let named = format!("b={}", servers[1].url);
    let urls = [servers[0].url.as_str(), &named];
    let flags = ["--path", "/a", "--path", "/b", "-c", "2"];
    let ended = home.run_abx(&[&["compare"], &urls[..], &flags, &brief].concat());
    ended.expect_measured(&ended.json());
    for server in &servers {
        let counts = server.counts(|request| request.path.clone());
        assert!(
            counts.len() == 2 && counts.values().all(|count| *count > 3),
            "{counts:?}"
        );
    }
    fs::create_dir(home.join("study")).unwrap();
    home.write("study/order.json", "{\"user\":{n}}");
    home.write("study/paths", "/c\n/d\n");
    let subjects = servers.iter().zip(["a", "b"]).map(|(server, name)| {
        format!(
            "[[subject]]\nname = \"{name}\"\naddress = \"{}\"\n\n",
            server.url
        )
    });
    let load = "[[load]]\nname = \"both\"\nconnections = 2\nrequests = [{ urls = \"paths\" }, \
        { path = \"/made\", body = \"@order.json\", count = 2, template = true }]\nexpect = { status = \"2xx\" }\n";
    home.write("study/study.toml", &(subjects.collect::<String>() + load));
    let ended = home.run_abx(&[&["compare", "study"], &brief[..]].concat());
    ended.expect_measured(&ended.json());
    for server in &servers {
        let counts = server.counts(|request| format!("{} {}", request.path, request.body));
        let kinds: Vec<&str> = counts.keys().map(String::as_str).collect();
        assert_eq!(
            kinds,
            ["/c ", "/d ", "/made {\"user\":0}", "/made {\"user\":1}"]
        );
    }
}

#[test]
fn invalid_requests_are_refused_with_the_remedy() {
    // Method: one wrong command line for each message. No request arrives.
    let home = Home::new();
    home.write("list", "/a\nhttp://127.0.0.2:1/b\n");
    home.write("none", "# nothing\n");
    let server = Listener::start();
    for (words, texts) in [
        (
            &["-b", "@gone.json"][..],
            &["gone.json", "No such file", "@@"][..],
        ),
        (&["-b", "{n}"], &["body", "--count 1000"]),
        (&["--path", "/{n}"], &["path", "--count 1000", "{{n}}"]),
        (&["--path", "/a", "--count", "5"], &["`/a`", "{n}"]),
        (&["--path", "/{n}", "--count", "10001"], &["--count"]),
        (&["--urls", "gone"], &["gone", "No such file"]),
        (
            &["--urls", "list"],
            &["list", "line 2", "127.0.0.2:1", "one server"],
        ),
        (&["--urls", "none"], &["no path"]),
        (&["--urls", "list", "--path", "/"], &["--urls", "--path"]),
    ] {
        let ended = home.run_abx(&[&["run", &server.url], words].concat());
        ended.expect(2, texts);
    }
    let echo = server.url.replace("http://", "ws://");
    home.run_abx(&["run", &echo, "--path", "/a", "--path", "/b"])
        .expect(2, &["--path once"]);
    assert_eq!(server.take(), []);
}

#[test]
fn flags_of_other_tools_have_the_same_effect() {
    // Method: the settings in the record for each flag, and flags with another meaning.
    let home = Home::new();
    let server = Listener::start();
    let bare = server.url.trim_start_matches("http://");
    let settings = |words: &[&str]| {
        let fixed = ["run", bare, "-c", "1", "--quiet", "--json", "-"];
        let record = home
            .run_abx(&[&fixed[..], words].concat())
            .expect(0, &[])
            .json();
        assert_eq!(record["subjects"][0]["address"], *server.url);
        let load = &record["loads"][0];
        (load["settings"].clone(), load["pilot"]["slice_ns"].clone())
    };
    assert_eq!(settings(&["-d", "1", "-k"]).1, 1_000_000_000);
    let (timed, slice_ns) = settings(&["-z", "100ms", "--rps", "0.1k"]);
    assert_eq!(slice_ns, 100_000_000);
    assert_eq!(timed["arrivals"]["rate_per_s"], 100.0);
    assert_eq!(
        settings(&["-n", "0.05k", "-X", "PUT"]).0["requests"][0]["method"],
        "PUT"
    );
    for (words, message) in [
        (&["-q", "100"][..], "-r RATE"),
        (&["-T", "text/plain"], "Content-Type"),
        (&["-t", "10s"], "-d"),
        (&["-d", "{}"], "-b"),
        (&["-X", "127.0.0.1:3128"], "proxy"),
    ] {
        home.run_abx(&[&["run", bare], words].concat())
            .expect(2, &[message]);
    }
    home.run_abx(&["compare", bare, "b=127.0.0.1:1", "-d", "10s"])
        .expect(2, &["--budget"]);
}
