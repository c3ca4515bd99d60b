//! The built-in server over HTTP/2, with abx itself and with clients that are not ours, which count
//! their responses.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use abx_sys::process::Signal;
use serde_json::{Value, json};

use crate::support::{Home, Server, assert_honest, only_slice, send, slices};

/// Every process model, with the flags that it needs.
const MODELS: &[&[&str]] = &[
    &["--model", "event"],
    &["--model", "thread"],
    &["--model", "thread-per-request"],
    &["--model", "hybrid"],
    &["--model", "prefork", "--workers", "2"],
    &["--model", "null"],
];

/// A client with nghttp2's library, which checks each frame against the standard. Its windows are
/// far smaller than the file. It reads slowly, cancels each fifth stream after its first bytes,
/// sends bodies, requests heads and missing pages, and counts the results.
const NODE: &str = r"
const http2 = require('http2'), crypto = require('crypto');
const [url, file] = process.argv.slice(1);
const client = http2.connect(url, { rejectUnauthorized: false, settings: { initialWindowSize: 9000 } });
client.on('error', error => { console.log('broken: ' + error); process.exit(1); });
const tally = {};
const count = name => { tally[name] = (tally[name] || 0) + 1; };
let left = 0;
const ask = (headers, body, isGivenUp) => {
  left += 1;
  const stream = client.request(headers), hash = crypto.createHash('sha256');
  let status, length, bytes = 0;
  stream.on('response', all => { status = all[':status']; length = +all['content-length']; });
  stream.on('data', part => {
    bytes += part.length;
    hash.update(part);
    if (isGivenUp) stream.close(http2.constants.NGHTTP2_CANCEL);
    stream.pause();
    setImmediate(() => stream.resume());
  });
  stream.on('error', error => count('error ' + error.code));
  stream.on('close', () => {
    const is_whole = headers[':method'] === 'HEAD' ? bytes === 0 : bytes === length;
    if (isGivenUp) count('given up');
    else count([headers[':method'], headers[':path'], status, is_whole,
      status === 200 && bytes ? hash.digest('hex') : ''].join(' ').trim());
    if (--left === 0) { console.log(JSON.stringify(tally)); client.close(); }
  });
  stream.end(body);
};
for (let place = 0; place < 60; place += 1) {
  ask({ ':method': 'GET', ':path': file }, undefined, place % 5 === 4);
  ask({ ':method': 'HEAD', ':path': file });
  ask({ ':method': 'POST', ':path': file }, Buffer.alloc(100000, 'x'));
  ask({ ':method': 'GET', ':path': '/none' });
  ask({ ':method': 'DELETE', ':path': file });
}
";

/// The outcomes of a run.
fn outcomes(home: &Home, url: &str, words: &str) -> Value {
    let mut arguments = vec!["run", url, "--quiet", "--json", "-"];
    arguments.extend(words.split(' '));
    let ended = home.run_abx(&arguments);
    ended.expect(0, &[]);
    let record = ended.json();
    assert_honest(&only_slice(&record));
    record["outcomes"].clone()
}

/// The output of a shell command, which must succeed.
fn shell(home: &Home, words: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-c", words]).current_dir(home.path());
    let ended = command.output().unwrap();
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{words}: {ended:?}");
    text
}

/// Creates a folder with a file of 400 KB. Returns the folder's path and the file's hash.
fn with_a_file(home: &Home) -> (String, String) {
    fs::create_dir(home.join("www")).unwrap();
    let text: String = (0..60_000).map(|number| format!("{number}\n")).collect();
    home.write("www/large.txt", &text);
    let hash = shell(home, "sha256sum www/large.txt");
    let hash = hash.split(' ').next().unwrap().to_owned();
    (home.join("www").display().to_string(), hash)
}

#[test]
fn every_model_serves_both_versions_on_one_port() {
    // Method: HTTP/2 and HTTP/1.1 to each model, with prior knowledge and with ALPN. Every body is
    // compared.
    let home = Home::new();
    for model in MODELS {
        for tls in [&[][..], &["--tls-self-signed"]] {
            let server = Server::start(&[model, tls].concat());
            for version in ["--http2 --streams 16", "--pipeline 4"] {
                let words = format!("-c 3 -n 600 --verify-every 1 --insecure {version}");
                let words = match tls {
                    [] => words.replace("--insecure ", ""),
                    _ => words,
                };
                let counts = outcomes(&home, &server.url, &words);
                assert_eq!(counts["ok"], 600, "{model:?} {words}: {counts}");
                // prefork ends connections while others wait; abx sends their requests again.
                let resent = ["idle_close", "rest_close"];
                let is_known = |name: &String| {
                    let is_resent = resent.contains(&name.as_str());
                    name == "ok" || (is_resent && model.contains(&"prefork"))
                };
                let are_known = counts.as_object().unwrap().keys().all(is_known);
                assert!(are_known, "{model:?} {words}: {counts}");
            }
        }
    }
}

#[test]
fn curl_is_served_in_http2() {
    // Method: curl reports version, status, length and body of a head, a file and a missing page,
    // and of requests with bodies, with and without `Expect: 100-continue`.
    let home = Home::new();
    let (root, hash) = with_a_file(&home);
    home.write("body", &"x".repeat(3_000_000));
    for (tls, flags) in [
        (&[][..], "--http2-prior-knowledge"),
        (&["--tls-self-signed"], "--http2 -k"),
    ] {
        let server = Server::start(&[&["--root", &root], tls].concat());
        let curl = |words: &str| {
            let form = "-w '%{http_version} %{http_code} %{size_download} %{size_upload}'";
            let url = format!("{}large.txt", server.url);
            shell(
                &home,
                &format!("curl -sS -m 60 {flags} {form} {words} {url}"),
            )
        };
        let length = fs::metadata(home.join("www/large.txt")).unwrap().len();
        assert_eq!(curl("-o got"), format!("2 200 {length} 0"));
        assert!(shell(&home, "sha256sum got").starts_with(&hash));
        let head = curl("-I").to_lowercase();
        assert!(
            head.contains(&format!("content-length: {length}\r")),
            "{head}"
        );
        assert!(head.contains("content-type: text/plain\r"), "{head}");
        assert!(head.ends_with("2 200 0 0"), "{head}");
        for expect in ["", "-H 'Expect: 100-continue'"] {
            let posted = curl(&format!("-o got {expect} --data-binary @body"));
            assert_eq!(posted, format!("2 200 {length} 3000000"));
        }
        assert_eq!(curl("-o got -X DELETE"), "2 405 46 0");
        let none = format!(
            "curl -sS -m 60 {flags} -w ' %{{http_code}}' {}none",
            server.url
        );
        assert!(shell(&home, &none).ends_with(" 404"));
    }
}

#[test]
fn a_client_with_small_windows_gets_every_byte() {
    // Method: 300 requests of node at once on one connection. Every complete body has the file's
    // hash, although other streams are cancelled.
    let home = Home::new();
    let (root, hash) = with_a_file(&home);
    for words in [
        &["--files", "sendfile"][..],
        &["--model", "thread"],
        &["--model", "thread-per-request", "--max-threads", "3"],
        &["--model", "hybrid", "--max-threads", "3"],
        &["--tls-self-signed", "--delay", "5ms"],
    ] {
        let server = Server::start(&[&["--root", &root], words].concat());
        let mut node = Command::new("node");
        node.args(["-e", NODE, &server.url, "/large.txt"]);
        let ended = home.run(&mut node);
        ended.expect(0, &[]);
        let expected = json!({
            format!("GET /large.txt 200 true {hash}"): 48,
            "given up": 12,
            "HEAD /large.txt 200 true": 60,
            format!("POST /large.txt 200 true {hash}"): 60,
            "GET /none 404 true": 60,
            "DELETE /large.txt 405 true": 60,
        });
        assert_eq!(ended.json(), expected, "{words:?}");
    }
}

#[test]
fn h2load_receives_its_responses() {
    // Method: h2load reports that all requests succeeded, none failed, and every body has its
    // length, with 32 streams per connection and with more streams than the server allows.
    let home = Home::new();
    for (words, page) in [
        (&["--model", "event"][..], 87_u64),
        (&["--model", "event", "--page-bytes", "100000"], 100_000),
        (&["--model", "hybrid"], 87),
        (&["--model", "null"], 87),
        (&["--model", "null", "--page-bytes", "100000"], 100_000),
        (&["--tls-self-signed"], 87),
    ] {
        let server = Server::start(words);
        for (requests, flags) in [(2000_u64, "-c 4 -m 32"), (3000, "-c 1 -m 2000")] {
            let text = shell(
                &home,
                &format!("h2load -t 1 -n {requests} {flags} {}", server.url),
            );
            let summary = format!(
                "{requests} total, {requests} started, {requests} done, {requests} succeeded, \
                 0 failed, 0 errored, 0 timeout"
            );
            assert!(text.contains(&summary), "{words:?} {flags}: {text}");
            let statuses = format!("{requests} 2xx, 0 3xx, 0 4xx, 0 5xx");
            assert!(text.contains(&statuses), "{words:?} {flags}: {text}");
            let bytes = format!("({}) data", requests * page);
            assert!(text.contains(&bytes), "{words:?} {flags}: {text}");
        }
    }
}

#[test]
fn the_server_counts_the_same_requests_in_both_versions() {
    // Method: the server draws a fault for each request that it counts, by a seed. Equal numbers of
    // requests have equal numbers of wrong responses in HTTP/1.1 and HTTP/2. A fault that cuts off
    // a connection in HTTP/1.1 resets a stream in HTTP/2.
    let home = Home::new();
    let words = "--fail 5 --wrong-length 5 --wrong-body 5 --close-early 5 --seed 7";
    let words: Vec<&str> = words.split(' ').collect();
    let mut counted = Vec::new();
    for version in ["--http1.1", "--http2 --streams 32"] {
        let server = Server::start(&words);
        let mut arguments = vec!["run", &server.url, "--quiet", "--json", "-"];
        let flags = format!("-c 1 -n 1000 --verify-every 1 --expect-status 200 {version}");
        arguments.extend(flags.split(' '));
        let record = home.run_abx(&arguments).json();
        let outcomes = &record["outcomes"];
        let cut = ["early_close", "stream_reset"].map(|name| outcomes[name].as_u64());
        counted.push((
            outcomes["wrong_status"].clone(),
            outcomes["wrong_body"].clone(),
            outcomes["wrong_length"].clone(),
            cut.into_iter().flatten().sum::<u64>(),
        ));
        assert!(
            cut[usize::from(version.contains("http2"))].is_some(),
            "{outcomes}"
        );
    }
    assert_eq!(counted[0], counted[1]);
    assert!(counted[0].3 > 20, "{counted:?}");
}

#[test]
fn workers_are_replaced_without_losing_a_stream() {
    // Method: a load over streams while all workers are replaced again and again. A GOAWAY ends
    // each connection, and abx sends the later requests again.
    let home = Home::new();
    let server = Server::start(&["--workers", "2"]);
    let words = "-c 4 --streams 16 -d 2s --verify-every 10 --quiet --json - --http2";
    let mut arguments = vec!["run", &server.url];
    arguments.extend(words.split(' '));
    let mut running = home.start(&mut home.abx(&arguments));
    let mut replaced = 0;
    while !running.has_ended() {
        send(server.id(), Signal::Hup);
        replaced += 1;
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let record = running.wait().json();
    assert!(replaced > 1);
    let outcomes = record["outcomes"].as_object().unwrap();
    assert!(outcomes["ok"].as_u64() > Some(100), "{outcomes:?}");
    let others = ["ok", "idle_close", "unfinished"];
    let are_known = outcomes.keys().all(|name| others.contains(&name.as_str()));
    assert!(are_known, "{outcomes:?}");
}

#[test]
fn a_load_over_streams_has_a_ceiling() {
    // Method: the built-in server compared with itself over HTTP/2, with and without TLS. The null
    // server is loaded in the same way. If one subject uses HTTP/1.1, no ceiling holds for both.
    let home = Home::new();
    let subject = |name: &str, is_encrypted: bool, keys: &str| {
        let (flag, tls) = if is_encrypted {
            (", \"--tls-self-signed\"", "tls = \"localhost\"")
        } else {
            ("", "")
        };
        format!(
            "[[subject]]\nname = \"{name}\"\n{tls}\n{keys}\n\
             command = [\"{{abx}}\", \"serve\", \"--port\", \"{{port}}\"{flag}]\n"
        )
    };
    let load = |keys: &str| {
        format!(
            "[[load]]\nname = \"streams\"\nconnections = 4\nrequests = [{{ path = \"/\" }}]\n{keys}\n"
        )
    };
    let (streams, pipelines) = ("protocol = \"http/2\"\nstreams = 8\n", "pipeline = 8\n");
    let insecure = "tls = { insecure = true }\n";
    let http2 = "http2 = true";
    for (is_encrypted, keys, a_keys, b_keys, has_ceiling) in [
        (false, streams.to_owned(), "", "", true),
        (true, format!("{streams}{insecure}"), "", "", true),
        (false, pipelines.to_owned(), http2, http2, true),
        (false, pipelines.to_owned(), http2, "", false),
    ] {
        let study = [
            subject("a", is_encrypted, a_keys),
            subject("b", is_encrypted, b_keys),
            load(&keys),
        ];
        let file = home.write("study.toml", &study.concat());
        let ended = home.run_abx(&[
            "compare", &file, "--blocks", "1", "--rounds", "1", "--slice", "20ms", "--pilot",
            "brief", "--json", "-",
        ]);
        let record = ended.json();
        ended.expect_measured(&record);
        let ceiling = slices(&record, "(ceiling)");
        assert_eq!(!ceiling.is_empty(), has_ceiling, "{keys} {a_keys} {b_keys}");
    }
}

#[test]
fn the_first_bytes_decide_the_version_even_in_parts() {
    // Method: byte by byte, a request that begins like the preface, and the preface with a request
    // after it; then first bytes that belong to neither version.
    for model in ["event", "null"] {
        let server = Server::start(&["--model", model]);
        let talk = |bytes: &[u8], end: &[u8]| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port().parse().unwrap()));
            let stream = stream.as_mut().unwrap();
            stream.set_nodelay(true).unwrap();
            for byte in bytes {
                stream.write_all(&[*byte]).unwrap();
            }
            let mut reply = Vec::new();
            let mut buffer = [0; 4096];
            while !reply.windows(end.len()).any(|part| part == end) {
                let count = stream.read(&mut buffer).unwrap();
                assert!(count > 0, "{model}: {}", String::from_utf8_lossy(&reply));
                reply.extend(&buffer[..count]);
            }
            reply
        };
        let reply = talk(b"POST / HTTP/1.1\r\nHost: h\r\n\r\n", b"never big.\n");
        assert!(reply.starts_with(b"HTTP/1.1 200 OK\r\n"));
        let mut preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
        preface.extend(b"\0\0\x03\x01\x05\0\0\0\x01\x82\x86\x84");
        let reply = talk(&preface, b"never big.\n");
        assert!(reply.starts_with(b"\0\0\x12\x04\0\0\0\0\0"), "{reply:?}");
    }
    let server = Server::start(&[]);
    let mut stream = TcpStream::connect(("127.0.0.1", server.port().parse().unwrap())).unwrap();
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n")
        .unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 400"), "{reply}");
}
