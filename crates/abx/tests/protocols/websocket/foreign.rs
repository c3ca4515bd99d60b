//! Clients and servers that share no code with ours: `ws` on node, `websockets`
//! in Python, and the tunnel of lighttpd.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

use abx_wire::websocket::{Fault, MessageKind};

use super::driver::{Peer, Received, Target};
use crate::support::{Home, Server, peers, wait_for};

/// A command for one of the scripts in `peers`, with the interpreter for its suffix.
fn script(name: &str) -> Command {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/protocols/websocket/peers")
        .join(name);
    let mut command = if name.ends_with(".py") {
        Command::new(peers("venv/bin/python"))
    } else {
        Command::new("node")
    };
    if !name.ends_with(".py") {
        command.env("NODE_PATH", peers("node_modules"));
    }
    command
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

/// A server that is ended when it is dropped.
pub struct Foreign(Child);

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a scripted server, and reads the port that it prints.
fn start(script: &mut Command) -> (Foreign, String) {
    let mut child = script.spawn().unwrap();
    let stdout = child.stdout.take().unwrap();
    let foreign = Foreign(child);
    let mut port = String::new();
    BufReader::new(stdout).read_line(&mut port).unwrap();
    (foreign, port.trim().to_owned())
}

/// Starts a server that takes its port as an argument, and waits until it listens there.
pub fn start_on_a_free_port(
    name: &str,
    mut command: impl FnMut(u16) -> Command,
) -> (Foreign, String) {
    // Another test may take the port before the server does.
    for _ in 0..10 {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut server = Foreign(command(port).stdin(Stdio::null()).spawn().unwrap());
        let is_up = wait_for(name, || match server.0.try_wait().unwrap() {
            Some(_) => Some(false),
            None => TcpStream::connect(("127.0.0.1", port)).ok().map(|_| true),
        });
        if is_up {
            return (server, port.to_string());
        }
    }
    panic!("{name} did not start in ten tries");
}

fn text(payload: &str) -> Received {
    Received::whole(MessageKind::Text, payload.as_bytes())
}

/// Waits for the next event except pings, which some servers send by themselves.
fn receive(peer: &mut Peer) -> Received {
    loop {
        match peer.receive() {
            Received::Ping(_) => {}
            received => return received,
        }
    }
}

/// Uses everything that our client supports with one of the scripted servers.
fn converse(port: &str) {
    let mut peer = Peer::open(port, "/");
    for length in [0, 1, 125, 126, 65_535, 65_536, 70_000, 1_500_000] {
        let payload: Vec<u8> = (0..length).map(|place| b'a' + (place % 26) as u8).collect();
        for kind in [MessageKind::Binary, MessageKind::Text] {
            peer.send(kind, &payload);
            assert!(
                receive(&mut peer) == Received::whole(kind, &payload),
                "{kind:?} of {length}"
            );
        }
    }
    peer.send_in_fragments(MessageKind::Text, &[b"gr\xC3", b"", b"\xBC\xC3\x9Fe"]);
    assert_eq!(receive(&mut peer), Received::Pong(vec![0]));
    assert_eq!(receive(&mut peer), Received::Pong(vec![1]));
    assert_eq!(receive(&mut peer), text("grüße"));
    peer.ping(b"are you there");
    assert_eq!(
        receive(&mut peer),
        Received::Pong(b"are you there".to_vec())
    );
    // They receive our pong, with the payload of their ping.
    peer.send(MessageKind::Text, b"ping");
    assert_eq!(receive(&mut peer), text("pong there"));
    peer.send(MessageKind::Text, b"pieces");
    match receive(&mut peer) {
        Received::Message(message) => {
            assert_eq!(
                (message.payload.as_slice(), message.kind),
                (&b"in pieces"[..], MessageKind::Text)
            );
            assert!(message.fragments >= 2, "{message:?}");
        }
        other => panic!("{other:?}"),
    }
    peer.close_cleanly(4000);

    let mut peer = Peer::open(port, "/");
    peer.send(MessageKind::Text, b"close");
    assert_eq!(
        receive(&mut peer),
        Received::Close(Some(4001), "as asked".to_owned())
    );
    assert_eq!(receive(&mut peer), Received::End);
}

/// Violates the protocol: the server must close the connection with the matching code.
fn violations(port: &str) {
    for (kind, payload, code) in [
        (MessageKind::Text, vec![0xFF], 1007),
        (MessageKind::Binary, vec![0; 2_000_001], 1009),
    ] {
        let mut peer = Peer::open(port, "/");
        peer.send(kind, &payload);
        match receive(&mut peer) {
            Received::Close(Some(received), _) => assert_eq!(received, code),
            other => panic!("{other:?} instead of a close with {code}"),
        }
    }
}

#[test]
fn our_client_works_with_foreign_servers() {
    // Method: every length form in both kinds, fragments with pings inside, pings and closes from
    // either side, a chosen subprotocol, and frames that they refuse.
    for name in ["ws_server.cjs", "websockets_server.py"] {
        let (_foreign, port) = start(&mut script(name));
        converse(&port);
        violations(&port);
        let target = Target {
            port: &port,
            path: "/",
            protocols: &["first", "second"],
        };
        let peer = Peer::try_open(&target).unwrap();
        assert_eq!(peer.protocol(), Some("second"), "{name}");
    }
}

#[test]
fn subprotocols_are_offered_and_the_choice_of_the_server_is_checked() {
    // Method: a server that chooses an offered subprotocol, and the tunnel of lighttpd, which names
    // its own subprotocol even if it was not offered.
    let home = Home::new();
    let (_foreign, port) = start(&mut script("ws_server.cjs"));
    let load = |port: &str, offer: &str| {
        let header = format!("Sec-WebSocket-Protocol: {offer}");
        let url = format!("ws://127.0.0.1:{port}/");
        home.run_abx(&["run", &url, "-n", "20", "-c", "2", "-H", &header])
    };
    load(&port, "first, second").expect(0, &[]);
    let backend = TcpListener::bind("127.0.0.1:0").unwrap();
    let (_lighttpd, port) = tunnel(&home, backend.local_addr().unwrap().port());
    load(&port, "other").expect(2, &["subprotocol that was not offered"]);
    load(&port, "a b").expect(2, &["subprotocol \"a b\""]);
}

#[test]
fn a_load_ends_with_a_close_frame_on_each_connection() {
    // Method: each shape over three connections. A foreign server logs the code of each close,
    // including those of the connections that verified the server first.
    let home = Home::new();
    let file = home.join("closes");
    let (_foreign, port) = start(script("websockets_server.py").arg(&file));
    let url = format!("ws://127.0.0.1:{port}/");
    let shapes = [
        &["-n", "30"][..],
        &["--shape", "connections", "--hold", "50ms"],
    ];
    for shape in shapes {
        let run = ["run", &url, "-c", "3"];
        home.run_abx(&[&run, shape].concat()).expect(0, &[]);
        let closes = wait_for("six closes", || {
            let text = fs::read_to_string(&file).unwrap_or_default();
            (text.lines().count() >= 6).then_some(text)
        });
        assert!(closes.lines().all(|code| code == "1000"), "{closes}");
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn foreign_clients_work_with_our_server() {
    // Method: the clients themselves check echoes of every length form, fragments, pings, a chat
    // and closes, and print "ok" at the end.
    let server = Server::start(&["--websocket"]);
    for name in ["ws_client.cjs", "websockets_client.py"] {
        let url = format!("ws://127.0.0.1:{}", server.port());
        let ended = script(name).arg(url).output().unwrap();
        let message = String::from_utf8_lossy(&ended.stdout);
        assert!(
            ended.status.success() && message == "ok\n",
            "{name}: {ended:?}"
        );
    }
}

#[test]
fn our_client_works_through_the_tunnel_of_lighttpd() {
    // Method: lighttpd passes payloads to a server of plain bytes, which sends them back. Messages
    // may come back with other boundaries, so bytes are compared. A path without a tunnel refuses
    // the handshake.
    let backend = TcpListener::bind("127.0.0.1:0").unwrap();
    let backend_port = backend.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in backend.incoming().flatten() {
            thread::spawn(move || io::copy(&mut stream.try_clone().unwrap(), &mut &stream));
        }
    });
    let home = Home::new();
    let (_lighttpd, port) = tunnel(&home, backend_port);
    // It always names its subprotocol, which is correct only if the client offered it.
    let open = |path, protocols| {
        Peer::try_open(&Target {
            port: &port,
            path,
            protocols,
        })
    };
    assert_eq!(open("/", &[]).err(), Some(Fault::UnaskedProtocol));
    let mut peer = open("/", &["binary"]).unwrap();
    for length in [1, 125, 126, 65_536, 300_000] {
        let payload: Vec<u8> = (0..length).map(|place| (place % 251) as u8).collect();
        peer.send(MessageKind::Binary, &payload);
        let mut back = Vec::new();
        while back.len() < payload.len() {
            match receive(&mut peer) {
                Received::Message(message) => back.extend(message.payload),
                other => panic!("{other:?} after {} of {length} bytes", back.len()),
            }
        }
        assert!(back == payload, "{length}");
    }
    assert_eq!(open("/elsewhere", &[]).err(), Some(Fault::Refused(404)));
}

/// A lighttpd that is a tunnel to this port at `/`, and its own port.
fn tunnel(home: &Home, backend_port: u16) -> (Foreign, String) {
    start_on_a_free_port("lighttpd", |port| {
        let configuration = home.write(
            "lighttpd.conf",
            &format!(
                "server.document-root = \"{}\"\nserver.bind = \"127.0.0.1\"\nserver.port = {port}\n\
                 server.modules = (\"mod_wstunnel\")\n\
                 $HTTP[\"url\"] == \"/\" {{\n wstunnel.server = ( \"\" => \
                 (( \"host\" => \"127.0.0.1\", \"port\" => {backend_port} )) )\n\
                 wstunnel.frame-type = \"binary\"\n}}\n",
                home.path().display()
            ),
        );
        let mut command = Command::new("lighttpd");
        command
            .args(["-D", "-f", &configuration])
            .stderr(Stdio::null());
        command
    })
}
