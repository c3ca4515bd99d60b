//! A blocking client: that of `abx_wire` with a socket of the standard library.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use abx_wire::websocket::{
    Client, ClientOptions, Close, CloseCode, Event, Fault, FragmentPlace, Masking, MessageKind,
    Opening, SizeLimits,
};

/// Where to connect.
pub struct Target<'a> {
    pub port: &'a str,
    pub path: &'a str,
    pub protocols: &'a [&'a str],
}

/// One open WebSocket. Reads time out after far longer than a working server needs.
pub struct Peer {
    stream: TcpStream,
    client: Client,
    out: Vec<u8>,
    buffer: Vec<u8>,
    /// The bytes in the buffer that are not yet processed.
    unread: std::ops::Range<usize>,
    message: Vec<u8>,
}

/// Sends binary messages on the connection of a [`Peer`], which may receive meanwhile.
pub struct Writer(TcpStream);

/// A received event.
#[derive(Debug, Clone, PartialEq)]
pub enum Received {
    Open,
    Message(Message),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>, String),
    Failed(Fault),
    /// The end of the connection, after both closes.
    End,
}

/// A whole message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub kind: MessageKind,
    pub payload: Vec<u8>,
    pub fragments: u64,
}

impl Received {
    /// A message in one frame.
    pub fn whole(kind: MessageKind, payload: &[u8]) -> Received {
        Received::Message(Message {
            kind,
            payload: payload.to_vec(),
            fragments: 1,
        })
    }
}

impl Writer {
    /// Sends a message in one frame, with a mask of zeroes.
    pub fn send(&mut self, payload: &[u8]) {
        let mut head = vec![0x82, 0xFF];
        head.extend((payload.len() as u64).to_be_bytes());
        head.extend([0; 4]);
        self.0.write_all(&head).unwrap();
        self.0.write_all(payload).unwrap();
    }
}

impl Peer {
    /// Opens a WebSocket, or returns the fault that prevented it.
    pub fn try_open(target: &Target<'_>) -> Result<Peer, Fault> {
        let stream = TcpStream::connect(format!("127.0.0.1:{}", target.port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream.set_nodelay(true).unwrap();
        let opening = Opening {
            target: target.path.to_owned(),
            host: format!("127.0.0.1:{}", target.port),
            headers: Vec::new(),
            protocols: target
                .protocols
                .iter()
                .map(|protocol| (*protocol).to_owned())
                .collect(),
        };
        let options = ClientOptions {
            limits: SizeLimits::default(),
            masking: Masking::Seeded(1),
        };
        let mut out = Vec::new();
        let client = Client::open(options, &opening.encode().unwrap(), [9; 16], &mut out);
        let mut peer = Peer {
            stream,
            client,
            out,
            buffer: vec![0; 64 * 1024],
            unread: 0..0,
            message: Vec::new(),
        };
        peer.flush();
        match peer.receive() {
            Received::Open => Ok(peer),
            Received::Failed(fault) => Err(fault),
            other => panic!("{other:?} before the handshake was done"),
        }
    }

    /// Opens a WebSocket at this path.
    pub fn open(port: &str, path: &str) -> Peer {
        let target = Target {
            port,
            path,
            protocols: &[],
        };
        Peer::try_open(&target).unwrap()
    }

    /// The subprotocol that the server chose.
    pub fn protocol(&self) -> Option<&str> {
        self.client.protocol()
    }

    /// Sends a message in one frame.
    pub fn send(&mut self, kind: MessageKind, payload: &[u8]) {
        self.client.send(kind, payload, &mut self.out).unwrap();
        self.flush();
    }

    /// Sends a message in fragments, with a ping after each except the last.
    pub fn send_in_fragments(&mut self, kind: MessageKind, pieces: &[&[u8]]) {
        for (number, piece) in pieces.iter().enumerate() {
            let place = if number + 1 == pieces.len() {
                FragmentPlace::Last
            } else {
                FragmentPlace::Inner
            };
            self.client
                .send_fragment(kind, piece, place, &mut self.out)
                .unwrap();
            if place == FragmentPlace::Inner {
                self.client.ping(&[number as u8], &mut self.out).unwrap();
            }
        }
        self.flush();
    }

    pub fn ping(&mut self, payload: &[u8]) {
        self.client.ping(payload, &mut self.out).unwrap();
        self.flush();
    }

    pub fn close(&mut self, code: u16, reason: &str) {
        let close = Close {
            code: CloseCode::new(code),
            reason,
        };
        self.client.close(close, &mut self.out).unwrap();
        self.flush();
    }

    /// A handle with which another thread can send messages.
    pub fn writer(&self) -> Writer {
        Writer(self.stream.try_clone().unwrap())
    }

    /// Waits for the next event, and writes the frames that it requires.
    pub fn receive(&mut self) -> Received {
        loop {
            if let Some(received) = self.next() {
                self.flush();
                return received;
            }
            let count = self.stream.read(&mut self.buffer).unwrap();
            self.unread = 0..count;
            if count == 0 {
                return match self.client.eof() {
                    Some(Event::Failed(fault)) => Received::Failed(fault),
                    _ => Received::End,
                };
            }
        }
    }

    /// Closes with this code; the other side must do the same and end the connection.
    pub fn close_cleanly(mut self, code: u16) {
        self.close(code, "");
        assert_eq!(self.receive(), Received::Close(Some(code), String::new()));
        assert_eq!(self.receive(), Received::End);
    }

    fn next(&mut self) -> Option<Received> {
        let mut input = &self.buffer[self.unread.clone()];
        let received = loop {
            let Some(event) = self.client.receive(&mut input, &mut self.out) else {
                break None;
            };
            break Some(match event {
                Event::Open => Received::Open,
                Event::Data { bytes, .. } => {
                    self.message.extend_from_slice(bytes);
                    continue;
                }
                Event::Message(message) => Received::Message(Message {
                    kind: message.kind,
                    payload: std::mem::take(&mut self.message),
                    fragments: message.fragments,
                }),
                Event::Ping(payload) => Received::Ping(payload.to_vec()),
                Event::Pong(payload) => Received::Pong(payload.to_vec()),
                Event::Close(close) => {
                    let code = close.code.map(CloseCode::number);
                    Received::Close(code, close.reason.to_owned())
                }
                Event::Failed(fault) => Received::Failed(fault),
            });
        };
        self.unread.start = self.unread.end - input.len();
        received
    }

    fn flush(&mut self) {
        // A server that has closed takes no more; its last messages are still to be read.
        let _ = self.stream.write_all(&self.out);
        self.out.clear();
    }
}
