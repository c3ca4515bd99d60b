//! `abx run --warmup`: load that is sent and not counted.

use serde_json::json;

use crate::support::{Home, Server};

#[test]
fn a_warm_up_is_sent_and_counted_nowhere() {
    // Method: a number of requests, a rate and messages of WebSocket, each after a warm-up: the
    // requested load counts, and the warm-up is recorded apart from it.
    let home = Home::new();
    let server = Server::start(&["--websocket"]);
    let echo = format!("{}echo", server.url.replace("http://", "ws://"));
    for (url, words) in [
        (&server.url, "-n 200 -c 4"),
        (&server.url, "-n 50 -c 2 -r 200"),
        (&server.url, "-n 50 -c 2 --no-keepalive"),
        (&echo, "-n 100 -c 2"),
    ] {
        let mut texts = vec!["run", url, "--warmup", "200ms", "--quiet", "--json", "-"];
        texts.extend(words.split(' '));
        let record = home.run_abx(&texts).json();
        let pilot = &record["loads"][0]["pilot"];
        assert_eq!(pilot["warm_up_ns"], 200_000_000, "{words}");
        let requested: u64 = words.split(' ').nth(1).unwrap().parse().unwrap();
        assert_eq!(record["sent"], json!(requested), "{words}");
        let load = &record["blocks"][0]["loads"][0];
        assert_eq!(load["slices"]["discarded"].as_object(), None, "{words}");
        let warm_up = &load["sides"]["readings"]["warm_up"]["values"];
        assert!(
            warm_up["sent"][0].as_u64() > Some(0),
            "{words}: {warm_up:#}"
        );
    }
    let printed = home.run_abx(&["run", &server.url, "-n", "9", "--warmup", "100ms"]);
    printed.expect(0, &["after 100ms of warm-up"]);
    assert!(
        printed.stdout.contains("after 100 ms of warm-up"),
        "{printed:#?}"
    );
}

#[test]
fn a_warm_up_is_refused_with_the_reason_for_loads_that_have_none() {
    // Method: each kind of load to which it does not apply.
    let home = Home::new();
    let log = home.write("access.log", "");
    let http = "http://127.0.0.1:9/";
    let table = [
        (http, vec!["-c", "1,2"], "take turns in blocks"),
        (http, vec!["--slo", "p99<5ms"], "take turns in blocks"),
        (
            http,
            vec!["--stages", "0:10@1s"],
            "make the first stage the warm-up",
        ),
        (
            "ws://127.0.0.1:9/",
            vec!["--shape", "connections"],
            "send nothing",
        ),
    ];
    for (url, words, why) in table {
        let texts = [&["run", url, "--warmup", "1s"], &words[..]].concat();
        home.run_abx(&texts).expect(2, &["--warmup", why]);
    }
    let replay = home.run_abx(&["run", http, "--warmup", "1s", "--replay", &log]);
    assert_eq!(replay.status.code(), Some(2), "{replay:#?}");
}
