//! Each injected fault as a client sees it.

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use abx_server::{Faults, Model, PlantedCosts, ServerConfig, Stall, Work};

use crate::support::{Client, Response, To, concurrent_models, page, real_models, start};

const GET: &str = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

fn faulty(model: Model, faults: Faults) -> ServerConfig {
    ServerConfig {
        faults,
        ..page(model)
    }
}

/// One request on a fresh connection.
fn get(address: SocketAddr) -> io::Result<Response> {
    let mut client = Client::connect(address);
    client.send(GET);
    client.response(To::Get)
}

#[test]
fn a_fault_at_100_percent_is_in_every_response() {
    // Method: ten requests per fault, compared with a correct page.
    for model in real_models() {
        let correct = get(start(page(model))).unwrap();

        let faults = Faults {
            fail_percent: 100.0,
            ..Faults::default()
        };
        let address = start(faulty(model, faults));
        let mut client = Client::connect(address);
        for _ in 0..10 {
            assert_eq!(client.get("/").status, 503, "{model:?}");
        }

        let faults = Faults {
            wrong_length_percent: 100.0,
            ..Faults::default()
        };
        let address = start(faulty(model, faults));
        let mut client = Client::connect(address);
        for _ in 0..10 {
            assert_eq!(client.get("/").body, correct.body[..86], "{model:?}");
        }

        let faults = Faults {
            wrong_body_percent: 100.0,
            ..Faults::default()
        };
        let address = start(faulty(model, faults));
        let mut client = Client::connect(address);
        for _ in 0..10 {
            let response = client.get("/");
            assert_eq!(response.head, correct.head, "{model:?}");
            let bytes = response.body.iter().zip(&correct.body);
            let changed = bytes.filter(|(left, right)| left != right).count();
            assert_eq!(changed, 1, "{model:?}");
        }

        let faults = Faults {
            close_early_percent: 100.0,
            ..Faults::default()
        };
        let address = start(faulty(model, faults));
        for _ in 0..10 {
            let mut client = Client::connect(address);
            client.send(GET);
            let expected = [correct.head.as_bytes(), &correct.body[..43]].concat();
            assert_eq!(client.rest(), expected, "{model:?}");
        }
    }
}

#[test]
fn faults_occur_at_their_percentage() {
    // Method: 2,000 requests; four standard deviations of 25 % are 78 responses.
    for model in real_models() {
        let address = start(faulty(
            model,
            Faults {
                fail_percent: 25.0,
                wrong_length_percent: 25.0,
                wrong_body_percent: 25.0,
                ..Faults::default()
            },
        ));
        let mut client = Client::connect(address);
        client.send(GET.repeat(2_000));
        let (mut failed, mut short) = (0, 0);
        for _ in 0..2_000 {
            let response = client.response(To::Get).unwrap();
            failed += usize::from(response.status == 503);
            short += usize::from(response.status == 200 && response.body.len() == 86);
        }
        for count in [failed, short] {
            assert!(count.abs_diff(500) < 78, "{model:?} {failed} {short}");
        }
    }
}

#[test]
fn a_delayed_response_is_never_early() {
    // Method: fifty connections with two requests each; the second waits for the first. A response
    // may be late for any reason, but not early.
    let delay = Duration::from_millis(30);
    let faults = Faults {
        delay,
        ..Faults::default()
    };
    for model in concurrent_models() {
        let address = start(faulty(model, faults));
        let begin = Instant::now();
        let mut clients: Vec<Client> = (0..50).map(|_| Client::connect(address)).collect();
        for client in &mut clients {
            client.send(GET.repeat(2));
        }
        for position in 1..=2 {
            for client in &mut clients {
                assert_eq!(client.response(To::Get).unwrap().status, 200, "{model:?}");
                assert!(begin.elapsed() >= position * delay, "{model:?}");
            }
        }
    }
}

#[test]
fn a_delay_does_not_affect_other_connections() {
    // Method: one response is due in an hour; a malformed request on another connection, which is
    // refused without delay, must get its response before that.
    let faults = Faults {
        delay: Duration::from_secs(3_600),
        ..Faults::default()
    };
    for model in concurrent_models() {
        let address = start(faulty(model, faults));
        let mut waiting = Client::connect(address);
        waiting.send(GET);
        let mut other = Client::connect(address);
        other.send("nonsense\r\n\r\n");
        assert_eq!(other.response(To::Get).unwrap().status, 400, "{model:?}");
    }
}

#[test]
fn a_client_that_leaves_during_the_delay_does_not_affect_others() {
    // Method: half of the clients leave while their responses are delayed, and others immediately
    // take their places.
    let faults = Faults {
        delay: Duration::from_millis(20),
        ..Faults::default()
    };
    for model in real_models() {
        let address = start(faulty(model, faults));
        for _ in 0..20 {
            let mut leaving = Client::connect(address);
            leaving.send(GET.repeat(3));
            drop(leaving);
            assert_eq!(get(address).unwrap().body.len(), 87, "{model:?}");
        }
    }
}

#[test]
fn stalls_repeat_and_do_not_damage_responses() {
    // Method: one request after the other, with some work in each, until three took half a stall or
    // longer. Without stalls, the deadline would pass.
    let faults = Faults {
        work: Work::Time(Duration::from_micros(200)),
        stall: Some(Stall {
            length: Duration::from_millis(80),
            period: Duration::from_millis(120),
        }),
        ..Faults::default()
    };
    for model in real_models() {
        let mut client = Client::connect(start(faulty(model, faults)));
        let begin = Instant::now();
        let mut stalled = 0;
        while stalled < 3 {
            assert!(begin.elapsed() < Duration::from_secs(60), "{model:?}");
            let sent = Instant::now();
            assert_eq!(client.get("/").body.len(), 87, "{model:?}");
            stalled += usize::from(sent.elapsed() >= Duration::from_millis(40));
        }
    }
}

#[test]
fn planted_costs_do_not_change_responses() {
    // Method: ten requests per model with every cost, compared with those of a correct page; the
    // log has a line per request.
    let folder = tempfile::tempdir().unwrap();
    for model in real_models() {
        let correct = get(start(page(model))).unwrap();
        let path = folder.path().join(model.name());
        let planted_costs = PlantedCosts {
            extra_syscalls: 3,
            split_writes: NonZeroU32::new(5),
            touch_pages: 2,
            log: Some(path.clone()),
            lock: true,
        };
        let address = start(ServerConfig {
            planted_costs,
            ..page(model)
        });
        for _ in 0..10 {
            assert_eq!(get(address).unwrap(), correct, "{model:?}");
        }
        let log = std::fs::read_to_string(&path).unwrap();
        assert_eq!(log.lines().count(), 10, "{model:?}");
    }
}

#[test]
fn a_log_that_cannot_be_written_is_refused() {
    // Method: a path in a missing folder.
    let planted_costs = PlantedCosts {
        log: Some("/none/log".into()),
        ..PlantedCosts::default()
    };
    let config = ServerConfig {
        planted_costs,
        ..page(Model::Event)
    };
    let error = abx_server::serve(&config, |_| {}, |_| {}).unwrap_err();
    assert!(error.to_string().starts_with("log /none/log: "), "{error}");
}
