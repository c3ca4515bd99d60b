//! The built-in server over TLS, with abx itself and with clients that are not ours.

use std::process::Command;

use serde_json::json;

use crate::protocols::tls::certify;
use crate::support::{Home, Server, response, slices};

/// The process models that need no other flags.
const MODELS: &[&str] = &["event", "thread", "thread-per-request", "hybrid", "null"];

#[test]
fn every_model_serves_over_tls() {
    // Method: each version against each model, with kept connections and with a handshake per
    // request; and several processes of one model. Bodies are compared, and each handshake within
    // the load has its time.
    let home = Home::new();
    let mut servers: Vec<(&str, Server)> = MODELS
        .iter()
        .map(|model| {
            (
                *model,
                Server::start(&["--model", *model, "--tls-self-signed"]),
            )
        })
        .collect();
    let words = ["--model", "prefork", "--workers", "2", "--tls-self-signed"];
    servers.push(("prefork", Server::start(&words)));
    for (model, server) in &servers {
        assert!(server.url.starts_with("https://"), "{}", server.url);
        for (flags, is_fresh) in [
            (&["--tls-version", "1.2"][..], false),
            (&["--tls-version", "1.3"], false),
            (&["--tls-version", "1.2", "--no-keepalive"], true),
            (&["--tls-version", "1.3", "--no-keepalive"], true),
            (&["--no-keepalive", "--tls-resume"], true),
        ] {
            let usual = "-c 2 -n 60 --insecure --verify-every 1 --json -".split(' ');
            let words: Vec<&str> = ["run", &server.url].into_iter().chain(usual).collect();
            let ended = home.run_abx(&[&words[..], flags].concat());
            let record = ended.json();
            ended.expect(0, &[]);
            let outcomes = &record["outcomes"];
            if *model == "prefork" {
                // It ends connections while others wait.
                assert_eq!(outcomes["ok"], 60, "{flags:?}: {outcomes}");
                continue;
            }
            assert_eq!(outcomes, &json!({ "ok": 60 }), "{model} {flags:?}");
            let histograms = &record["blocks"][0]["loads"][0]["histograms"];
            let histogram = histograms.as_object().unwrap().values().next().unwrap();
            let is_timed = histogram["handshake"].is_array();
            assert_eq!(is_timed, is_fresh, "{model} {flags:?}");
            let median = &record["handshake_us"]["p50"];
            assert_eq!(median.as_u64().is_some_and(|us| us > 0), is_fresh);
        }
    }
}

#[test]
fn the_configured_certificate_is_sent_to_every_client() {
    // Method: a certificate that openssl made, sent to abx, curl and openssl, which trust no other
    // one. openssl reports a resumed session.
    let home = Home::new();
    certify(&home);
    let path = |name: &str| home.join(name).display().to_string();
    let [cert, key] = ["cert.pem", "key.pem"].map(path);
    let server = Server::start(&["--tls-cert", &cert, "--tls-key", &key]);
    home.run_abx(&["run", &server.url, "-n", "20", "--ca", "cert.pem"])
        .expect(0, &[]);
    let client = |words: &str| {
        let mut command = Command::new("sh");
        let words = words.replace("PORT", server.port());
        command.args(["-c", &words]).current_dir(home.path());
        let ended = command.output().unwrap();
        let message = String::from_utf8_lossy(&ended.stdout).into_owned();
        (ended.status.success(), message)
    };
    for version in ["1.2", "1.3"] {
        let (is_ok, body) = client(&format!(
            "curl -sS --cacert cert.pem --tlsv{version} --tls-max {version} \
             -w '%{{http_code}} %{{ssl_verify_result}}' https://127.0.0.1:PORT/"
        ));
        assert!(is_ok && body.ends_with("200 0"), "{version}: {body}");
        assert!(body.starts_with("<!doctype html>"), "{version}: {body}");
    }
    let openssl = "openssl s_client -connect 127.0.0.1:PORT -servername server.test \
                   -CAfile cert.pem -verify_return_error -tls1_2";
    let get = "printf 'GET / HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n'";
    for (session, message) in [
        ("-sess_out", "New, TLSv1.2"),
        ("-sess_in", "Reused, TLSv1.2"),
    ] {
        let (is_ok, text) = client(&format!("{get} | {openssl} -ign_eof {session} session"));
        assert!(is_ok && text.contains(message), "{message}: {text}");
        assert!(text.contains("HTTP/1.1 200 OK"), "{text}");
    }
    // A client without TLS gets no response and does not affect other clients.
    let (is_ok, _) = client("curl -sS -m 20 http://127.0.0.1:PORT/ 2>/dev/null");
    assert!(!is_ok);
    home.run_abx(&["run", &server.url, "-n", "20", "--ca", "cert.pem"])
        .expect(0, &[]);
}

#[test]
fn websockets_are_served_over_tls() {
    // Method: echoes larger than a record, and messages in a room.
    let home = Home::new();
    let server = Server::start(&["--websocket", "--tls-self-signed"]);
    let at = |path: &str| server.url.replace("https://", "wss://") + path;
    for (path, shape) in [
        ("echo", "--shape echo --message-bytes 40000 -c 3 -n 60"),
        ("chat/red", "--shape broadcast -c 5 -n 40"),
    ] {
        let url = at(path);
        let words = ["run", &url, "--insecure", "--json", "-"].into_iter();
        let words: Vec<&str> = words.chain(shape.split(' ')).collect();
        let ended = home.run_abx(&words);
        let record = ended.json();
        ended.expect(0, &[]);
        let outcomes = record["outcomes"].as_object().unwrap();
        assert_eq!(outcomes.keys().collect::<Vec<_>>(), ["ok"], "{path}");
    }
}

#[test]
fn files_that_are_read_can_be_encrypted() {
    // Method: a file of many TLS records. abx verifies every body, and its hash is that of
    // `sha256sum`. Sending the file by the kernel is refused.
    let home = Home::new();
    std::fs::create_dir(home.join("www")).unwrap();
    let text: String = (0..100_000).map(|number| format!("{number}\n")).collect();
    let file = home.write("www/large.txt", &text);
    let root = home.join("www").display().to_string();
    let server = Server::start(&["--root", &root, "--tls-self-signed"]);
    let url = format!("{}large.txt", server.url);
    let ended = home.run_abx(&[
        "run",
        &url,
        "--insecure",
        "-c",
        "4",
        "-n",
        "40",
        "--verify-every",
        "1",
        "--json",
        "-",
    ]);
    let record = ended.json();
    ended.expect(0, &[]);
    assert_eq!(record["outcomes"], json!({ "ok": 40 }));
    let output = Command::new("sha256sum").arg(&file).output().unwrap();
    let expected = String::from_utf8(output.stdout).unwrap();
    let hash = response(&record)["sha256"].as_str().unwrap();
    assert!(expected.starts_with(hash), "{hash}, not {expected}");
    for way in ["sendfile", "uring"] {
        home.run_abx(&[
            "serve",
            "--port",
            "0",
            "--root",
            "www",
            "--files",
            way,
            "--tls-self-signed",
        ])
        .expect(2, &["does not encrypt", "`read`"]);
    }
}

#[test]
fn unusable_certificates_are_refused_at_the_start() {
    // Method: a missing file, a key without its certificate, a key of another certificate, and
    // a file that holds no certificate; alone and with workers, which would all fail.
    let home = Home::new();
    certify(&home);
    std::fs::rename(home.join("key.pem"), home.join("other.pem")).unwrap();
    certify(&home);
    for (cert, key, texts) in [
        (
            "no-such.pem",
            "key.pem",
            &["no-such.pem", "certificates"][..],
        ),
        ("cert.pem", "cert.pem", &["cert.pem", "a private key"]),
        ("key.pem", "key.pem", &["key.pem has no certificate"]),
        (
            "cert.pem",
            "other.pem",
            &["certificate and key are not usable"],
        ),
    ] {
        for more in [&[][..], &["--workers", "2"]] {
            let words = ["serve", "--port", "0", "--tls-cert", cert, "--tls-key", key];
            home.run_abx(&[&words[..], more].concat()).expect(2, texts);
        }
    }
    home.run_abx(&["serve", "--port", "0", "--tls-cert", "cert.pem"])
        .expect(2, &["--tls-key"]);
}

#[test]
fn a_load_over_tls_has_a_ceiling_over_tls() {
    // Method: two of our own servers over TLS, with a handshake per request. The null server is
    // loaded in the same way. If one subject uses plain HTTP, no ceiling holds for both.
    let home = Home::new();
    let subject = |name: &str, more: &str, tls: &str| {
        format!(
            "[[subject]]\nname = \"{name}\"\n{tls}\n\
             command = [\"{{abx}}\", \"serve\", \"--port\", \"{{port}}\"{more}]\n"
        )
    };
    let load = "[[load]]\nname = \"fresh\"\nconnections = 4\nkeep_alive = false\n\
                requests = [{ path = \"/\" }]\ntls = { insecure = true }\n";
    let encrypted = r#", "--tls-self-signed""#;
    let compared = |other: &str, tls: &str| {
        let study = [
            subject("event", encrypted, "tls = \"localhost\""),
            subject("other", other, tls),
            load.to_owned(),
        ];
        let file = home.write("study.toml", &study.concat());
        let ended = home.run_abx(&[
            "compare", &file, "--blocks", "1", "--rounds", "1", "--slice", "20ms", "--pilot",
            "brief", "--json", "-",
        ]);
        let record = ended.json();
        ended.expect_measured(&record);
        record
    };
    let record = compared(
        r#", "--tls-self-signed", "--model", "hybrid""#,
        "tls = \"localhost\"",
    );
    // The number of its responses does not matter: the machine may be busy.
    assert!(!slices(&record, "(ceiling)").is_empty());
    let mixed = compared("", "");
    assert!(slices(&mixed, "(ceiling)").is_empty());
}
