//! A connection of a bare loop: the request is fixed bytes, the response a number of bytes.

use std::error::Error;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::{RecvFlags, SendFlags};

/// The request and response of all connections.
pub struct Exchange {
    pub address: SocketAddr,
    /// The bytes that are sent by one call.
    pub request: Vec<u8>,
    /// The size of the response to the request, head included.
    pub response_bytes: usize,
}

/// One connection with at most one exchange in progress.
pub struct Connection {
    stream: TcpStream,
    /// Bytes of the response that have not arrived yet.
    missing: usize,
    /// Whether the connection ever received a complete response.
    pub has_responded: bool,
}

/// The result of a receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Response {
    Whole,
    Part,
    /// An early end, an error, or more bytes than expected.
    Broken,
}

impl Connection {
    /// Connects, which does not block on one machine, and registers the connection with `epoll`
    /// under the number `index`, edge-triggered.
    ///
    /// # Errors
    /// The error of the kernel.
    pub fn open(
        exchange: &Exchange,
        epoll: &OwnedFd,
        index: usize,
    ) -> Result<Connection, Box<dyn Error>> {
        let stream = TcpStream::connect(exchange.address)?;
        let data = EventData::new_u64(index as u64);
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(epoll, &stream, data, flags)?;
        Ok(Connection {
            stream,
            missing: 0,
            has_responded: false,
        })
    }

    /// Sends the request.
    ///
    /// # Errors
    /// The error of the kernel, or if it does not accept the complete request.
    pub fn send(&mut self, exchange: &Exchange) -> Result<(), Box<dyn Error>> {
        let sent = rustix::net::send(&self.stream, &exchange.request, SendFlags::NOSIGNAL)?;
        if sent < exchange.request.len() {
            return Err("a request does not fit into an empty send buffer".into());
        }
        self.missing = exchange.response_bytes;
        Ok(())
    }

    /// Receives all available bytes.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Response {
        loop {
            match rustix::net::recv(&self.stream, &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((count, _)) if count > 0 && count <= self.missing => {
                    self.missing -= count;
                    if self.missing == 0 {
                        self.has_responded = true;
                        return Response::Whole;
                    }
                    if count < buffer.len() {
                        return Response::Part;
                    }
                }
                Err(rustix::io::Errno::AGAIN) => return Response::Part,
                _ => return Response::Broken,
            }
        }
    }
}
