//! A server in a thread and a client that shares no code with it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use abx_server::{Feature, Model, ServerConfig, serve};
use abx_sys::ServerAddress;

/// The models except the null model: those that support faults.
pub fn real_models() -> impl Iterator<Item = Model> {
    Model::ALL
        .into_iter()
        .filter(|model| model.supports(Feature::Faults))
}

/// The models that serve many connections at once.
pub fn concurrent_models() -> impl Iterator<Item = Model> {
    real_models().filter(|model| *model != Model::Prefork)
}

/// The default page on a port that the kernel chooses.
pub fn page(model: Model) -> ServerConfig {
    ServerConfig::new(model)
}

/// Serves in a thread that ends with the process.
pub fn start(config: ServerConfig) -> SocketAddr {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let on_ready = |address: ServerAddress| {
            let address = address.tcp().expect("the server listens on TCP");
            sender.send(address).expect("the test waits for it");
        };
        let result = serve(&config, on_ready, |_| {});
        panic!("the server ended by itself: {result:?}");
    });
    receiver.recv().expect("the server starts")
}

/// A connection. Its reads fail after a time longer than a working server takes.
pub struct Client(BufReader<TcpStream>);

/// A response, read according to its `Content-Length`.
#[derive(Debug, PartialEq)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

/// The method of the request, which decides whether the response has a body.
#[derive(Clone, Copy, PartialEq)]
pub enum To {
    Get,
    Head,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).expect("the server listens");
        let patience = Some(Duration::from_secs(20));
        stream.set_read_timeout(patience).expect("a valid timeout");
        Client(BufReader::new(stream))
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let result = self.0.get_mut().write_all(bytes.as_ref());
        result.expect("the server reads");
    }

    /// Sends GET for `path` and reads the response.
    pub fn get(&mut self, path: &str) -> Response {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n"));
        self.response(To::Get).expect("the response is complete")
    }

    pub fn response(&mut self, to: To) -> io::Result<Response> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let status = head[9..12].parse().expect("a status line");
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "))
            .expect("every response has a length");
        let length = length.parse().expect("the length is a number");
        let mut body = vec![0; if to == To::Get { length } else { 0 }];
        self.0.read_exact(&mut body)?;
        Ok(Response { status, head, body })
    }

    /// Reads this number of bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.read_exact(&mut bytes).expect("enough bytes");
        bytes
    }

    /// Reads up to the end of the connection, which must not be a reset.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).expect("the end is orderly");
        rest
    }
}
