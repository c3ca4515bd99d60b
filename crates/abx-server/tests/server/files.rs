//! Files below a root, and nothing above it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use abx_server::{Content, Model, ServerConfig};
use tempfile::TempDir;

use crate::support::{Client, To, page, start};

const REAL: [Model; 2] = [Model::Event, Model::Thread];

/// Large enough that no socket buffers hold it.
const LARGE_BYTES: usize = 20_000_000;

/// A root with files, beside a file that must stay out of reach.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("there is room for files");
    let root = folder.path().join("root");
    let make = || {
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
    make().expect("the files can be made");
    folder
}

/// Bytes without a short period, so that a piece in the wrong place shows.
fn large() -> Vec<u8> {
    let mut state = 1_u32;
    let random = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_le_bytes()[3]
    });
    random.take(LARGE_BYTES).collect()
}

fn config(model: Model, folder: &Path) -> ServerConfig {
    ServerConfig {
        content: Content::Files {
            root: folder.join("root"),
        },
        ..page(model)
    }
}

#[test]
fn files_come_byte_for_byte_with_their_type() {
    // Method: every kind of file on one connection, the large one twice.
    let folder = folder();
    let large = large();
    for model in REAL {
        let mut client = Client::connect(start(config(model, folder.path())));
        let cases: [(&str, &str, &[u8]); 6] = [
            ("/large.bin", "application/octet-stream", &large),
            ("/", "text/html", b"index"),
            ("/empty.css", "text/css", b""),
            ("/inner/with%20space.txt?v=1", "text/plain", b"inside"),
            ("/link", "application/octet-stream", b"inside"),
            ("/large.bin", "application/octet-stream", &large),
        ];
        for (path, content_type, body) in cases {
            let answer = client.get(path);
            assert_eq!(answer.status, 200, "{model:?} {path}");
            assert!(answer.body == body, "{model:?} {path}");
            let line = format!("\r\nContent-Type: {content_type}\r\n");
            assert!(answer.head.contains(&line), "{model:?} {path}");
        }
    }
}

#[test]
fn nothing_outside_of_the_root_is_served() {
    // Method: every way up, written out, escaped and through links; then a
    // directory and a name that is not there.
    let folder = folder();
    for model in REAL {
        let mut client = Client::connect(start(config(model, folder.path())));
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
            let answer = client.get(path);
            assert_eq!(answer.status, 404, "{model:?} {path}");
            assert!(!answer.body.starts_with(b"secret"), "{model:?} {path}");
        }
    }
}

#[test]
fn files_answer_get_head_and_post_only() {
    // Method: each method in turn on one connection.
    let folder = folder();
    for model in REAL {
        let mut client = Client::connect(start(config(model, folder.path())));
        for (method, to, status, length) in [
            ("GET", To::Get, 200, 5),
            ("HEAD", To::Head, 200, 5),
            ("POST", To::Get, 200, 5),
            ("DELETE", To::Get, 405, 43),
        ] {
            client.send(format!("{method} / HTTP/1.1\r\nHost: h\r\n\r\n"));
            let answer = client.answer(to).unwrap();
            assert_eq!(answer.status, status, "{model:?} {method}");
            let line = format!("\r\nContent-Length: {length}\r\n");
            assert!(answer.head.contains(&line), "{model:?} {answer:?}");
        }
    }
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody() {
    // Method: one client asks for the large file ten times and reads nothing
    // while another is served a hundred times; then the first one reads it all.
    let folder = folder();
    let large = large();
    let address = start(config(Model::Event, folder.path()));
    let mut slow = Client::connect(address);
    slow.send("GET /large.bin HTTP/1.1\r\nHost: h\r\n\r\n".repeat(10));
    let mut quick = Client::connect(address);
    for _ in 0..100 {
        assert_eq!(quick.get("/").body, b"index");
    }
    for _ in 0..10 {
        assert!(slow.answer(To::Get).unwrap().body == large);
    }
}
