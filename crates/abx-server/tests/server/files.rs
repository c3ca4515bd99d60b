//! Files below a root, and nothing outside it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use abx_server::{Content, Faults, Feature, Model, SendMethod, ServerConfig};
use abx_sys::FileRing;
use tempfile::TempDir;

use crate::support::{Client, To, concurrent_models, page, real_models, start};

/// A model, and the method by which it sends files.
type Way = (Model, SendMethod);

/// All combinations that this kernel supports.
fn ways() -> Vec<Way> {
    // Containers often forbid rings; the other methods have the same contract.
    let has_rings = FileRing::new().is_ok();
    let send_methods = [SendMethod::Sendfile, SendMethod::Read, SendMethod::Uring];
    real_models()
        .flat_map(|model| send_methods.map(|sending| (model, sending)))
        .filter(|(model, sending)| {
            *sending != SendMethod::Uring || has_rings && model.supports(Feature::FilesByRing)
        })
        .collect()
}

/// The ways of models that serve many connections at once.
fn concurrent_ways() -> Vec<Way> {
    let mut ways = ways();
    ways.retain(|(model, _)| concurrent_models().any(|concurrent| concurrent == *model));
    ways
}

/// Larger than the socket buffers.
const LARGE_BYTES: usize = 20_000_000;

/// A root with files, next to a file that must not be served.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder can be created");
    let root = folder.path().join("root");
    let create = || {
        fs::create_dir_all(root.join("inner"))?;
        fs::write(folder.path().join("secret"), "secret")?;
        fs::write(root.join("index.html"), "index")?;
        fs::write(root.join("empty.css"), "")?;
        fs::write(root.join("inner/with space.txt"), "inside")?;
        fs::write(root.join("large.bin"), large())?;
        symlink("inner/with space.txt", root.join("link"))?;
        symlink("../secret", root.join("way-out"))?;
        symlink(folder.path().join("secret"), root.join("absolute"))?;
        symlink("..", root.join("up"))
    };
    create().expect("the files can be created");
    folder
}

/// Bytes without a short period, so that a misplaced piece is detected.
fn large() -> &'static [u8] {
    static LARGE: OnceLock<Vec<u8>> = OnceLock::new();
    LARGE.get_or_init(|| {
        let mut state = 1_u32;
        let random = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_le_bytes()[3]
        });
        random.take(LARGE_BYTES).collect()
    })
}

fn config((model, sending): Way, folder: &Path) -> ServerConfig {
    ServerConfig {
        content: Content::Files {
            root: folder.join("root"),
            sending,
        },
        ..page(model)
    }
}

#[test]
fn files_are_served_byte_for_byte_with_their_type() {
    // Method: every kind of file on one connection, the large one twice.
    let folder = folder();
    let large = large();
    for way in ways() {
        let mut client = Client::connect(start(config(way, folder.path())));
        let cases: [(&str, &str, &[u8]); 6] = [
            ("/large.bin", "application/octet-stream", large),
            ("/", "text/html", b"index"),
            ("/empty.css", "text/css", b""),
            ("/inner/with%20space.txt?v=1", "text/plain", b"inside"),
            ("/link", "application/octet-stream", b"inside"),
            ("/large.bin", "application/octet-stream", large),
        ];
        for (path, content_type, body) in cases {
            let response = client.get(path);
            assert_eq!(response.status, 200, "{way:?} {path}");
            assert!(response.body == body, "{way:?} {path}");
            let header = format!("\r\nContent-Type: {content_type}\r\n");
            assert!(response.head.contains(&header), "{way:?} {path}");
        }
    }
}

#[test]
fn nothing_outside_the_root_is_served() {
    // Method: all paths out of the root, plain, escaped and through links; then a directory and a
    // missing name.
    let folder = folder();
    for way in ways() {
        let mut client = Client::connect(start(config(way, folder.path())));
        for path in [
            "/../secret",
            "/inner/../../secret",
            "/%2e%2e/secret",
            "/..%2Fsecret",
            "/way-out",
            "/absolute",
            "/up/secret",
            "//etc/passwd",
            "/inner",
            "/inner/",
            "/missing",
            "/index.html%00",
        ] {
            let response = client.get(path);
            assert_eq!(response.status, 404, "{way:?} {path}");
            assert!(!response.body.starts_with(b"secret"), "{way:?} {path}");
        }
    }
}

#[test]
fn files_allow_get_head_and_post_only() {
    // Method: each method in turn on one connection.
    let folder = folder();
    for way in ways() {
        let mut client = Client::connect(start(config(way, folder.path())));
        for (method, to, status, length) in [
            ("GET", To::Get, 200, 5),
            ("HEAD", To::Head, 200, 5),
            ("POST", To::Get, 200, 5),
            ("DELETE", To::Get, 405, 46),
        ] {
            client.send(format!("{method} / HTTP/1.1\r\nHost: h\r\n\r\n"));
            let response = client.response(to).unwrap();
            assert_eq!(response.status, status, "{way:?} {method}");
            let header = format!("\r\nContent-Length: {length}\r\n");
            assert!(response.head.contains(&header), "{way:?} {response:?}");
        }
    }
}

#[test]
fn a_client_that_does_not_read_does_not_delay_others() {
    // Method: one client requests the large file five times and reads nothing while another is
    // served a hundred times; then the first client reads everything.
    let folder = folder();
    let large = large();
    for way in concurrent_ways() {
        let address = start(config(way, folder.path()));
        let mut slow = Client::connect(address);
        slow.send("GET /large.bin HTTP/1.1\r\nHost: h\r\n\r\n".repeat(5));
        let mut quick = Client::connect(address);
        for _ in 0..100 {
            assert_eq!(quick.get("/").body, b"index", "{way:?}");
        }
        for _ in 0..5 {
            assert!(slow.response(To::Get).unwrap().body == large, "{way:?}");
        }
    }
}

#[test]
fn many_connections_each_get_the_requested_file() {
    // Method: 200 connections each request one of ten files of a megabyte; only then are they read,
    // one after the other; twice per connection.
    let folder = folder();
    let large = large();
    let part = |number: usize| &large[number % 10 * 1_000_000..][..1_000_000];
    for number in 0..10 {
        let path = folder.path().join(format!("root/{number}.bin"));
        fs::write(path, part(number)).unwrap();
    }
    for way in concurrent_ways() {
        let address = start(config(way, folder.path()));
        let mut clients: Vec<_> = (0..200).map(|_| Client::connect(address)).collect();
        for turn in 0..2 {
            for (number, client) in clients.iter_mut().enumerate() {
                let path = format!("/{}.bin", (number + turn) % 10);
                client.send(format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n"));
            }
            for (number, client) in clients.iter_mut().enumerate() {
                let response = client.response(To::Get).unwrap();
                assert!(response.body == part(number + turn), "{way:?} {number}");
            }
        }
    }
}

#[test]
fn a_pipeline_of_small_files_is_served_in_order() {
    // Method: files, an index, an empty file, a missing one and a HEAD in one send.
    let folder = folder();
    for way in ways() {
        let mut client = Client::connect(start(config(way, folder.path())));
        let get = |path| format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n");
        let head = "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n".to_owned();
        client.send(
            [
                get("/"),
                get("/missing"),
                head,
                get("/empty.css"),
                get("/link"),
            ]
            .concat(),
        );
        assert_eq!(client.response(To::Get).unwrap().body, b"index", "{way:?}");
        assert_eq!(client.response(To::Get).unwrap().status, 404, "{way:?}");
        assert_eq!(client.response(To::Head).unwrap().status, 200, "{way:?}");
        assert_eq!(client.response(To::Get).unwrap().body, b"", "{way:?}");
        assert_eq!(client.response(To::Get).unwrap().body, b"inside", "{way:?}");
    }
}

#[test]
fn a_file_that_shrinks_ends_the_connection_and_one_that_grows_keeps_its_length() {
    // Method: a client requests a file larger than the buffers and reads the head; then the file is
    // halved or extended, and the client continues to read.
    let large = large();
    for way in ways() {
        for shrinks in [true, false] {
            let folder = folder();
            let file = fs::OpenOptions::new()
                .append(true)
                .open(folder.path().join("root/large.bin"))
                .unwrap();
            let mut client = Client::connect(start(config(way, folder.path())));
            client.send("GET /large.bin HTTP/1.1\r\nHost: h\r\n\r\n");
            let response = client.response(To::Head).unwrap();
            let header = format!("Content-Length: {LARGE_BYTES}\r\n");
            assert!(response.head.contains(&header), "{way:?}");
            if shrinks {
                file.set_len(LARGE_BYTES as u64 / 2).unwrap();
                let rest = client.rest();
                assert!(rest.len() < LARGE_BYTES, "{way:?} {}", rest.len());
                assert!(rest == large[..rest.len()], "{way:?}");
            } else {
                (&file).write_all(b"more").unwrap();
                assert!(client.bytes(LARGE_BYTES) == large, "{way:?}");
                assert_eq!(client.get("/").body, b"index", "{way:?}");
            }
        }
    }
}

#[test]
fn a_client_that_leaves_early_does_not_affect_others() {
    // Method: twenty clients request the large file and leave without reading it, so that their
    // numbers are reused; then others read it completely.
    let folder = folder();
    let large = large();
    for way in ways() {
        let address = start(config(way, folder.path()));
        for _ in 0..3 {
            for _ in 0..20 {
                let mut client = Client::connect(address);
                client.send("GET /large.bin HTTP/1.1\r\nHost: h\r\n\r\n");
                client.response(To::Head).unwrap();
            }
            let mut client = Client::connect(address);
            assert!(client.get("/large.bin").body == large, "{way:?}");
            assert_eq!(client.get("/").body, b"index", "{way:?}");
        }
    }
}

#[test]
fn responses_with_files_may_be_delayed_or_refused() {
    // Method: many requests, half of which are refused, all with a delay. Accepted responses must
    // be complete, and both kinds must occur.
    let folder = folder();
    for way in ways() {
        let faults = Faults {
            delay: Duration::from_millis(1),
            fail_percent: 50.0,
            ..Faults::default()
        };
        let mut client = Client::connect(start(ServerConfig {
            faults,
            ..config(way, folder.path())
        }));
        let mut counts = [0; 2];
        for _ in 0..60 {
            let response = client.get("/link");
            match response.status {
                200 => assert_eq!(response.body, b"inside", "{way:?}"),
                status => assert_eq!(status, 503, "{way:?}"),
            }
            counts[usize::from(response.status == 503)] += 1;
        }
        assert!(counts.iter().all(|count| *count > 5), "{way:?} {counts:?}");
    }
}
