//! The bare loop: the least that a client on epoll can do, as the limit for real ones.
//!
//!     bench bare ADDRESS PATH CONNECTIONS SECONDS RESPONSE_BYTES keep|close PIPELINE asleep|awake
//!
//! It knows the size of each response in advance, head included, and only counts bytes. It reads
//! no clock per request, and keeps no times and no outcomes. Bodies are copied out of the kernel,
//! as by any client that reads them. Asleep, it sleeps while there is no response; awake, it polls,
//! so that the server does not have to wake it. Prints `requests N failures N silent N awake_us N
//! seconds S`, where `silent` is the number of connections without a response, and `awake_us` the
//! time of polls without a result.

use std::error::Error;
use std::io::Write;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};

use crate::exchange::{Connection, Exchange, Response};

const EVENTS_MAX: usize = 512;
const BUFFER_BYTES: usize = 256 * 1024;
/// The longest wait without a response, by which the end may be late.
const WAIT_MAX: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};
const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

struct Bare {
    exchange: Exchange,
    keep: bool,
    epoll: std::os::fd::OwnedFd,
    connections: Vec<Connection>,
    requests: u64,
    failures: u64,
    /// The time waited without sleeping.
    awake: Duration,
}

/// Loads the server and prints one line of counts.
pub fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let [
        address,
        path,
        connections,
        seconds,
        response_bytes,
        mode,
        pipeline,
        waits,
    ] = arguments
    else {
        return Err(
            "usage: bench bare ADDRESS PATH CONNECTIONS SECONDS RESPONSE_BYTES keep|close PIPELINE \
             asleep|awake"
                .into(),
        );
    };
    let pipeline: usize = pipeline.parse()?;
    let keep = mode == "keep";
    let close = if keep { "" } else { "Connection: close\r\n" };
    let mut bare = Bare {
        exchange: Exchange {
            address: address.parse()?,
            // All requests that a connection has in flight are sent and awaited together.
            request: format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{close}\r\n")
                .repeat(pipeline)
                .into_bytes(),
            response_bytes: response_bytes.parse::<usize>()? * pipeline,
        },
        keep,
        epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        connections: Vec::new(),
        requests: 0,
        failures: 0,
        awake: Duration::ZERO,
    };
    let start = Instant::now();
    for index in 0..connections.parse()? {
        let connection = bare.connect(index)?;
        bare.connections.push(connection);
    }
    let end = start + Duration::from_secs_f64(seconds.parse()?);
    match waits.as_str() {
        "awake" => bare.load_awake(end)?,
        _ => bare.load(end)?,
    }
    let seconds = start.elapsed().as_secs_f64();
    let is_silent = |connection: &&Connection| !connection.has_responded;
    let silent = bare.connections.iter().filter(is_silent).count();
    let (requests, failures) = (bare.requests * pipeline as u64, bare.failures);
    writeln!(
        std::io::stdout(),
        "requests {requests} failures {failures} silent {silent} awake_us {} seconds {seconds}",
        bare.awake.as_micros()
    )?;
    Ok(())
}

impl Bare {
    /// Connects and sends the first request.
    fn connect(&self, index: usize) -> Result<Connection, Box<dyn Error>> {
        let mut connection = Connection::open(&self.exchange, &self.epoll, index)?;
        connection.send(&self.exchange)?;
        Ok(connection)
    }

    fn load(&mut self, end: Instant) -> Result<(), Box<dyn Error>> {
        let mut buffer = vec![0_u8; BUFFER_BYTES];
        let mut room = [const { MaybeUninit::uninit() }; EVENTS_MAX];
        while Instant::now() < end {
            let (events, _) = epoll::wait(&self.epoll, &mut room, Some(&WAIT_MAX))?;
            for event in events {
                let index = usize::try_from(event.data.u64())?;
                self.receive(index, &mut buffer)?;
            }
        }
        Ok(())
    }

    /// Loads the server without sleeping, with one reading of the clock per wait.
    fn load_awake(&mut self, end: Instant) -> Result<(), Box<dyn Error>> {
        let mut buffer = vec![0_u8; BUFFER_BYTES];
        let mut room = [const { MaybeUninit::uninit() }; EVENTS_MAX];
        let mut before = Instant::now();
        while before < end {
            let (events, _) = epoll::wait(&self.epoll, &mut room, Some(&AT_ONCE))?;
            let is_empty = events.is_empty();
            for event in events {
                let index = usize::try_from(event.data.u64())?;
                self.receive(index, &mut buffer)?;
            }
            let now = Instant::now();
            if is_empty {
                self.awake += now - before;
            }
            before = now;
        }
        Ok(())
    }

    /// Receives bytes, and sends the next request after a complete response.
    fn receive(&mut self, index: usize, buffer: &mut [u8]) -> Result<(), Box<dyn Error>> {
        match self.connections[index].receive(buffer) {
            Response::Part => Ok(()),
            Response::Whole if self.keep => {
                self.requests += 1;
                self.connections[index].send(&self.exchange)
            }
            Response::Whole => {
                self.requests += 1;
                self.replace(index)
            }
            Response::Broken => {
                self.failures += 1;
                self.replace(index)
            }
        }
    }

    fn replace(&mut self, index: usize) -> Result<(), Box<dyn Error>> {
        let next = self.connect(index)?;
        let last = std::mem::replace(&mut self.connections[index], next);
        self.connections[index].has_responded = last.has_responded;
        Ok(())
    }
}
