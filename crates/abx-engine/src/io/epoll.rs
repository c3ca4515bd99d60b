//! The back end over epoll: edge-triggered readiness, one receive for each response.
//!
//! Each pool has a separate epoll set, so that idle connections of one subject never wake the
//! loop that loads another.

use std::io;
use std::net::IpAddr;

use abx_sys::{
    Alarm, Epoll, Events, Interest, Nanos, ServerAddress, Socket, SocketEvent, SocketTuning,
};

use abx_evidence::Wait;

use super::busy_wait::{BusyWait, Look};
use super::contract::{Awaits, Awake, Io, NEAR, Ready, Received, Token, number, token};
use super::turn::{CutTurns, TURN_BYTES, Turn};
use super::wake::Wake;

/// Large bodies take few calls, and the buffer stays in the second-level cache.
/// The kernel provides its memory on first use: small responses touch only the first page.
const BUFFER_BYTES: usize = TURN_BYTES;
/// The most events of one wait; the others come with the next wait.
const EVENTS_MAX: usize = 512;

/// The alarm's token in the set, which no connection has.
const ALARM: u64 = u64::MAX;

pub struct EpollIo {
    epoll: Epoll,
    /// Ends long waits, see [`EpollIo::wait_long`].
    alarm: Alarm,
    events: Events,
    connections: Vec<Option<EpollConnection>>,
    cut: CutTurns,
    buffer: Vec<u8>,
    wake: Wake,
    /// Waits awake for responses; `None` to sleep.
    busy_wait: Option<BusyWait>,
    last: Nanos,
    tuning: SocketTuning,
}

struct EpollConnection {
    socket: Socket,
    generation: u32,
    is_connecting: bool,
    /// Whether a send was cut short, so that an event for room in the send buffer matters.
    is_blocked: bool,
    /// Whether nothing is received until the connection is listed again: an edge will announce
    /// more bytes, or its turn was cut.
    has_had_turn: bool,
    turn: Turn,
    /// Whether the peer's end or an error was announced, which only further reading shows.
    has_ended: bool,
    /// Bytes still to be discarded.
    to_skip: u64,
    /// The most bytes of one receive.
    receive_max: usize,
}

impl EpollIo {
    /// An epoll set without connections.
    ///
    /// # Errors
    /// The kernel's errors, above all too many open files.
    pub fn new(wait: Wait) -> io::Result<EpollIo> {
        let (epoll, alarm) = (Epoll::new()?, Alarm::new()?);
        let (wake, busy_wait) = match wait {
            Wait::Awake => (Wake::measured(), Some(BusyWait::default())),
            Wait::Asleep => (Wake::new(), None),
        };
        epoll.add(&alarm, ALARM, Interest::all())?;
        Ok(EpollIo {
            epoll,
            alarm,
            events: Events::with_capacity(EVENTS_MAX),
            connections: Vec::new(),
            cut: CutTurns::default(),
            buffer: vec![0; BUFFER_BYTES],
            wake,
            busy_wait,
            last: Nanos::now(),
            tuning: SocketTuning::default(),
        })
    }

    /// Sets socket options for connections from now on.
    pub(crate) fn tuned(mut self, tuning: SocketTuning) -> EpollIo {
        self.tuning = tuning;
        self
    }

    /// Waits for events without sleeping, for as long as that helps, and reads the
    /// clock. Returns whether there is no need to sleep any more.
    fn stay_awake(&mut self, until: Nanos) -> bool {
        let Some(busy_wait) = &mut self.busy_wait else {
            return false;
        };
        let (epoll, events) = (&self.epoll, &mut self.events);
        self.last = busy_wait.wait(Nanos::now(), until, &self.wake, || {
            look(epoll, events);
            Look {
                now: Nanos::now(),
                has_events: !events.is_empty(),
            }
        });
        !self.events.is_empty() || self.last >= until
    }

    /// Waits for events until a distant moment, and reads the clock. The wait may end sooner, at
    /// the planned end of an earlier wait: in a busy loop nearly all waits end with a response,
    /// and setting the timer for each wait costs a fortieth of a request
    /// (docs/explain/overhead.md).
    fn wait_long(&mut self, until: Nanos) {
        let rings = until.since(self.wake.ahead());
        let is_set = self.alarm.at() > self.last && self.alarm.at() <= rings;
        if !is_set {
            self.alarm
                .set(rings)
                .expect("setting an open timer does not fail");
        }
        self.epoll
            .wait(&mut self.events, None)
            .expect("waiting on an open epoll set does not fail");
        self.last = Nanos::now();
    }

    /// Waits for events until a moment, and reads the clock. It sleeps less, by the time that a
    /// wake-up takes, and polls for the rest, so that requests due at that moment are sent in
    /// time.
    fn sleep(&mut self, until: Nanos) {
        let is_near = until > self.last;
        if is_near {
            self.last = Nanos::now();
        }
        let mut timeout = until.since(self.last);
        loop {
            let ahead = self.wake.ahead();
            let asleep = timeout.since(ahead);
            let ends = self.last.plus(asleep);
            self.epoll
                .wait(&mut self.events, Some(asleep))
                .expect("waiting on an open epoll set does not fail");
            self.last = Nanos::now();
            let is_quiet = self.events.is_empty();
            if is_near && is_quiet && asleep > Nanos(0) && self.last >= ends {
                self.wake.was_late(self.last.since(ends));
            }
            timeout = until.since(self.last);
            if !is_quiet || timeout == Nanos(0) || timeout > ahead {
                return;
            }
        }
    }

    fn connection(&mut self, token: Token) -> &mut EpollConnection {
        current(&mut self.connections, token)
    }
}

impl Io for EpollIo {
    fn now(&mut self) -> Nanos {
        self.last = Nanos::now();
        self.last
    }

    fn connect(
        &mut self,
        token: Token,
        to: &ServerAddress,
        from: Option<IpAddr>,
    ) -> io::Result<()> {
        let socket = Socket::connect_tuned(*to, from, self.tuning)?;
        self.epoll.add(&socket, number(token), Interest::all())?;
        let place = token.slot as usize;
        if place >= self.connections.len() {
            self.connections.resize_with(place + 1, || None);
        }
        self.connections[place] = Some(EpollConnection {
            socket,
            generation: token.generation,
            is_connecting: true,
            is_blocked: false,
            has_had_turn: true,
            turn: Turn::whole(),
            has_ended: false,
            to_skip: 0,
            receive_max: BUFFER_BYTES,
        });
        Ok(())
    }

    fn close(&mut self, token: Token) {
        self.connection(token);
        self.connections[token.slot as usize] = None;
    }

    fn send(&mut self, token: Token, bytes: &[u8]) -> io::Result<usize> {
        self.connection(token).send(bytes)
    }

    fn skip(&mut self, token: Token, bytes: u64) {
        self.connection(token).to_skip = bytes;
    }

    fn limit_receive(&mut self, token: Token, most: usize) {
        self.connection(token).receive_max = most.clamp(1, BUFFER_BYTES);
    }

    fn wait(&mut self, until: Nanos, awaits: Awaits, ready: &mut Vec<Ready>) -> Nanos {
        ready.clear();
        let until = if self.cut.is_empty() {
            until
        } else {
            self.last
        };
        let is_over = awaits == Awaits::Responses && until > self.last && self.stay_awake(until);
        let is_near = until.since(self.last) < NEAR;
        if is_near && !is_over {
            self.sleep(until);
        } else if !is_over {
            self.wait_long(until);
        }
        for event in self.events.iter() {
            let token = token(event.token());
            let Some(place) = self.connections.get_mut(token.slot as usize) else {
                // The alarm.
                continue;
            };
            // A closed socket leaves its set only once its last copy is closed:
            // a child that is being started has one for a moment.
            let is_current =
                |connection: &&mut EpollConnection| connection.generation == token.generation;
            let Some(connection) = place.as_mut().filter(is_current) else {
                continue;
            };
            if connection.take(event, token, ready) == Keeps::No {
                *place = None;
            }
        }
        let connections = &mut self.connections;
        self.cut.list(ready, |token| {
            let place = connections.get_mut(token.slot as usize);
            let connection = place.and_then(Option::as_mut);
            // An event in this list may have begun its turn already.
            let connection = connection.filter(|connection| {
                connection.generation == token.generation && connection.has_had_turn
            });
            connection.map(EpollConnection::begin_turn).is_some()
        });
        self.last
    }

    fn is_acknowledged(&mut self, token: Token) -> bool {
        matches!(self.connection(token).socket.unacknowledged(), Ok(0))
    }

    fn take_awake(&mut self) -> Awake {
        let awake = self.busy_wait.as_mut().map(BusyWait::take);
        awake.unwrap_or_default()
    }

    fn receive(&mut self, token: Token) -> Received<'_> {
        let connection = current(&mut self.connections, token);
        if connection.has_had_turn {
            return Received::Nothing;
        }
        let skips = connection.to_skip > 0;
        let (length, got) = if skips {
            let length = usize::try_from(connection.to_skip).unwrap_or(usize::MAX);
            // A discard of more would be short, as if the socket were empty.
            let length = length.min(connection.socket.discard_max());
            (length, connection.socket.discard(length))
        } else {
            let room = &mut self.buffer[..connection.receive_max];
            (room.len(), connection.socket.receive(room))
        };
        match got {
            Ok(0) => Received::Ended,
            Ok(count) => {
                // SUBTLE: A short read has emptied the socket, and the next bytes make a new
                // edge. The announced end of a peer makes no new edge.
                connection.has_had_turn = count < length && !connection.has_ended;
                if !connection.has_had_turn && connection.turn.spend(count) {
                    connection.has_had_turn = true;
                    self.cut.add(token);
                }
                if skips {
                    connection.to_skip -= count as u64;
                    Received::Skipped(count as u64)
                } else {
                    Received::Bytes(&self.buffer[..count])
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                connection.has_had_turn = true;
                Received::Nothing
            }
            Err(_) => Received::Failed,
        }
    }
}

/// Takes the present events without waiting.
fn look(epoll: &Epoll, events: &mut Events) {
    epoll
        .wait(events, Some(Nanos(0)))
        .expect("looking at an open epoll set does not fail");
}

#[derive(PartialEq)]
enum Keeps {
    Yes,
    No,
}

impl EpollConnection {
    /// Sends as much as the socket has room for.
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = match self.socket.send(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            other => other?,
        };
        self.is_blocked = taken < bytes.len();
        Ok(taken)
    }

    fn begin_turn(&mut self) {
        (self.has_had_turn, self.turn) = (false, Turn::whole());
    }

    /// Turns one event into its meaning for the engine.
    fn take(&mut self, event: SocketEvent, token: Token, ready: &mut Vec<Ready>) -> Keeps {
        if self.is_connecting {
            if !event.writable() {
                return Keeps::Yes;
            }
            self.is_connecting = false;
            if let Err(error) = self.socket.pending_error() {
                ready.push(Ready::Unconnected(token, error));
                return Keeps::No;
            }
            ready.push(Ready::Connected(token));
        } else if self.is_blocked && event.writable() {
            self.is_blocked = false;
            ready.push(Ready::MaySend(token));
        }
        if event.readable() {
            self.begin_turn();
            self.has_ended |= event.ended();
            ready.push(Ready::Receivable(token));
        }
        Keeps::Yes
    }
}

fn current(connections: &mut [Option<EpollConnection>], token: Token) -> &mut EpollConnection {
    connections
        .get_mut(token.slot as usize)
        .and_then(Option::as_mut)
        .filter(|connection| connection.generation == token.generation)
        .expect("the engine names only connections that it has not closed")
}

#[cfg(test)]
mod tests {
    use abx_twin::{Loopback, PeerStep};

    use super::*;

    #[test]
    fn only_a_wait_for_responses_stays_awake() {
        // Method: waits of a millisecond on an empty set; only a wait for responses polls,
        // and only if it may.
        let waited = |wait, awaits| {
            let mut io = EpollIo::new(wait).unwrap();
            let until = io.now().plus(Nanos(1_000_000));
            while io.wait(until, awaits, &mut Vec::new()) < until {}
            let awake = io.take_awake();
            awake.on_cpu_ns + awake.off_cpu_ns > 0
        };
        assert!(waited(Wait::Awake, Awaits::Responses));
        assert!(!waited(Wait::Awake, Awaits::Nothing));
        assert!(!waited(Wait::Asleep, Awaits::Responses));
    }

    #[test]
    fn events_of_a_closed_socket_with_an_open_copy_are_dropped() {
        // Method: a copy of the first connection's socket, such as a child process has while
        // it starts, stays in the set when the original is closed. Bytes that then arrive on it
        // must not count for the second connection.
        let peer = Loopback::start(Box::new(|number| match number {
            0 => vec![PeerStep::Await(1), PeerStep::Send([1].into())],
            _ => Vec::new(),
        }));
        let mut io = EpollIo::new(Wait::Asleep).unwrap();
        let mut ready = Vec::new();
        let tokens = [0, 1].map(|generation| Token {
            slot: 0,
            generation,
        });
        let mut copy = None;
        for token in tokens {
            io.connect(token, &peer.address().into(), None).unwrap();
            let until = io.now().plus(Nanos(20_000_000_000));
            // The first connection's byte may end a wait of the second, without an event.
            while ready.is_empty() && io.wait(until, Awaits::Nothing, &mut ready) < until {}
            assert!(matches!(ready[..], [Ready::Connected(connected)] if connected == token));
            ready.clear();
            if copy.is_none() {
                io.send(token, b"x").unwrap();
                copy = Some(rustix::io::dup(&io.connection(token).socket).unwrap());
                io.close(token);
            }
        }
        let mut byte = [0];
        let copy = std::net::TcpStream::from(copy.expect("the first connection was copied"));
        copy.set_nonblocking(false).unwrap();
        assert_eq!(copy.peek(&mut byte).unwrap(), 1);
        // The copy's event has come: there is a byte to be read.
        let now = io.now();
        io.wait(now, Awaits::Nothing, &mut ready);
        assert!(ready.is_empty(), "{ready:?}");
    }
}
