//! The server without free descriptors. A separate file, because the limit is per process.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use abx_server::{Model, ServerConfig, serve};
use abx_sys::ServerAddress;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// No working server needs it.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_server_out_of_descriptors_continues_when_some_are_free_again() {
    // Method: clients and servers share a small limit. Clients connect until the kernel refuses.
    // Then half of them leave, and each of the others must get a response, whether it was accepted
    // or not. A process with one connection at a time needs no more descriptors.
    let limit = Rlimit {
        current: Some(60),
        ..getrlimit(Resource::Nofile)
    };
    setrlimit(Resource::Nofile, limit).unwrap();
    for model in Model::ALL
        .into_iter()
        .filter(|model| *model != Model::Prefork)
    {
        let (address, refusals) = start(model);
        let mut clients = Vec::new();
        loop {
            match TcpStream::connect(address) {
                Ok(client) => clients.push(client),
                Err(error) => {
                    assert_ne!(error.kind(), ErrorKind::ConnectionRefused, "{model:?}");
                    break;
                }
            }
        }
        assert!(clients.len() > 10, "{model:?} {}", clients.len());
        let refusal = refusals.recv_timeout(PATIENCE).unwrap();
        assert!(
            refusal.contains("Too many open files"),
            "{model:?} {refusal}"
        );
        clients.truncate(clients.len() / 2);
        for mut client in clients {
            client.set_read_timeout(Some(PATIENCE)).unwrap();
            client
                .write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                .unwrap();
            let mut response = [0; 15];
            client.read_exact(&mut response).unwrap();
            assert_eq!(&response, b"HTTP/1.1 200 OK", "{model:?}");
        }
    }
}

/// A server, and the reasons for which the kernel refused connections.
fn start(model: Model) -> (SocketAddr, mpsc::Receiver<String>) {
    let config = ServerConfig::new(model);
    let (sender, receiver) = mpsc::channel();
    let (refusal, refusals) = mpsc::channel();
    std::thread::spawn(move || {
        let on_ready = |address: ServerAddress| {
            let address = address.tcp().expect("it listens on TCP");
            sender.send(address).expect("it is awaited");
        };
        let on_refusal = |error: &io::Error| {
            // The test receives the first ones.
            let _ = refusal.send(error.to_string());
        };
        let ended = serve(&config, on_ready, on_refusal);
        panic!("a server alone never ends: {ended:?}");
    });
    (receiver.recv().expect("the server starts"), refusals)
}
