//! One connection of a bare loop: a request is bytes, and a response a number of them.

use std::error::Error;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::{RecvFlags, SendFlags};

/// What is the same for all connections.
pub struct Exchange {
    pub address: SocketAddr,
    /// What is sent by one call.
    pub request: Vec<u8>,
    /// Bytes of the response to it, head included.
    pub response_bytes: usize,
}

/// One connection with at most one exchange in progress.
pub struct Connection {
    stream: TcpStream,
    /// Bytes of the response that have not come yet.
    missing: usize,
    /// Whether it ever had a whole response.
    pub has_responded: bool,
}

/// What a receive amounted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Response {
    Whole,
    Part,
    /// An end too early, a break, or more bytes than were asked for.
    Broken,
}

impl Connection {
    /// Connects, which does not wait on this machine, and has `epoll` tell of it
    /// by the number `index`, at each edge.
    ///
    /// # Errors
    /// What the kernel says.
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
    /// What the kernel says, also that it does not take all of it.
    pub fn send(&mut self, exchange: &Exchange) -> Result<(), Box<dyn Error>> {
        let sent = rustix::net::send(&self.stream, &exchange.request, SendFlags::NOSIGNAL)?;
        if sent < exchange.request.len() {
            return Err("a request does not fit into an empty send buffer".into());
        }
        self.missing = exchange.response_bytes;
        Ok(())
    }

    /// Takes what is there.
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
