//! A server of exact capacity that counts what it serves: the truth with which the throughput of a
//! load generator is compared.
//!
//!     capacity --port N --log FILE [--per-second N] [--work constant|exponential|bimodal|stalls]
//!              [--order fifo|lifo|sharing|batches:N|turns:N] [--workers N] [--clients N]
//!              [--seed N]
//!
//! Work is done in virtual time, so that neither this machine nor its other programs change the
//! capacity: waiting requests are served at exact times, and a late send does not delay later
//! requests. The server responds to GET, echoes WebSocket messages, and sends those on `/chat` to
//! all connections. For each spell of work, it appends a line to the log: the number of requests
//! served, and the time in ns, while all workers were busy, or as many as there are clients, if
//! these are fewer. A spell ends after 5 ms without work. Each start deals different work,
//! determined by the seed and the number of lines in the log.

mod connection;
mod work;
mod workers;

use std::collections::HashMap;
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::net::TcpListener;
use std::time::Instant;

use connection::{Connection, Job};
use rustix::event::{Timespec, epoll};
use work::{Deck, Kind};
use workers::{Order, Workers};

const LISTENER: u64 = u64::MAX;
const EVENTS_MAX: usize = 512;
/// Shorter times without work belong to a spell, because clients take some time, too.
const GAP_NS: f64 = 5e6;

struct Options {
    port: u16,
    log: String,
    per_s: f64,
    kind: Kind,
    order: Order,
    workers: usize,
    /// The largest number of concurrent requests.
    clients: usize,
    seed: u64,
}

/// The requests served since the last line of the log.
#[derive(Default)]
struct Spell {
    /// When all workers were first busy.
    began: Option<f64>,
    is_full: bool,
    last: f64,
    served: u64,
    /// The number of requests served, and the time, when all workers were last busy.
    full_served: u64,
    full_last: f64,
    /// Sums over earlier intervals, after which the workers were not all busy for a while, as
    /// between two loads.
    before_served: u64,
    before_ns: f64,
}

struct Capacity {
    epoll: std::os::fd::OwnedFd,
    listener: TcpListener,
    connections: HashMap<u64, Connection>,
    accepted: u64,
    workers: Workers<Job>,
    deck: Deck,
    /// The mean work of a request, in ns of one worker.
    mean_ns: f64,
    /// The number of requests being served with which the server is full.
    full: usize,
    spell: Spell,
    log: File,
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options(std::env::args().skip(1))?;
    let listener = TcpListener::bind(("127.0.0.1", options.port))?;
    listener.set_nonblocking(true)?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let data = epoll::EventData::new_u64(LISTENER);
    epoll::add(&epoll, &listener, data, epoll::EventFlags::IN)?;
    let earlier = std::fs::read_to_string(&options.log).map_or(0, |log| log.lines().count());
    let seed = options
        .seed
        .wrapping_add(earlier as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&options.log)?;
    let mut capacity = Capacity {
        epoll,
        listener,
        connections: HashMap::new(),
        accepted: 0,
        workers: Workers::new(options.order, options.workers),
        deck: Deck::new(options.kind, seed),
        mean_ns: 1e9 * options.workers as f64 / options.per_s,
        full: options.workers.min(options.clients),
        spell: Spell::default(),
        log,
    };
    capacity.serve()
}

impl Capacity {
    fn serve(&mut self) -> Result<(), Box<dyn Error>> {
        let start = Instant::now();
        let now = || start.elapsed().as_nanos() as f64;
        let mut events: Vec<epoll::Event> = Vec::with_capacity(EVENTS_MAX);
        let (mut jobs, mut served) = (Vec::new(), Vec::new());
        loop {
            let wakes = self
                .workers
                .next()
                .or(self.spell.began.map(|_| self.spell.last + GAP_NS));
            let timeout = wakes.map(|at| timespec((at - now()).max(0.0)));
            events.clear();
            let room = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, room, timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let at = now();
            self.workers.advance(at, &mut served);
            self.note(at, served.len())?;
            served.drain(..).for_each(|job| self.response(job));
            for event in &events {
                self.take(event.data.u64(), &mut jobs)?;
            }
            for job in jobs.drain(..) {
                let from = match &job {
                    Job::Response(connection, _) => *connection,
                    Job::Broadcast(_) => LISTENER,
                };
                let work = self.mean_ns * self.deck.deal();
                self.workers.arrive(from, work, job);
                if self.workers.at_work() >= self.full {
                    self.spell.fills(at);
                }
            }
        }
    }

    /// Counts served requests, and ends a spell after a while without work.
    fn note(&mut self, at: f64, served: usize) -> std::io::Result<()> {
        if served > 0 {
            let is_full = self.workers.at_work() >= self.full;
            self.spell.serves(served as u64, at, is_full);
        }
        if let Some(began) = self.spell.began
            && self.workers.is_idle()
            && at >= self.spell.last + GAP_NS
        {
            let (served, ns) = self.spell.counted(began);
            writeln!(self.log, "{served} {ns:.0}")?;
            self.spell = Spell::default();
        }
        Ok(())
    }

    /// Receives from a connection, or accepts new ones.
    fn take(&mut self, number: u64, jobs: &mut Vec<Job>) -> Result<(), Box<dyn Error>> {
        if number == LISTENER {
            return self.accept();
        }
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.send(&[]);
            if connection.receive(number, jobs).is_err() {
                self.connections.remove(&number);
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> Result<(), Box<dyn Error>> {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let data = epoll::EventData::new_u64(self.accepted);
            let wanted = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
            epoll::add(&self.epoll, &stream, data, wanted)?;
            self.connections
                .insert(self.accepted, Connection::new(stream));
            self.accepted += 1;
        }
    }

    fn response(&mut self, job: Job) {
        match job {
            Job::Response(connection, bytes) => {
                if let Some(connection) = self.connections.get_mut(&connection) {
                    connection.send(&bytes);
                }
            }
            Job::Broadcast(frame) => {
                let connections = self.connections.values_mut();
                for connection in connections.filter(|connection| connection.is_websocket()) {
                    connection.send(&frame);
                }
            }
        }
    }
}

impl Spell {
    /// Notes that all workers are busy now.
    fn fills(&mut self, at: f64) {
        self.is_full = true;
        let continues = self.began.is_some() && at < self.full_last + GAP_NS;
        if !continues {
            let (before_served, before_ns) = match self.began {
                Some(began) => self.counted(began),
                None => (0, 0.0),
            };
            *self = Spell {
                began: Some(at),
                is_full: true,
                last: at,
                full_last: at,
                before_served,
                before_ns,
                ..Spell::default()
            };
        }
    }

    /// The number of requests served while all workers were busy, and that time in ns, if the last
    /// such interval began at `began`.
    fn counted(&self, began: f64) -> (u64, f64) {
        (
            self.before_served + self.full_served,
            self.before_ns + self.full_last - began,
        )
    }

    /// Counts requests served now; `is_full` is whether all workers are still busy.
    fn serves(&mut self, count: u64, at: f64, is_full: bool) {
        self.served += count;
        self.last = at;
        if self.is_full {
            (self.full_served, self.full_last) = (self.served, at);
        }
        self.is_full = is_full;
    }
}

fn timespec(ns: f64) -> Timespec {
    Timespec {
        tv_sec: (ns / 1e9) as i64,
        tv_nsec: (ns % 1e9) as i64,
    }
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options, Box<dyn Error>> {
    let mut options = Options {
        port: 0,
        log: String::new(),
        per_s: 1_000.0,
        kind: Kind::Constant,
        order: Order::Fifo,
        workers: 1,
        clients: usize::MAX,
        seed: 1,
    };
    while let Some(flag) = words.next() {
        let value = words
            .next()
            .ok_or_else(|| format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--port" => options.port = value.parse()?,
            "--log" => options.log = value,
            "--per-second" => options.per_s = value.parse()?,
            "--workers" => options.workers = value.parse()?,
            "--clients" => options.clients = value.parse()?,
            "--seed" => options.seed = value.parse()?,
            "--work" => options.kind = kind(&value)?,
            "--order" => options.order = order(&value)?,
            _ => return Err(format!("unknown flag {flag}").into()),
        }
    }
    if options.log.is_empty() || options.port == 0 || options.workers == 0 {
        Err("usage: capacity --port N --log FILE [--per-second N] [--work KIND] [--order ORDER] [--workers N] [--clients N] [--seed N]".into())
    } else {
        Ok(options)
    }
}

fn kind(word: &str) -> Result<Kind, Box<dyn Error>> {
    Ok(match word {
        "constant" => Kind::Constant,
        "exponential" => Kind::Exponential,
        "bimodal" => Kind::Bimodal,
        "stalls" => Kind::Stalls,
        _ => return Err(format!("unknown kind of work {word}").into()),
    })
}

fn order(word: &str) -> Result<Order, Box<dyn Error>> {
    Ok(match word.split_once(':') {
        None if word == "fifo" => Order::Fifo,
        None if word == "lifo" => Order::Lifo,
        None if word == "sharing" => Order::Sharing,
        Some(("batches", most)) => Order::Batches(most.parse()?),
        Some(("turns", most)) => Order::Turns(most.parse()?),
        _ => return Err(format!("unknown order {word}").into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_served_with_idle_workers_do_not_count() {
        // Method: two workers, both busy for 10 ms, then one alone for 50 ms, as at the end of a
        // load, then both for 10 ms with a pause of a client in between.
        let mut spell = Spell::default();
        let ms = |ms: f64| ms * 1e6;
        spell.fills(ms(100.0));
        spell.serves(1, ms(110.0), false);
        spell.serves(1, ms(160.0), false);
        spell.fills(ms(161.0));
        spell.serves(1, ms(165.0), false);
        spell.fills(ms(166.0));
        spell.serves(1, ms(171.0), false);
        let began = spell.began.unwrap();
        assert_eq!(spell.counted(began), (3, ms(20.0)));
    }
}
