//! The server without free descriptors. A separate file, because the limit is per process.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use abx_server::{Model, ServerConfig, serve};
use abx_sys::ServerAddress;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Longer than a working server takes.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_server_out_of_descriptors_continues_when_some_are_free_again() {
    // Method: clients and servers share a small limit. Clients connect until the kernel refuses.
    // Then half of them leave, and each of the others must get a response, whether the server had
    // accepted it or not. Prefork is left out: with one connection at a time, it never runs out.
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

/// Starts a server. Returns its address, and the errors with which the kernel refused connections.
fn start(model: Model) -> (SocketAddr, mpsc::Receiver<String>) {
    let config = ServerConfig::new(model);
    let (address_sender, addresses) = mpsc::channel();
    let (refusal_sender, refusals) = mpsc::channel();
    std::thread::spawn(move || {
        let on_ready = |address: ServerAddress| {
            let address = address.tcp().expect("the server listens on TCP");
            address_sender.send(address).expect("the test waits");
        };
        let on_refusal = |error: &io::Error| {
            // The test only receives the first error.
            let _ = refusal_sender.send(error.to_string());
        };
        let result = serve(&config, on_ready, on_refusal);
        panic!("the server ended by itself: {result:?}");
    });
    (addresses.recv().expect("the server starts"), refusals)
}
