//! abx is stopped by a signal while it measures.

use std::time::{Duration, Instant};

use abx_sys::process::Signal;
use serde_json::json;

use crate::support::{Home, Server, findings, send, wait_for};

#[test]
fn a_pause_of_abx_is_found_and_not_charged_to_the_server() {
    // Method: SIGSTOP to abx once the server is loaded, and SIGCONT after a second and a half.
    let home = Home::new();
    let server = Server::start(&[]);
    let words = ["run", &server.url, "-d", "3s", "-c", "4", "--json", "-"];
    let running = home.start(&mut home.abx(&words));
    server.wait_until_loaded();
    send(running.id(), Signal::Stop);
    let began = Instant::now();
    wait_for("the end of the pause", || {
        (began.elapsed() >= Duration::from_millis(1_500)).then_some(())
    });
    send(running.id(), Signal::Cont);
    let ended = running.wait();
    let record = ended.json();
    let pauses = findings(&record, "generator_paused");
    assert_eq!(pauses.len(), 1, "{ended:#?}");
    let load = &record["blocks"][0]["loads"][0];
    assert_eq!(
        load["rounds"]["disturbed"][0].as_array().unwrap().last(),
        Some(&json!("paused"))
    );
    assert!(load["slices"]["paused_ns"][0].as_u64() >= Some(1_000_000_000));
    for server_finding in ["uneven_service", "warm_up_counted", "stopped_answering"] {
        assert_eq!(findings(&record, server_finding).len(), 0, "{record:#}");
    }
}
