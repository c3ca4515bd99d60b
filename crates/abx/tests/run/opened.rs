//! Connections that are opened before a load: more than one address has ports for, more than the
//! machine has, and more than a server accepts.

use serde_json::Value;

use crate::support::{ABX, Ended, Home, findings};

/// Settings of a network namespace in which each local address has 700 ports.
const FEW_PORTS: &str =
    "ip link set lo up\necho 32768 33467 >/proc/sys/net/ipv4/ip_local_port_range";

const NONE: [Value; 0] = [];

/// Holds connections to two servers, in a namespace with the settings of `apart`. A shell runs
/// `before` and then becomes the server.
fn hold(apart: &str, before: &str, words: &str) -> Ended {
    let home = Home::new();
    let server =
        |name: &str| format!("{name}=sh -c '{before}exec {ABX} serve --websocket --port {{port}}'");
    let subjects = [server("one"), server("two")];
    let load = "--shape connections --path /echo --hold 20ms --blocks 1 --pilot brief";
    let mut arguments = vec![
        "compare",
        &subjects[0],
        &subjects[1],
        "--quiet",
        "--json",
        "-",
    ];
    arguments.extend(load.split(' ').chain(words.split(' ')));
    home.run(&mut home.abx_apart("n", apart, &arguments))
}

/// One column of the results of held connections: a value for each subject.
fn held<'a>(record: &'a Value, column: &str) -> &'a Value {
    let readings = &record["blocks"][0]["loads"][0]["sides"]["readings"];
    &readings["held"]["values"][column]
}

#[test]
fn more_connections_than_an_address_has_ports_come_from_several() {
    // Method: 2,000 connections although each address has 700 ports. All of them stay open.
    let ended = hold(FEW_PORTS, "", "-c 2000 --open-rate 100000");
    let record = ended.json();
    assert_eq!(record["loads"][0]["settings"]["open_rate"], 100_000);
    assert_eq!(held(&record, "asked"), &serde_json::json!([2000, 2000]));
    assert_eq!(held(&record, "standing"), &serde_json::json!([2000, 2000]));
    for id in [
        "generator_exhausted",
        "not_connected",
        "connections_not_held",
    ] {
        assert_eq!(findings(&record, id), NONE, "{id}");
    }
}

#[test]
fn a_lack_of_ports_is_reported_and_not_blamed_on_the_server() {
    // Method: the same from one address only, set by a flag.
    let ended = hold(FEW_PORTS, "", "-c 2000 --local-address 127.0.0.1");
    assert_eq!(ended.status.code(), Some(3), "{ended:#?}");
    let record = ended.json();
    let text = record["validity"]["findings"].to_string();
    for part in [
        "of 2000 connections to one",
        "has 700 per local address",
        "were not tried",
        "--local-address",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_ne!(findings(&record, "generator_exhausted"), NONE);
    for id in ["not_connected", "connections_not_held"] {
        assert_eq!(findings(&record, id), NONE, "{id}");
    }
}

#[test]
fn a_server_that_accepts_no_more_connections_is_blamed() {
    // Method: 600 connections to servers with 100 descriptors. Slightly fewer than 100 are
    // accepted, 128 get no response, and the others are not tried.
    let ended = hold(
        "ip link set lo up",
        "ulimit -n 100; ",
        "-c 600 --timeout 400ms",
    );
    let record = ended.json();
    let text = record["validity"]["findings"].to_string();
    for part in ["timeout 128", "more not tried", "128 of 600"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(findings(&record, "generator_exhausted"), NONE);
    assert_ne!(findings(&record, "connections_not_held"), NONE);
}

#[test]
fn a_server_that_accepts_late_is_loaded_after_accepting() {
    // Method: a server that accepts one connection per 1,024 requests. Some of 1,500 connections
    // would wait for longer than the timeout if others loaded it meanwhile.
    let home = Home::new();
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/late_accept.py");
    let [one, other] = ["one", "other"].map(|name| format!("{name}=python3 {server} {{port}}"));
    let words = "-c 1500 --timeout 3s --blocks 1 --pilot brief --slice 100ms --no-ceiling";
    let mut arguments = vec!["compare", &one, &other, "--quiet", "--json", "-"];
    arguments.extend(words.split(' '));
    let record = home.run_abx(&arguments).json();
    for id in ["stopped_answering", "failed_requests"] {
        assert_eq!(findings(&record, id), NONE, "{id}");
    }
    assert_eq!(record["end"]["reason"], "blocks", "{record:#}");
}
