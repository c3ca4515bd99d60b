//! One connection of the server: bytes in, requests out, answers in.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use abx_wire::http1::{self, ServerEvent};
use abx_wire::websocket::{Event, Offer, Server, SizeLimits, message_frame};

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const HEAD_END: &[u8] = b"\r\n\r\n";

/// A request, with what answers it.
pub enum Job {
    /// Bytes for the connection with this number.
    Response(u64, Vec<u8>),
    /// A frame for every connection that speaks WebSocket.
    Broadcast(Vec<u8>),
}

/// The server's end of a connection.
pub struct Connection {
    pub stream: TcpStream,
    /// Bytes of a head that is not whole yet.
    head: Vec<u8>,
    talk: Option<Talk>,
    unsent: Vec<u8>,
}

/// A WebSocket, with the parts of a message that came.
struct Talk {
    server: Server,
    message: Vec<u8>,
    is_chat: bool,
}

/// Why a connection is over: it ended, or what it says is none of what this server knows.
pub struct Over;

impl Connection {
    /// A connection that was just accepted and does not block.
    pub fn new(stream: TcpStream) -> Connection {
        Connection {
            stream,
            head: Vec::new(),
            talk: None,
            unsent: Vec::new(),
        }
    }

    /// Whether it speaks WebSocket.
    pub fn is_websocket(&self) -> bool {
        self.talk.is_some()
    }

    /// Reads all that has come and gives its requests.
    ///
    /// # Errors
    /// [`Over`].
    pub fn receive(&mut self, number: u64, jobs: &mut Vec<Job>) -> Result<(), Over> {
        let mut buffer = [0; 64 * 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(Over),
                Ok(count) => self.take(number, &mut buffer[..count], jobs)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Err(Over),
            }
        }
    }

    fn take(&mut self, number: u64, bytes: &mut [u8], jobs: &mut Vec<Job>) -> Result<(), Over> {
        if self.talk.is_some() {
            return self.hear(number, bytes, jobs);
        }
        self.head.extend_from_slice(bytes);
        while let Some(at) = self.head.windows(4).position(|four| four == HEAD_END) {
            let head: Vec<u8> = self.head.drain(..at + HEAD_END.len()).collect();
            let mut parser = http1::Server::new();
            let mut input = &head[..];
            let Some(ServerEvent::Head(request)) = parser.receive(&mut input) else {
                return Err(Over);
            };
            match Offer::read(&request) {
                Ok(Some(offer)) => {
                    let mut out = Vec::new();
                    self.talk = Some(Talk {
                        server: Server::accept(&offer, SizeLimits::default(), &mut out),
                        message: Vec::new(),
                        is_chat: request.target.starts_with("/chat"),
                    });
                    self.send(&out);
                    let mut rest = std::mem::take(&mut self.head);
                    return self.hear(number, &mut rest, jobs);
                }
                Ok(None) => jobs.push(Job::Response(number, RESPONSE.to_vec())),
                Err(_) => return Err(Over),
            }
        }
        Ok(())
    }

    /// Takes bytes of a WebSocket.
    fn hear(&mut self, number: u64, bytes: &mut [u8], jobs: &mut Vec<Job>) -> Result<(), Over> {
        let talk = self.talk.as_mut().ok_or(Over)?;
        let mut out = Vec::new();
        let mut input = bytes;
        let mut is_over = false;
        while let Some(event) = talk.server.receive(&mut input, &mut out) {
            match event {
                Event::Data { bytes, .. } => talk.message.extend_from_slice(bytes),
                Event::Message(message) => {
                    let mut frame = Vec::new();
                    message_frame(message.kind, &talk.message, &mut frame);
                    talk.message.clear();
                    jobs.push(if talk.is_chat {
                        Job::Broadcast(frame)
                    } else {
                        Job::Response(number, frame)
                    });
                }
                Event::Failed(_) | Event::Close(_) => is_over = true,
                Event::Open | Event::Ping(_) | Event::Pong(_) => {}
            }
        }
        self.send(&out);
        if is_over { Err(Over) } else { Ok(()) }
    }

    /// Sends bytes, those behind earlier ones that the socket had no room for. What a
    /// broken connection does not take is noticed when it is read.
    pub fn send(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(_) => return,
            }
        }
    }
}
