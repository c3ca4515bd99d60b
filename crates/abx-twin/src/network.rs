//! The simulated network and its peer, and their faults.

use abx_sys::Nanos;

/// How long a worker of the peer serves one request.
#[derive(Clone, Copy)]
pub enum Service {
    Constant(Nanos),
    Exponential(Nanos),
    /// The times of this list in random order, dealt again and again.
    Dealt(fn() -> Vec<Nanos>),
}

/// In which order the peer's workers serve requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discipline {
    Fifo,
    Lifo,
    /// All requests at the same time, with equal shares of one worker.
    Sharing,
    /// This many requests at a time by one worker, whose responses go out together.
    Batches(usize),
    /// In order of arrival, except up to this many requests of a connection in a row.
    ByConnection(usize),
}

/// The properties of the simulated network and peer.
#[derive(Clone, Copy)]
pub struct Network {
    pub seed: u64,
    pub delay: Nanos,
    pub service: Service,
    /// Requests that the peer serves at the same time.
    pub workers: usize,
    pub discipline: Discipline,
    pub accepting: Accepting,
    /// The number of ports of the client's machine.
    pub ports: usize,
    /// The peer shuts down a connection that was idle for longer when the next request comes, and
    /// leaves the request unread.
    pub idle_max: Nanos,
    pub faults: NetworkFaults,
}

/// How the peer accepts connections.
#[derive(Clone, Copy)]
pub struct Accepting {
    /// The time between two accepted connections.
    pub each: Nanos,
    /// The most connections that are ever accepted.
    pub most: usize,
    /// The earliest moment, from the beginning of time.
    pub from: Nanos,
}

/// Fault rates, in cases per thousand.
#[derive(Clone, Copy, Default)]
pub struct NetworkFaults {
    /// A connect is refused, at once or later.
    pub refused: u64,
    /// A send takes only a part, or nothing.
    pub short_send: u64,
    /// A response comes in pieces cut anywhere, with time between them.
    pub split: u64,
    /// A response is cut somewhere by a reset.
    pub reset: u64,
    /// The peer closes a connection some time after a response.
    pub idle_close: u64,
    /// A connection's pieces take a hundred times as long.
    pub slow: u64,
    /// A request never gets a response.
    pub silence: u64,
    /// A wait lists the connections that are ready together in random order.
    pub reorder: u64,
}

impl Network {
    /// A round trip of 50 µs, and 100 µs of service by any number of workers.
    pub fn faultless(seed: u64) -> Network {
        Network {
            seed,
            delay: Nanos(25_000),
            service: Service::Constant(Nanos(100_000)),
            workers: usize::MAX,
            discipline: Discipline::Fifo,
            accepting: Accepting {
                each: Nanos(0),
                most: usize::MAX,
                from: Nanos(0),
            },
            ports: usize::MAX,
            idle_max: Nanos::MAX,
            faults: NetworkFaults::default(),
        }
    }
}
