//! The behaviour of every model with the default page.

use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use abx_server::{
    BACKLOG, Content, Faults, Feature, Model, SendMethod, ServeError, ServerConfig,
    WebSocketSupport, Work, serve,
};

use crate::support::{Client, Response, To, concurrent_models, page, real_models, start};

const GET: &str = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

#[test]
fn every_model_serves_many_requests_on_one_connection() {
    // Method: three requests in turn, then the client leaves.
    for model in Model::ALL {
        let mut client = Client::connect(start(page(model)));
        for _ in 0..3 {
            let response = client.get("/any/path?query");
            assert_eq!(
                (response.status, response.body.len()),
                (200, 87),
                "{model:?}"
            );
            assert!(response.body.starts_with(b"<!doctype html>"), "{model:?}");
            assert!(response.head.contains("\r\nContent-Type: text/html\r\n"));
        }
    }
}

#[test]
fn pipelined_requests_are_served_in_order() {
    // Method: 5,000 requests written before the first response is read: enough to fill the sockets'
    // buffers, so that the server must interrupt sending.
    for model in Model::ALL {
        let address = start(ServerConfig {
            content: Content::Page { bytes: Some(1_000) },
            ..page(model)
        });
        let mut client = Client::connect(address);
        client.send(GET.repeat(5_000));
        let first = client.response(To::Get).unwrap();
        assert!(first.body.starts_with(b"0123456789abc") && first.body.len() == 1_000);
        for _ in 1..5_000 {
            assert_eq!(client.response(To::Get).unwrap(), first, "{model:?}");
        }
    }
}

#[test]
fn a_page_of_any_size_is_complete() {
    // Method: no bytes, one byte, and more than one send takes; compared with the pattern.
    let pattern = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n";
    for model in Model::ALL {
        for bytes in [0, 1, 3_000_000] {
            let address = start(ServerConfig {
                content: Content::Page { bytes: Some(bytes) },
                ..page(model)
            });
            let mut client = Client::connect(address);
            let expected: Vec<u8> = pattern.repeat(bytes as usize / 64 + 1);
            for _ in 0..2 {
                let response = client.get("/");
                assert_eq!(response.body.len() as u64, bytes, "{model:?}");
                assert!(expected.starts_with(&response.body), "{model:?}");
            }
        }
    }
}

#[test]
fn a_request_may_arrive_byte_by_byte() {
    // Method: a head and a body in single bytes, and immediately the next request.
    for model in real_models() {
        let mut client = Client::connect(start(page(model)));
        let post = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
        for byte in post.bytes().chain(GET.bytes()) {
            client.send([byte]);
        }
        assert_eq!(client.response(To::Get).unwrap().status, 200, "{model:?}");
        assert_eq!(client.response(To::Get).unwrap().status, 200, "{model:?}");
    }
}

#[test]
fn head_has_the_length_but_no_body() {
    // Method: a GET on the same connection would read a body as its own head.
    for model in real_models() {
        let mut client = Client::connect(start(page(model)));
        client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
        let head = client.response(To::Head).unwrap();
        assert!(head.head.contains("\r\nContent-Length: 87\r\n"), "{head:?}");
        assert_eq!(client.get("/").head, head.head, "{model:?}");
    }
}

#[test]
fn the_connection_ends_if_version_or_header_require_it() {
    // Method: requests that close and one that does not. A request sent after a closing one must
    // not cause a reset, and gets no response.
    let cases = [
        ("1.1", "Connection: close\r\n", Some("close")),
        ("1.0", "", Some("close")),
        ("1.0", "Connection: keep-alive\r\n", None),
    ];
    for model in real_models() {
        let address = start(page(model));
        for (version, header, closes) in cases {
            let mut client = Client::connect(address);
            let request = format!("GET / HTTP/{version}\r\nHost: h\r\n{header}\r\n");
            client.send(request + GET);
            let response = client.response(To::Get).unwrap();
            let connection = response
                .head
                .lines()
                .find_map(|line| line.strip_prefix("Connection: "));
            assert_eq!(connection, closes.or(Some("keep-alive")), "{model:?}");
            match closes {
                Some(_) => assert_eq!(client.rest(), b"", "{model:?}"),
                None => assert_eq!(client.response(To::Get).unwrap().status, 200),
            }
        }
    }
}

#[test]
fn a_malformed_request_gets_status_400_and_a_close() {
    // Method: a malformed request, followed by more bytes than one read takes.
    for model in real_models() {
        let mut client = Client::connect(start(page(model)));
        client.send("nonsense\r\n\r\n".repeat(10_000));
        assert_eq!(client.response(To::Get).unwrap().status, 400, "{model:?}");
        assert_eq!(client.rest(), b"", "{model:?}");
    }
}

#[test]
fn two_hundred_connections_are_served_at_once() {
    // Method: all connect and send before the first response is read.
    for model in concurrent_models().chain([Model::Null]) {
        let address = start(page(model));
        let mut clients: Vec<Client> = (0..200).map(|_| Client::connect(address)).collect();
        for _ in 0..2 {
            for client in &mut clients {
                client.send(GET);
            }
            for client in &mut clients {
                assert_eq!(client.response(To::Get).unwrap().status, 200, "{model:?}");
            }
        }
    }
}

#[test]
fn a_process_with_one_connection_at_a_time_serves_all_waiting_clients() {
    // Method: 50 clients connect and send before the first response is read, and none of them
    // leaves. Responses announce the end of the connection while others wait: all except the last.
    let address = start(page(Model::Prefork));
    let mut clients: Vec<Client> = (0..50).map(|_| Client::connect(address)).collect();
    for client in &mut clients {
        client.send(GET);
    }
    let stays_open = |response: &Response| !response.head.contains("\r\nConnection: close\r\n");
    let (last, others) = clients.split_last_mut().unwrap();
    for client in others {
        let response = client.response(To::Get).unwrap();
        assert!(
            response.status == 200 && !stays_open(&response),
            "{response:?}"
        );
        assert_eq!(client.rest(), b"");
    }
    assert!(stays_open(&last.response(To::Get).unwrap()));
    assert!(stays_open(&last.get("/")));
}

#[test]
fn a_silent_client_is_replaced_by_a_waiting_one() {
    // Method: a client that got a response and one that never sends anything, each of which
    // occupies the only process. The next client must get a response, and the silent one ends.
    let address = start(page(Model::Prefork));
    let mut served = Client::connect(address);
    assert_eq!(served.get("/").status, 200);
    let mut silent = Client::connect(address);
    assert_eq!(served.rest(), b"");
    let mut next = Client::connect(address);
    assert_eq!(next.get("/").status, 200);
    assert_eq!(silent.rest(), b"");
}

#[test]
fn requests_beyond_the_number_of_threads_wait() {
    // Method: slow responses. Four threads serve four requests at a time, and one thread serves
    // them one after the other.
    let delay = Duration::from_millis(200);
    for model in Model::ALL
        .into_iter()
        .filter(|model| model.supports(Feature::Threads))
    {
        let took = |threads: u32| {
            let address = start(ServerConfig {
                max_threads: threads.try_into().ok(),
                faults: Faults {
                    delay,
                    ..Faults::default()
                },
                ..page(model)
            });
            let begin = Instant::now();
            let mut clients: Vec<Client> = (0..4).map(|_| Client::connect(address)).collect();
            for client in &mut clients {
                client.send(GET);
            }
            for client in &mut clients {
                assert_eq!(client.response(To::Get).unwrap().status, 200, "{model:?}");
            }
            begin.elapsed()
        };
        assert!(took(1) >= 4 * delay, "{model:?}");
        // A busy machine may be late, but not every time.
        assert!((0..20).any(|_| took(4) < 4 * delay), "{model:?}");
    }
}

#[test]
fn curl_understands_every_response() {
    // Method: a long body, for which curl waits for permission to send it, then HTTP/1.0.
    let folder = tempfile::tempdir().unwrap();
    let body = folder.path().join("body");
    std::fs::write(&body, vec![b'x'; 2_000_000]).unwrap();
    let data = format!("@{}", body.display());
    for model in real_models() {
        let url = format!("http://{}/", start(page(model)));
        let chunked = ["--data-binary", &data, "-H", "Transfer-Encoding: chunked"];
        let plain = ["--data-binary", &data];
        for options in [&chunked[..], &plain, &["--http1.0"], &["-X", "OPTIONS"]] {
            let output = Command::new("curl")
                .args([
                    "-sS",
                    "--max-time",
                    "20",
                    "-w",
                    "%{http_code} %{size_download}",
                ])
                .args(["-o", "/dev/null"])
                .args(options)
                .arg(&url)
                .output()
                .unwrap();
            let printed = String::from_utf8_lossy(&output.stdout);
            assert_eq!(printed, "200 87", "{model:?} {options:?} {output:?}");
        }
    }
}

#[test]
fn a_contradictory_configuration_is_refused() {
    // Method: one refusal per rule, and an address in use.
    let with = |model, content, faults| ServerConfig {
        content,
        faults,
        ..page(model)
    };
    let failing = Faults {
        fail_percent: 1.0,
        ..Faults::default()
    };
    let wrong = Faults {
        wrong_length_percent: 1.0,
        ..Faults::default()
    };
    let files = || Content::Files {
        root: "/nowhere".into(),
        sending: SendMethod::Sendfile,
    };
    let sized = |bytes| Content::Page { bytes: Some(bytes) };
    let no_faults = Faults::default();

    let error = refusal(with(Model::Null, files(), no_faults));
    assert!(is_refusal(&error, Model::Null, Feature::Files), "{error}");
    let error = refusal(with(Model::Null, sized(1), failing));
    assert!(is_refusal(&error, Model::Null, Feature::Faults), "{error}");
    let error = refusal(with(Model::Event, files(), wrong));
    assert!(matches!(error, ServeError::FaultOnFiles(_)), "{error}");
    let error = refusal(with(Model::Event, files(), no_faults));
    assert!(matches!(error, ServeError::Root { .. }), "{error}");
    let by_ring = Content::Files {
        root: ".".into(),
        sending: SendMethod::Uring,
    };
    let error = refusal(with(Model::Thread, by_ring, no_faults));
    assert!(
        is_refusal(&error, Model::Thread, Feature::FilesByRing),
        "{error}"
    );
    let error = refusal(with(Model::Event, sized(0), wrong));
    assert!(matches!(error, ServeError::EmptyPage), "{error}");
    let error = refusal(with(Model::Event, sized(1 << 40), no_faults));
    assert!(matches!(error, ServeError::PageTooLarge { .. }), "{error}");

    let address = start(page(Model::Event));
    for model in Model::ALL {
        let error = refusal(ServerConfig {
            address: address.into(),
            ..page(model)
        });
        assert!(matches!(error, ServeError::Listen { .. }), "{error}");
    }
}

/// The error with which a server refuses to start.
fn refusal(config: ServerConfig) -> ServeError {
    let result = serve(&config, |_| panic!("the server must not start"), |_| {});
    result.expect_err("the configuration is refused")
}

#[test]
fn a_model_without_websocket_is_refused_with_the_names_of_others() {
    // Method: models without WebSocket, and one without rooms; the message names alternatives.
    for (model, websocket, feature, choice) in [
        (
            Model::Null,
            WebSocketSupport::Echo,
            Feature::Echo,
            "choose the event, thread, thread-per-request or hybrid model",
        ),
        (
            Model::Prefork,
            WebSocketSupport::EchoAndChat,
            Feature::Echo,
            "or hybrid model",
        ),
        (
            Model::Hybrid,
            WebSocketSupport::EchoAndChat,
            Feature::Chat,
            "choose the event model",
        ),
    ] {
        let error = refusal(ServerConfig {
            websocket,
            ..page(model)
        });
        assert!(is_refusal(&error, model, feature), "{error}");
        assert!(error.to_string().ends_with(choice), "{error}");
    }
}

fn is_refusal(error: &ServeError, by: Model, of: Feature) -> bool {
    matches!(error, ServeError::Unsupported { model, feature } if (*model, *feature) == (by, of))
}

#[test]
fn a_full_backlog_rejects_connections() {
    // Method: a server that is busy with one request accepts no connections, so they fill its
    // backlog. The test connects until a connection is rejected.
    let connected = |backlog| {
        let faults = Faults {
            work: Work::Time(Duration::from_secs(10)),
            ..Faults::default()
        };
        let address = start(ServerConfig {
            backlog,
            faults,
            ..page(Model::Event)
        });
        let mut busy = Client::connect(address);
        busy.send(GET);
        let connect = |_| TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok();
        let streams: Vec<TcpStream> = (0..1_000).map_while(connect).collect();
        streams.len()
    };
    assert_eq!(connected(BACKLOG), 1_000);
    assert!(connected(1) < 1_000);
}
