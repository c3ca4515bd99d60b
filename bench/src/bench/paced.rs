//! The paced bare loop: the least that a client on epoll can do if it sends each request at its
//! due time, as the limit for loads at a constant rate.
//!
//!     bench paced ADDRESS PATH CONNECTIONS SECONDS RESPONSE_BYTES RATE AWAKE_US
//!
//! It sleeps until the next request is due or a response arrives, except for the last `AWAKE_US`
//! microseconds before a request is due, in which it polls. Requests use the connection that was
//! free for longest. It counts the bytes of responses, as `bare` does, and records how late each
//! request was. Prints `requests N failures N silent N seconds S late_p50_us T late_p99_us T`.

use std::collections::VecDeque;
use std::error::Error;
use std::io::Write;
use std::mem::MaybeUninit;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use rustix::event::epoll;

use crate::exchange::{Connection, Exchange, Response};

const EVENTS_MAX: usize = 512;
const BUFFER_BYTES: usize = 256 * 1024;
/// The longest wait if nothing is due and no response arrives.
const WAIT_MAX: Duration = Duration::from_millis(50);
/// How long responses may take after the last request.
const PATIENCE: Duration = Duration::from_secs(5);

struct Paced {
    exchange: Exchange,
    epoll: std::os::fd::OwnedFd,
    connections: Vec<Connection>,
    /// Connections without an exchange in progress and since when, the longest-free one first.
    free: VecDeque<(usize, Instant)>,
    /// The number of requests, which are due at multiples of `gap` after the start.
    requests_max: u64,
    gap: Duration,
    awake: Duration,
    requests: u64,
    failures: u64,
    /// How late each request was, in ns: since it was due and a connection was free.
    lateness: Vec<u128>,
}

/// Loads the server and prints one line of counts.
pub fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let [
        address,
        path,
        connections,
        seconds,
        response_bytes,
        rate,
        awake_us,
    ] = arguments
    else {
        return Err(
            "usage: bench paced ADDRESS PATH CONNECTIONS SECONDS RESPONSE_BYTES RATE AWAKE_US"
                .into(),
        );
    };
    let rate: u32 = rate.parse()?;
    let requests_max = u64::from(rate) * seconds.parse::<u64>()?;
    let mut paced = Paced {
        exchange: Exchange {
            address: address.parse()?,
            request: format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").into_bytes(),
            response_bytes: response_bytes.parse()?,
        },
        epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        connections: Vec::new(),
        free: VecDeque::new(),
        requests_max,
        gap: Duration::from_secs(1) / rate,
        awake: Duration::from_micros(awake_us.parse()?),
        requests: 0,
        failures: 0,
        lateness: Vec::with_capacity(usize::try_from(requests_max)?),
    };
    // By default, the kernel delays the timers of a thread by up to 50 µs.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
    for index in 0..connections.parse()? {
        let connection = Connection::open(&paced.exchange, &paced.epoll, index)?;
        paced.connections.push(connection);
        paced.free.push_back((index, Instant::now()));
    }
    let start = Instant::now();
    paced.load(start)?;
    let seconds = start.elapsed().as_secs_f64();
    let is_silent = |connection: &&Connection| !connection.has_responded;
    let silent = paced.connections.iter().filter(is_silent).count();
    let (requests, failures) = (paced.requests, paced.failures);
    paced.lateness.sort_unstable();
    let late_us = |percent: usize| {
        let index = paced.lateness.len() * percent / 100;
        let late = paced.lateness.get(index).copied().unwrap_or(0);
        late as f64 / 1e3
    };
    writeln!(
        std::io::stdout(),
        "requests {requests} failures {failures} silent {silent} seconds {seconds} \
         late_p50_us {} late_p99_us {}",
        late_us(50),
        late_us(99)
    )?;
    Ok(())
}

impl Paced {
    fn load(&mut self, start: Instant) -> Result<(), Box<dyn Error>> {
        let mut buffer = vec![0_u8; BUFFER_BYTES];
        let mut room = [const { MaybeUninit::uninit() }; EVENTS_MAX];
        let mut due = start;
        let end = start + self.gap * u32::try_from(self.requests_max)? + PATIENCE;
        loop {
            let mut now = Instant::now();
            while due <= now && self.has_more() {
                let Some((index, since)) = self.free.pop_front() else {
                    break;
                };
                self.lateness.push((now - due.max(since)).as_nanos());
                self.connections[index].send(&self.exchange)?;
                due += self.gap;
                now = Instant::now();
            }
            let is_done = !self.has_more() && self.free.len() == self.connections.len();
            if is_done || now > end {
                return Ok(());
            }
            let wait = if self.has_more() && !self.free.is_empty() {
                due.saturating_duration_since(now + self.awake)
            } else {
                WAIT_MAX
            };
            let wait = rustix::event::Timespec {
                tv_sec: 0,
                tv_nsec: i64::from(wait.min(WAIT_MAX).subsec_nanos()),
            };
            let (events, _) = epoll::wait(&self.epoll, &mut room, Some(&wait))?;
            let received_at = Instant::now();
            for event in events {
                let index = usize::try_from(event.data.u64())?;
                self.receive(index, received_at, &mut buffer)?;
            }
        }
    }

    /// Whether requests are left to be sent.
    fn has_more(&self) -> bool {
        (self.lateness.len() as u64) < self.requests_max
    }

    /// Receives bytes; a complete response frees its connection.
    fn receive(
        &mut self,
        index: usize,
        received_at: Instant,
        buffer: &mut [u8],
    ) -> Result<(), Box<dyn Error>> {
        match self.connections[index].receive(buffer) {
            Response::Part => return Ok(()),
            Response::Whole => self.requests += 1,
            Response::Broken => {
                self.failures += 1;
                self.connections[index] = Connection::open(&self.exchange, &self.epoll, index)?;
            }
        }
        self.free.push_back((index, received_at));
        Ok(())
    }
}
