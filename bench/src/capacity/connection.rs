//! A connection of the server: it receives requests and sends responses.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use abx_wire::http1::{self, ServerEvent};
use abx_wire::websocket::{Event, Offer, Server, SizeLimits, message_frame};

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const HEAD_END: &[u8] = b"\r\n\r\n";

/// A request, with the bytes of its response.
pub enum Job {
    /// Bytes for the connection with this number.
    Response(u64, Vec<u8>),
    /// A frame for every WebSocket connection.
    Broadcast(Vec<u8>),
}

/// The server's end of a connection.
pub struct Connection {
    pub stream: TcpStream,
    /// Bytes of an incomplete head.
    head: Vec<u8>,
    session: Option<Session>,
    unsent: Vec<u8>,
}

/// A WebSocket, with the received parts of a message.
struct Session {
    server: Server,
    message: Vec<u8>,
    is_chat: bool,
}

/// The connection has ended, or the client sent something unsupported.
pub struct Over;

impl Connection {
    /// A connection that was just accepted and does not block.
    pub fn new(stream: TcpStream) -> Connection {
        Connection {
            stream,
            head: Vec::new(),
            session: None,
            unsent: Vec::new(),
        }
    }

    pub fn is_websocket(&self) -> bool {
        self.session.is_some()
    }

    /// Reads all available bytes, and adds their requests to `jobs`.
    ///
    /// # Errors
    /// [`Over`], if the connection is over.
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
        if self.session.is_some() {
            return self.take_messages(number, bytes, jobs);
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
                    self.session = Some(Session {
                        server: Server::accept(&offer, SizeLimits::default(), &mut out),
                        message: Vec::new(),
                        is_chat: request.target.starts_with("/chat"),
                    });
                    self.send(&out);
                    let mut rest = std::mem::take(&mut self.head);
                    return self.take_messages(number, &mut rest, jobs);
                }
                Ok(None) => jobs.push(Job::Response(number, RESPONSE.to_vec())),
                Err(_) => return Err(Over),
            }
        }
        Ok(())
    }

    /// Processes bytes of a WebSocket.
    fn take_messages(
        &mut self,
        number: u64,
        bytes: &mut [u8],
        jobs: &mut Vec<Job>,
    ) -> Result<(), Over> {
        let session = self.session.as_mut().ok_or(Over)?;
        let mut out = Vec::new();
        let mut input = bytes;
        let mut is_over = false;
        while let Some(event) = session.server.receive(&mut input, &mut out) {
            match event {
                Event::Data { bytes, .. } => session.message.extend_from_slice(bytes),
                Event::Message(message) => {
                    let mut frame = Vec::new();
                    message_frame(message.kind, &session.message, &mut frame);
                    session.message.clear();
                    jobs.push(if session.is_chat {
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

    /// Sends bytes, after earlier ones for which the socket had no room. A broken connection is
    /// noticed when it is read.
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
