//! The bare loop: the least that a client on epoll can do, as the limit for real ones.
//!
//!     bare ADDRESS PATH CONNECTIONS SECONDS ANSWER_BYTES keep|close PIPELINE
//!
//! It knows beforehand how many bytes each answer has, head included, counts
//! them and looks at nothing. It reads no clock per request, keeps no times and
//! no outcomes. Bodies are copied out of the kernel, as any client must that
//! wants to see them. Prints `requests N failures N silent N seconds S`, where
//! `silent` are connections that got no answer.

use std::error::Error;
use std::io::Write;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::{RecvFlags, SendFlags};

const EVENTS_MAX: usize = 512;
const BUFFER_BYTES: usize = 256 * 1024;
/// How long a wait lasts when no answer comes: the end may be late by this much.
const WAIT_MAX_NS: i64 = 50_000_000;

struct Connection {
    stream: TcpStream,
    /// Bytes of the answer that have not come yet.
    missing: usize,
    has_answered: bool,
}

struct Bare {
    address: SocketAddr,
    request: Vec<u8>,
    answer_bytes: usize,
    keep: bool,
    epoll: std::os::fd::OwnedFd,
    connections: Vec<Connection>,
    requests: u64,
    failures: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [
        address,
        path,
        connections,
        seconds,
        answer_bytes,
        mode,
        pipeline,
    ] = arguments.as_slice()
    else {
        return Err(
            "usage: bare ADDRESS PATH CONNECTIONS SECONDS ANSWER_BYTES keep|close PIPELINE".into(),
        );
    };
    let pipeline: usize = pipeline.parse()?;
    let keep = mode == "keep";
    let close = if keep { "" } else { "Connection: close\r\n" };
    let mut bare = Bare {
        address: address.parse()?,
        // As many requests as one connection has in flight, sent and awaited together.
        request: format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{close}\r\n")
            .repeat(pipeline)
            .into_bytes(),
        answer_bytes: answer_bytes.parse::<usize>()? * pipeline,
        keep,
        epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        connections: Vec::new(),
        requests: 0,
        failures: 0,
    };
    let start = Instant::now();
    for index in 0..connections.parse()? {
        let connection = bare.connect(index)?;
        bare.connections.push(connection);
    }
    bare.load(start + Duration::from_secs_f64(seconds.parse()?))?;
    let seconds = start.elapsed().as_secs_f64();
    let is_silent = |connection: &&Connection| !connection.has_answered;
    let silent = bare.connections.iter().filter(is_silent).count();
    let (requests, failures) = (bare.requests * pipeline as u64, bare.failures);
    writeln!(
        std::io::stdout(),
        "requests {requests} failures {failures} silent {silent} seconds {seconds}"
    )?;
    Ok(())
}

impl Bare {
    /// Connects and sends the first request. A connect to this machine does not wait.
    fn connect(&self, index: usize) -> Result<Connection, Box<dyn Error>> {
        let stream = TcpStream::connect(self.address)?;
        let data = EventData::new_u64(index as u64);
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, &stream, data, flags)?;
        let connection = Connection {
            stream,
            missing: self.answer_bytes,
            has_answered: false,
        };
        self.send(&connection)?;
        Ok(connection)
    }

    fn send(&self, connection: &Connection) -> Result<(), Box<dyn Error>> {
        let sent = rustix::net::send(&connection.stream, &self.request, SendFlags::NOSIGNAL)?;
        if sent < self.request.len() {
            return Err("a request does not fit into an empty send buffer".into());
        }
        Ok(())
    }

    fn load(&mut self, end: Instant) -> Result<(), Box<dyn Error>> {
        let mut buffer = vec![0_u8; BUFFER_BYTES];
        let mut room = [const { MaybeUninit::uninit() }; EVENTS_MAX];
        let wait = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: WAIT_MAX_NS,
        };
        while Instant::now() < end {
            let (events, _) = epoll::wait(&self.epoll, &mut room, Some(&wait))?;
            for event in events {
                let index = usize::try_from(event.data.u64())?;
                self.receive(index, &mut buffer)?;
            }
        }
        Ok(())
    }

    /// Takes what is there; asks again when the answer is whole.
    fn receive(&mut self, index: usize, buffer: &mut [u8]) -> Result<(), Box<dyn Error>> {
        loop {
            let connection = &mut self.connections[index];
            match rustix::net::recv(&connection.stream, &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((count, _)) if count > 0 && count <= connection.missing => {
                    connection.missing -= count;
                    if connection.missing == 0 {
                        return self.answered(index);
                    }
                    if count < buffer.len() {
                        return Ok(());
                    }
                }
                Err(rustix::io::Errno::AGAIN) => return Ok(()),
                // An end too early, a break, or more bytes than were asked for.
                _ => {
                    self.failures += 1;
                    return self.replace(index, false);
                }
            }
        }
    }

    fn answered(&mut self, index: usize) -> Result<(), Box<dyn Error>> {
        self.requests += 1;
        if !self.keep {
            return self.replace(index, true);
        }
        self.connections[index].missing = self.answer_bytes;
        self.connections[index].has_answered = true;
        self.send(&self.connections[index])
    }

    fn replace(&mut self, index: usize, has_answered: bool) -> Result<(), Box<dyn Error>> {
        let next = self.connect(index)?;
        let last = std::mem::replace(&mut self.connections[index], next);
        self.connections[index].has_answered = last.has_answered || has_answered;
        Ok(())
    }
}
