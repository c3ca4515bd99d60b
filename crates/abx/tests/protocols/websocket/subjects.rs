//! The subjects of the study `websocket`. Each must behave like `abx serve --websocket`, which is
//! one of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use abx_lab::provision::{self, Provision};
use abx_lab::study_file::{self, SubjectSpec};
use abx_lab::{Launch, Source};
use abx_wire::websocket::{Fault, MessageKind};

use super::driver::{Peer, Received, Target};
use super::foreign::start_on_a_free_port;
use super::served::members;
use crate::catalog::built_in::WEBSOCKET;
use crate::support::{ABX, cache, wait_for};

/// The study's folder.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/websocket")
}

/// The launch of a subject, with its installations.
fn launch(spec: &SubjectSpec, folder: &Path, provisions: &[Provision]) -> Launch {
    let mut subject = spec.subject(folder).unwrap();
    let mut provisions = provisions.iter();
    if let Some(provision) = provisions.find(|provision| provision.subject() == spec.name) {
        assert!(provision.missing().is_empty(), "{provision:?}");
        provision.equip(&mut subject.source);
    }
    match subject.source {
        Source::Command(launch) => launch,
        Source::Address(_) => panic!("{} is not started by abx", spec.name),
    }
}

/// The command that starts it on this port.
fn command(launch: &Launch, folder: &Path, port: u16) -> Command {
    let words = launch.command.iter().map(|word| {
        word.replace("{port}", &port.to_string())
            .replace("{study}", &folder.to_string_lossy())
            .replace("{abx}", ABX)
    });
    let words: Vec<String> = words.collect();
    // The program may be on the subject's PATH only.
    let mut command = Command::new("env");
    command
        .args(&words)
        .envs(launch.environment.iter().cloned())
        .stderr(Stdio::null());
    command
}

/// Sends a message and waits for it to come back whole.
fn exchange(peer: &mut Peer, kind: MessageKind, payload: &[u8]) {
    peer.send(kind, payload);
    let received = peer.receive();
    assert!(
        received == Received::whole(kind, payload),
        "{kind:?} of {} bytes",
        payload.len()
    );
}

/// Checks echoes of every form of a length, of the study's own lengths and of fragments, then pings
/// and a close.
fn echo(port: &str) {
    let mut peer = Peer::open(port, "/echo?any=query");
    for length in [0, 5, 125, 126, 5_000, 20_000, 65_535, 65_536, 70_000] {
        let payload: Vec<u8> = (0..length).map(|place| b'a' + (place % 26) as u8).collect();
        for kind in [MessageKind::Binary, MessageKind::Text] {
            exchange(&mut peer, kind, &payload);
        }
    }
    exchange(&mut peer, MessageKind::Binary, b"\xFF\0\x80");
    peer.send_in_fragments(MessageKind::Text, &[b"gr\xC3", b"", b"\xBC\xC3\x9Fe"]);
    assert_eq!(peer.receive(), Received::Pong(vec![0]));
    assert_eq!(peer.receive(), Received::Pong(vec![1]));
    let whole = Received::whole(MessageKind::Text, "grüße".as_bytes());
    assert_eq!(peer.receive(), whole);
    peer.ping(b"are you there");
    assert_eq!(peer.receive(), Received::Pong(b"are you there".to_vec()));
    peer.close_cleanly(4000);
}

/// A chat of three members, who receive all its messages in one order, and leave.
fn chat(port: &str) {
    let open = || Peer::open(port, "/chat/red");
    let mut red: Vec<Peer> = (0..3).map(|_| open()).collect();
    let mut blue = Peer::open(port, "/chat/blue");
    wait_for("all members", || (members(port, "red") == 3).then_some(()));
    let large = vec![b'x'; 70_000];
    for (speaker, kind, payload) in [
        (0, MessageKind::Text, &b"first"[..]),
        (1, MessageKind::Text, &large),
        (2, MessageKind::Binary, b"\xFF"),
    ] {
        red[speaker].send(kind, payload);
        for member in &mut red {
            let received = member.receive();
            assert!(
                received == Received::whole(kind, payload),
                "message of {speaker}"
            );
        }
    }
    exchange(&mut blue, MessageKind::Text, b"only me");
    red.pop().unwrap().close_cleanly(1000);
    drop(red.pop());
    wait_for("two to leave", || (members(port, "red") == 1).then_some(()));
    exchange(&mut red[0], MessageKind::Text, b"alone");
}

/// A violation of the protocol gets its code and a close; other paths are refused.
fn violations(port: &str) {
    for (kind, payload, code) in [
        (MessageKind::Text, vec![0xFF], 1007),
        (MessageKind::Binary, vec![0; (16 << 20) + 1], 1009),
    ] {
        let mut peer = Peer::open(port, "/echo");
        peer.send(kind, &payload);
        match peer.receive() {
            Received::Close(Some(received), _) => assert_eq!(received, code),
            other => panic!("{other:?} instead of a close with {code}"),
        }
        assert_eq!(peer.receive(), Received::End);
    }
    let target = Target {
        port,
        path: "/elsewhere",
        protocols: &[],
    };
    let fault = Peer::try_open(&target).err();
    assert!(matches!(fault, Some(Fault::Refused(_))), "{fault:?}");
    let target = Target {
        path: "/echo",
        protocols: &["first", "second"],
        ..target
    };
    assert_eq!(Peer::try_open(&target).unwrap().protocol(), Some("first"));
}

/// A member that never reads is closed before it costs too much memory, and the others continue.
fn slow_reader(port: &str) {
    let mut slow = Peer::open(port, "/chat/slow");
    let mut speaker = Peer::open(port, "/chat/slow");
    wait_for("both", || (members(port, "slow") == 2).then_some(()));
    let payload = vec![7; 64_000];
    for echoes in 0.. {
        exchange(&mut speaker, MessageKind::Binary, &payload);
        if echoes % 20 == 0 && members(port, "slow") == 1 {
            break;
        }
        assert!(
            echoes < 2_000,
            "128 MB wait for a member that does not read"
        );
    }
    let last = loop {
        match slow.receive() {
            received if received == Received::whole(MessageKind::Binary, &payload) => {}
            other => break other,
        }
    };
    let why = "messages are read too slowly".to_owned();
    assert_eq!(last, Received::Close(Some(1008), why));
    exchange(&mut speaker, MessageKind::Text, b"still here");
}

#[test]
fn every_subject_of_the_study_behaves_like_our_server() {
    // Method: a run installs what the subjects need, as users install it. Then each is started by
    // its own command, and one client checks all of them in the same way.
    WEBSOCKET.expect_measured(&WEBSOCKET.json());
    let (file, folder) = study_file::read(&folder()).unwrap();
    let provisions = provision::survey(&file, &folder, &cache().join("abx"));
    thread::scope(|scope| {
        for spec in &file.subjects {
            let launch = launch(spec, &folder, &provisions);
            let start = |port| command(&launch, &folder, port);
            let (server, port) = start_on_a_free_port(&spec.name, start);
            // A failure is printed with the thread's name.
            let named = thread::Builder::new().name(spec.name.clone());
            let checks = move || {
                let _server = server;
                for check in [echo, chat, violations, slow_reader] {
                    check(&port);
                }
            };
            named.spawn_scoped(scope, checks).unwrap();
        }
    });
}
