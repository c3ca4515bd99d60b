//! The NATS server of a test, and links to it that can be cut.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use abx_fleet::{Bus, BusSetup, NatsBus};

use crate::{Cut, TestBus, until};

pub(crate) struct NatsServer {
    process: Child,
    address: SocketAddr,
    folder: tempfile::TempDir,
}

/// Forwards bytes, unless the link is cut.
struct Link {
    is_cut: AtomicBool,
}

impl TestBus for NatsServer {
    fn start() -> NatsServer {
        NatsServer::run(tempfile::tempdir().unwrap(), &[])
    }

    fn connect(&self) -> (Arc<dyn Bus>, Arc<dyn Cut>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("nats://{}", listener.local_addr().unwrap());
        let link = Arc::new(Link {
            is_cut: AtomicBool::new(false),
        });
        let (server_address, forwarder) = (self.address, Arc::clone(&link));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // The server may have ended.
                if let Ok(server) = TcpStream::connect(server_address) {
                    forwarder.forward(client, server);
                }
            }
        });
        (Arc::new(NatsBus::connect(&url, None, None).unwrap()), link)
    }
}

impl NatsServer {
    /// A server with users for a controller and two agents.
    pub(crate) fn secured() -> NatsServer {
        let setup = BusSetup {
            hosts: Vec::new(),
            port: 4222,
            agents: 2,
        };
        let folder = tempfile::tempdir().unwrap();
        for file in setup.files().unwrap() {
            std::fs::write(folder.path().join(file.name), file.text).unwrap();
        }
        NatsServer::run(folder, &["-c", "nats.conf"])
    }

    /// A connection of this user.
    pub(crate) fn connect_as(&self, user: &str) -> NatsBus {
        let path = |name: &str| self.folder.path().join(name);
        let (authority, credentials) = (path("ca.pem"), path(&format!("{user}.creds")));
        let url = format!("tls://{}", self.address);
        NatsBus::connect(&url, Some(&authority), Some(&credentials)).unwrap()
    }

    fn run(folder: tempfile::TempDir, arguments: &[&str]) -> NatsServer {
        let process = Command::new("nats-server")
            .args(arguments)
            .args(["--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir"])
            .arg(folder.path())
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nats-server is installed: scripts/install-test-servers");
        let ports_name = format!("nats-server_{}.ports", process.id());
        let ports_path = folder.path().join(ports_name);
        let address = || {
            let ports = std::fs::read_to_string(&ports_path).ok()?;
            // `nats://` or `tls://`.
            let (_, rest) = ports.split_once("://")?;
            rest.split_once('"')?.0.parse().ok()
        };
        until("a NATS server", || address().is_some());
        NatsServer {
            address: address().unwrap(),
            process,
            folder,
        }
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Link {
    fn forward(self: &Arc<Link>, client: TcpStream, server: TcpStream) {
        let directions = [
            (client.try_clone().unwrap(), server.try_clone().unwrap()),
            (server, client),
        ];
        for (from, to) in directions {
            let link = Arc::clone(self);
            thread::spawn(move || link.copy(from, to));
        }
    }

    fn copy(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = [0; 16 << 10];
        while let Ok(count) = from.read(&mut buffer) {
            while self.is_cut.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
            }
            if count == 0 || to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    }
}

impl Cut for Link {
    fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::Relaxed);
    }
}
