//! A NATS server of the program's own, and what it and the kernel count of its connections.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Any;

/// A NATS server at ports of 127.0.0.1 that nobody had, ended when this is dropped.
pub struct BusServer {
    process: Child,
    address: SocketAddr,
    /// Where it tells of itself.
    monitor: SocketAddr,
    _folder: tempfile::TempDir,
}

/// What went over the connections of agents so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Traffic {
    /// Messages to and from them, as the NATS server counts.
    pub messages: u64,
    /// Bytes of these messages alone, by the same.
    pub payload: u64,
    /// Bytes to them, as the kernel counts: all but the headers of TCP and IP.
    pub to_agents: u64,
    /// Bytes from them, by the same.
    pub from_agents: u64,
}

const START_WITHIN: Duration = Duration::from_secs(20);

impl BusServer {
    pub fn start() -> Result<BusServer, Any> {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new("nats-server");
        command
            .args(["--addr", "127.0.0.1", "--port", "-1", "--http_port", "-1"])
            .arg("--ports_file_dir")
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut process = abx_sys::process::spawn_kept(&mut command)?;
        let file = { folder.path() }.join(format!("nats-server_{}.ports", process.id()));
        let ports = || serde_json::from_slice::<Value>(&std::fs::read(&file).ok()?).ok();
        let deadline = Instant::now() + START_WITHIN;
        let ports = loop {
            if let Some(ports) = ports() {
                break ports;
            }
            if Instant::now() > deadline || process.try_wait()?.is_some() {
                // It may have ended by itself.
                let _ = process.kill();
                process.wait()?;
                return Err("nats-server does not start".into());
            }
            thread::sleep(Duration::from_millis(20));
        };
        let address = |what: &str| -> Result<SocketAddr, Any> {
            let url = ports[what][0].as_str().ok_or("no port was told")?;
            let (_, address) = url.split_once("://").ok_or("no URL was told")?;
            Ok(address.parse()?)
        };
        Ok(BusServer {
            address: address("nats")?,
            monitor: address("monitoring")?,
            process,
            _folder: folder,
        })
    }

    pub fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Memory that it has in RAM.
    pub fn resident_kib(&self) -> Result<u64, Any> {
        let text = std::fs::read_to_string(format!("/proc/{}/statm", self.pid()))?;
        let pages = text.split_ascii_whitespace().nth(1);
        let pages: u64 = pages.ok_or("no second number")?.parse()?;
        Ok(pages * rustix::param::page_size() as u64 / 1024)
    }

    /// What went over the connections of the first so many clients: those that came later
    /// are controllers.
    pub fn traffic(&self, agents: usize) -> Result<Traffic, Any> {
        let told: Value = serde_json::from_str(&self.ask("/connz?sort=cid")?)?;
        let clients = told["connections"].as_array().ok_or("no connections")?;
        if clients.len() < agents {
            return Err(format!("{} of {agents} agents are connected", clients.len()).into());
        }
        let kernel = self.sockets()?;
        let mut all = Traffic::default();
        for client in &clients[..agents] {
            let number = |what: &str| client[what].as_u64().unwrap_or_default();
            all.messages += number("in_msgs") + number("out_msgs");
            all.payload += number("in_bytes") + number("out_bytes");
            let port = number("port");
            let socket = kernel.iter().find(|one| u64::from(one.peer) == port);
            let socket = socket.ok_or("the kernel does not know a connection of the bus")?;
            all.to_agents += socket.sent;
            all.from_agents += socket.received;
        }
        Ok(all)
    }

    /// A page of what it tells of itself.
    fn ask(&self, page: &str) -> Result<String, Any> {
        let mut connection = TcpStream::connect(self.monitor)?;
        connection.write_all(format!("GET {page} HTTP/1.0\r\n\r\n").as_bytes())?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
        Ok(body.to_owned())
    }

    /// The kernel's counters of its connections.
    fn sockets(&self) -> Result<Vec<Socket>, Any> {
        let port = format!("( sport = :{} )", self.address.port());
        let told = Command::new("ss")
            .args(["-tinHO", "state", "established", &port])
            .output()?;
        let text = String::from_utf8(told.stdout)?;
        Ok(text.lines().filter_map(Socket::read).collect())
    }
}

impl Drop for BusServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A connection of the server, as `ss` tells of it.
struct Socket {
    /// The client's port.
    peer: u16,
    sent: u64,
    received: u64,
}

impl Socket {
    /// Reads a line; counters that are zero are not in it.
    fn read(line: &str) -> Option<Socket> {
        let (_, port) = line.split_ascii_whitespace().nth(3)?.rsplit_once(':')?;
        let counter = |name: &str| {
            let each = line.split_ascii_whitespace();
            let value = each.filter_map(|word| word.strip_prefix(name)).next();
            value.and_then(|value| value.parse().ok()).unwrap_or(0)
        };
        Some(Socket {
            peer: port.parse().ok()?,
            sent: counter("bytes_sent:"),
            received: counter("bytes_received:"),
        })
    }
}
