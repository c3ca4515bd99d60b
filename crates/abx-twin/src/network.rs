//! The simulated network and its peer, and their faults.

use abx_sys::Nanos;

/// How long a worker of the peer serves one request.
#[derive(Clone, Copy)]
pub enum Service {
    Constant(Nanos),
    Exponential(Nanos),
    /// All that this gives, in any order, again and again.
    Dealt(fn() -> Vec<Nanos>),
}

/// In which order the peer's workers serve requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discipline {
    Fifo,
    /// The last one first.
    Lifo,
    /// All at the same time, each more slowly the more there are.
    Sharing,
    /// This many at a time by one worker, whose responses go out together.
    Batches(usize),
    /// In order of arrival, but up to this many of one connection in a row.
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
    /// Connections that the client's machine has ports for.
    pub ports: usize,
    /// A request that meets a connection that was idle for longer is left unread: the peer
    /// shuts the connection down.
    pub idle_max: Nanos,
    pub faults: NetworkFaults,
}

/// How the peer accepts connections.
#[derive(Clone, Copy)]
pub struct Accepting {
    /// One after the other, this far apart.
    pub each: Nanos,
    /// This many, and none after that.
    pub most: usize,
    /// None before this moment, from the beginning of time.
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
    /// Connections that are ready together are listed in any order, in this share of the waits.
    pub reorder: u64,
}

impl Network {
    /// 50 µs there and back, 100 µs of service by any number of workers.
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
