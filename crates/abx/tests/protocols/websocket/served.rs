//! `abx serve --websocket` as its clients see it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};

use abx_wire::websocket::{Fault, MessageKind};

use super::driver::{Peer, Received, Target};
use crate::support::{Home, Server, wait_for};

/// The status and body of a plain GET.
fn get(port: &str, path: &str, headers: &str) -> (String, String) {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

/// How many members a room reports.
pub fn members(port: &str, room: &str) -> usize {
    let (status, body) = get(port, &format!("/chat/{room}"), "");
    assert_eq!(status, "HTTP/1.1 200 OK");
    body.trim().parse().unwrap()
}

fn binary(payload: &[u8]) -> Received {
    Received::whole(MessageKind::Binary, payload)
}

fn text(payload: &str) -> Received {
    Received::whole(MessageKind::Text, payload.as_bytes())
}

#[test]
fn an_echo_returns_each_message_unchanged() {
    // Method: both kinds, lengths around each form of a frame's length and above the buffers of
    // sockets, fragments with pings between; then an orderly close.
    for model in ["event", "thread", "thread-per-request", "hybrid"] {
        let server = Server::start(&["--websocket=echo", "--model", model]);
        echo_each_message(Peer::open(server.port(), "/echo?any=query"));
        // Without a chat, this is a page like any other.
        assert_eq!(get(server.port(), "/chat/red", "").1.len(), 87, "{model}");
    }
}

fn echo_each_message(mut peer: Peer) {
    for length in [0, 1, 125, 126, 65_535, 65_536, 70_000, 5_000_000] {
        let payload: Vec<u8> = (0..length).map(|place| (place % 251) as u8).collect();
        peer.send(MessageKind::Binary, &payload);
        assert!(peer.receive() == binary(&payload), "{length}");
    }
    peer.send(MessageKind::Text, "grüße".as_bytes());
    assert_eq!(peer.receive(), text("grüße"));
    peer.send_in_fragments(MessageKind::Text, &[b"gr\xC3", b"", b"\xBC\xC3\x9Fe"]);
    assert_eq!(peer.receive(), Received::Pong(vec![0]));
    assert_eq!(peer.receive(), Received::Pong(vec![1]));
    assert_eq!(peer.receive(), text("grüße"));
    peer.close_cleanly(4321);
}

#[test]
fn a_protocol_violation_closes_the_connection_with_its_code() {
    // Method: invalid text, and one byte more than the largest message.
    let server = Server::start(&["--websocket"]);
    for (kind, payload, code) in [
        (MessageKind::Text, vec![0xFF], 1007),
        (MessageKind::Binary, vec![0; (16 << 20) + 1], 1009),
    ] {
        let mut peer = Peer::open(server.port(), "/echo");
        peer.send(kind, &payload);
        assert_eq!(peer.receive(), Received::Close(Some(code), String::new()));
        assert_eq!(peer.receive(), Received::End);
    }
}

#[test]
fn content_is_served_too_even_to_handshakes_at_other_paths() {
    // Method: plain requests, and valid and invalid handshakes, at paths with and without a
    // WebSocket and on a server without that option.
    let server = Server::start(&["--websocket"]);
    let port = server.port();
    for path in ["/", "/echo", "/chat/", "/chat"] {
        let (status, body) = get(port, path, "");
        assert_eq!(
            (status.as_str(), body.len()),
            ("HTTP/1.1 200 OK", 87),
            "{path}"
        );
    }
    let handshake = "Connection: Upgrade\r\nUpgrade: websocket\r\n\
                     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: ";
    let (status, _) = get(port, "/echo", &format!("{handshake}8\r\n"));
    assert_eq!(status, "HTTP/1.1 426 Upgrade Required");
    let plain = Server::start(&[]);
    for (port, path) in [(port, "/"), (port, "/chat/"), (plain.port(), "/echo")] {
        let target = Target {
            port,
            path,
            protocols: &[],
        };
        assert_eq!(
            Peer::try_open(&target).err(),
            Some(Fault::Refused(200)),
            "{path}"
        );
    }
    let target = Target {
        port,
        path: "/echo",
        protocols: &["first", "second"],
    };
    assert_eq!(Peer::try_open(&target).unwrap().protocol(), Some("first"));
}

#[test]
fn only_the_event_model_has_rooms_and_some_models_have_no_websocket() {
    // Method: the flag with each other model.
    let home = Home::new();
    for (model, choice) in [
        ("thread", "choose the event model"),
        ("hybrid", "choose the event model"),
        (
            "prefork",
            "choose the event, thread, thread-per-request or hybrid model",
        ),
        (
            "null",
            "choose the event, thread, thread-per-request or hybrid model",
        ),
    ] {
        home.run_abx(&["serve", "--port", "0", "--websocket", "--model", model])
            .expect(2, &[&format!("the {model} model"), choice]);
    }
    home.run_abx(&["serve", "--port", "0", "--max-threads", "3"])
        .expect(2, &["a number of threads", "thread-per-request or hybrid"]);
}

#[test]
fn each_message_reaches_its_room_once_and_no_other_room() {
    // Method: three members of one room and one of another. Each sends a message and waits for its
    // own. All members of a room receive all its messages in one order.
    let server = Server::start(&["--websocket"]);
    let port = server.port();
    let mut red: Vec<Peer> = (0..3).map(|_| Peer::open(port, "/chat/red")).collect();
    let mut blue = Peer::open(port, "/chat/blue");
    assert_eq!(
        [
            members(port, "red"),
            members(port, "blue"),
            members(port, "green")
        ],
        [3, 1, 0]
    );
    let large = "x".repeat(70_000);
    red[0].send(MessageKind::Text, b"a");
    assert_eq!(red[0].receive(), text("a"));
    red[1].send(MessageKind::Text, large.as_bytes());
    assert_eq!(red[1].receive(), text("a"));
    assert!(red[1].receive() == text(&large));
    red[2].send(MessageKind::Binary, b"c");
    assert!(red[0].receive() == text(&large));
    assert_eq!(red[0].receive(), binary(b"c"));
    assert_eq!(red[1].receive(), binary(b"c"));
    assert_eq!(red[2].receive(), text("a"));
    assert!(red[2].receive() == text(&large));
    assert_eq!(red[2].receive(), binary(b"c"));
    blue.send(MessageKind::Text, b"only me");
    assert_eq!(blue.receive(), text("only me"));

    red.pop().unwrap().close_cleanly(1000);
    drop(red.pop());
    wait_for("both to have left", || {
        (members(port, "red") == 1).then_some(())
    });
    red[0].send(MessageKind::Text, b"alone");
    assert_eq!(red[0].receive(), text("alone"));
}

#[test]
fn frames_written_in_two_parts_are_complete_messages() {
    // Method: an echo with and without Nagle's algorithm, of messages with and without a payload,
    // several at once and large ones.
    for flags in [
        &["--websocket", "--split-frames"][..],
        &["--websocket", "--split-frames", "--no-nodelay"],
    ] {
        let server = Server::start(flags);
        let mut peer = Peer::open(server.port(), "/echo");
        let messages = ["", "a", "", "bc", &"d".repeat(5_000_000), "e"];
        for message in messages {
            peer.send(MessageKind::Text, message.as_bytes());
        }
        for message in messages {
            assert!(peer.receive() == text(message), "{}", message.len());
        }
        peer.close_cleanly(1000);
    }
}

#[test]
fn frames_may_come_with_the_handshake() {
    // Method: a handshake and two frames by hand in one write. The frames are texts of one byte
    // with a mask of zeroes, which come back without a mask.
    let server = Server::start(&["--websocket"]);
    let mut stream = TcpStream::connect(format!("127.0.0.1:{}", server.port())).unwrap();
    let handshake = "GET /echo HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    let frames = b"\x81\x81\0\0\0\0a\x81\x81\0\0\0\0b\x88\x80\0\0\0\0";
    stream
        .write_all(&[handshake.as_bytes(), frames].concat())
        .unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).unwrap();
    assert!(
        response.ends_with(b"\r\n\r\n\x81\x01a\x81\x01b\x88\0"),
        "{response:?}"
    );
}

#[test]
fn a_client_that_does_not_read_is_not_read_from() {
    // Method: a thread writes 100 messages of 1 MB, and reading begins only after the first ones.
    // All must come back in order, and the server must never have held more than a few of them.
    let server = Server::start(&["--websocket"]);
    let mut peer = Peer::open(server.port(), "/echo");
    let mut writer = peer.writer();
    let written = AtomicUsize::new(0);
    let message = |number: usize| vec![number as u8; 1_000_000];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..100 {
                writer.send(&message(number));
                written.fetch_add(1, Ordering::Relaxed);
            }
        });
        wait_for("the first messages", || {
            (written.load(Ordering::Relaxed) >= 2).then_some(())
        });
        for number in 0..100 {
            assert!(peer.receive() == binary(&message(number)), "{number}");
        }
    });
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let most = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let most_kb: u64 = most.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(most_kb < 40_000, "{most_kb} kB");
}

#[test]
fn a_member_that_does_not_read_is_closed_and_others_continue() {
    // Method: one member never reads while another sends 64 kB again and again, more than all
    // buffers hold, until the room has only one member. The slow member must then read complete
    // messages and a close with 1008.
    let server = Server::start(&["--websocket"]);
    let port = server.port();
    let mut slow = Peer::open(port, "/chat/red");
    let mut speaker = Peer::open(port, "/chat/red");
    let payload = vec![7; 64_000];
    let mut echoes = 0;
    while members(port, "red") == 2 {
        for _ in 0..20 {
            speaker.send(MessageKind::Binary, &payload);
            assert!(speaker.receive() == binary(&payload));
            echoes += 1;
        }
        assert!(
            echoes < 2_000,
            "128 MB wait for a member that does not read"
        );
    }
    let mut received = 0;
    let last = loop {
        match slow.receive() {
            message if message == binary(&payload) => received += 1,
            other => break other,
        }
    };
    assert_eq!(
        last,
        Received::Close(Some(1008), "messages are read too slowly".to_owned())
    );
    assert_eq!(slow.receive(), Received::End);
    assert!(
        (4_000_000 / 64_000..echoes).contains(&received),
        "{received} of {echoes}"
    );
    speaker.send(MessageKind::Text, b"still here");
    assert_eq!(speaker.receive(), text("still here"));
}

#[test]
fn planted_faults_hold_for_handshakes_and_messages() {
    // Method: an echo and a chat with a delay, with two messages at once, in order; then handshakes
    // that all fail.
    let server = Server::start(&["--websocket", "--delay", "1ms", "--work", "1us"]);
    for path in ["/echo", "/chat/red"] {
        let mut peer = Peer::open(server.port(), path);
        peer.send(MessageKind::Text, b"first");
        peer.send(MessageKind::Text, b"second");
        assert_eq!(peer.receive(), text("first"));
        assert_eq!(peer.receive(), text("second"));
        peer.close_cleanly(1000);
    }
    let server = Server::start(&["--websocket", "--fail", "100"]);
    let target = Target {
        port: server.port(),
        path: "/echo",
        protocols: &[],
    };
    assert_eq!(Peer::try_open(&target).err(), Some(Fault::Refused(503)));
}
