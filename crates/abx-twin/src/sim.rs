//! A back end without a network: virtual time, a simulated peer, faults by seed.
//!
//! [`Sim::wait`] jumps to the next event, so minutes of load pass in a moment,
//! and the same seed gives the same run. [`Network`] sets the behaviour of the network and
//! the peer; a [`PeerScript`] sets the behaviour of the peer's connections.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abx_engine::testing::{Awaits, CutTurns, Io, Random, Ready, Received, Token};
use abx_sys::{Nanos, ServerAddress};

use crate::hub::Hub;
use crate::inbox::{Inbox, Pull, TcpSegment};
use crate::network::{Accepting, Network};
use crate::script::{PeerScript, PeerStep, UNUSED_ADDRESS};

/// Moves bytes in virtual time.
pub struct Sim {
    pub(crate) network: Network,
    pub(crate) script: PeerScript,
    pub(crate) random: Random,
    pub(crate) now: Nanos,
    pub(crate) connections: Vec<Option<SimulatedConnection>>,
    pub(crate) events: BinaryHeap<Reverse<NetworkEvent>>,
    /// Breaks ties, so that the event caused first comes first.
    pub(crate) caused: u64,
    pub(crate) accepted: usize,
    /// Requests that wait for a worker of the peer.
    pub(crate) queue: VecDeque<Token>,
    pub(crate) busy: usize,
    /// Whether a connection whose request was served continues its script.
    pub(crate) is_continuing: bool,
    /// Requests of one connection that were served in a row, except the first.
    pub(crate) in_a_row: usize,
    /// Requests that are served at the same time, and the remaining work of each, in ns.
    pub(crate) shared: Vec<(Token, f64)>,
    /// When the remaining work was last updated.
    pub(crate) shared_until: Nanos,
    /// The number of the last scheduled [`NetworkEventKind::Shared`]; earlier ones are void.
    pub(crate) shared_turns: u64,
    /// The remaining service times of the last deal.
    pub(crate) dealt: Vec<Nanos>,
    /// The bytes of the last pull.
    pub(crate) handed: Vec<u8>,
    /// The WebSocket server; if there is one, scripts are not followed.
    pub hub: Option<Hub>,
    /// All bytes that were skipped.
    pub skipped: u64,
    /// Calls that sent bytes or tried to.
    pub sends: u64,
    /// When each connect was tried.
    pub connects: Vec<Nanos>,
    /// Connections that wait to be accepted in order.
    pub(crate) unaccepted: VecDeque<Token>,
    pub(crate) is_accepting: bool,
    /// When the last connection was accepted.
    pub(crate) accepted_at: Nanos,
    /// The beginning and the end of the time in which the peer is away.
    pub(crate) away: (Nanos, Nanos),
    pub(crate) cut: CutTurns,
    /// Pulls since the last wait.
    pub(crate) pulls: usize,
    /// A flag to set, and when.
    pub(crate) stop: Option<(Nanos, Arc<AtomicBool>)>,
    /// The beginning and the end of a pause of the generator's thread.
    pub(crate) paused: (Nanos, Nanos),
}

/// If an engine pulls more often than this between two waits, it would never wait again.
const PULLS_MAX: usize = 100_000;

/// Both ends of one connection.
pub(crate) struct SimulatedConnection {
    pub(crate) generation: u32,
    pub(crate) is_slow: bool,
    pub(crate) inbox: Inbox,
    pub(crate) is_broken: bool,
    /// The arrival of the last piece, which later pieces do not overtake.
    pub(crate) last_arrival: Nanos,
    pub(crate) steps: Vec<PeerStep>,
    pub(crate) place: usize,
    /// Bytes that the peer has received and not read.
    pub(crate) unread: VecDeque<u8>,
    /// Sent bytes of the client that have not reached an open peer.
    pub(crate) unacknowledged: usize,
    pub(crate) is_served: bool,
    /// When the peer last sent bytes, or received the connect.
    pub(crate) idle_since: Nanos,
    pub(crate) peer_closed: bool,
}

/// A future event. Events are ordered by time, and then by when they were caused.
pub(crate) struct NetworkEvent {
    at: Nanos,
    number: u64,
    token: Token,
    kind: NetworkEventKind,
}

pub(crate) enum NetworkEventKind {
    Connects,
    /// The peer accepts the next of the waiting connections.
    Accepts,
    Refused,
    /// At the engine's end.
    Arrives(TcpSegment),
    Room,
    /// At the peer's end.
    Reaches(Vec<u8>),
    Served,
    /// A request of those served together is ready, unless the group has changed since.
    Shared(u64),
    IdleClose,
    SendsUnprompted(Vec<u8>),
}

impl Sim {
    /// The address of the simulated peer.
    pub const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 80);

    pub fn new(network: Network, script: PeerScript) -> Sim {
        Sim {
            random: Random::new(network.seed),
            network,
            script,
            // Not zero, which could hide a missing start time.
            now: Nanos(1_000_000_000),
            connections: Vec::new(),
            events: BinaryHeap::new(),
            caused: 0,
            accepted: 0,
            queue: VecDeque::new(),
            busy: 0,
            is_continuing: false,
            in_a_row: 0,
            shared: Vec::new(),
            shared_until: Nanos(0),
            shared_turns: 0,
            dealt: Vec::new(),
            handed: Vec::new(),
            hub: None,
            skipped: 0,
            sends: 0,
            connects: Vec::new(),
            unaccepted: VecDeque::new(),
            is_accepting: false,
            accepted_at: Nanos(0),
            away: (Nanos(0), Nanos(0)),
            cut: CutTurns::default(),
            pulls: 0,
            stop: None,
            paused: (Nanos(0), Nanos(0)),
        }
    }

    /// Sets a flag at a moment, as a user does to stop a load.
    pub fn stops_at(&mut self, moment: Nanos, flag: &Arc<AtomicBool>) {
        self.stop = Some((moment, Arc::clone(flag)));
    }

    /// Takes the peer away from one moment until another, which is excluded. Meanwhile connects
    /// are refused, and a client that sends to the peer loses the connection.
    pub fn goes_away(&mut self, from: Nanos, until: Nanos) {
        self.away = (from, until);
    }

    /// Pauses the generator's thread: a wait that would end between two moments ends at the second.
    pub fn pauses(&mut self, from: Nanos, until: Nanos) {
        self.paused = (from, until);
    }

    /// The properties of the network and the peer, which may be changed.
    pub fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    fn is_away(&self) -> bool {
        let (from, until) = self.away;
        from <= self.now && self.now < until
    }

    /// Has the peer send bytes unprompted on the connection at this place.
    pub fn peer_sends(&mut self, place: usize, bytes: Vec<u8>) {
        let connection = self.connections[place].as_ref().expect("it is open");
        let token = Token {
            slot: u32::try_from(place).expect("few connections"),
            generation: connection.generation,
        };
        self.cause(self.now, token, NetworkEventKind::SendsUnprompted(bytes));
    }

    pub(crate) fn chance(&mut self, of_thousand: u64) -> bool {
        of_thousand > 0 && self.random.below(1000) < of_thousand
    }

    pub(crate) fn cause(&mut self, at: Nanos, token: Token, kind: NetworkEventKind) {
        self.caused += 1;
        self.events.push(Reverse(NetworkEvent {
            at,
            number: self.caused,
            token,
            kind,
        }));
    }

    /// Handles a connect at the peer, which accepts it in its turn.
    fn waits_to_be_accepted(&mut self, token: Token, at: Nanos) {
        let Accepting { each, from, .. } = self.network.accepting;
        if each == Nanos(0) {
            return self.cause(at.max(from), token, NetworkEventKind::Connects);
        }
        self.unaccepted.push_back(token);
        if !std::mem::replace(&mut self.is_accepting, true) {
            let at = at.max(from).max(self.accepted_at.plus(each));
            self.cause(at, token, NetworkEventKind::Accepts);
        }
    }

    /// Has the peer accept the next waiting connection.
    fn accepts(&mut self, ready: &mut Vec<Ready>) {
        self.accepted_at = self.now;
        while let Some(token) = self.unaccepted.pop_front() {
            if self.alive(token).is_some() {
                ready.push(Ready::Connected(token));
                self.advance(token);
                break;
            }
        }
        self.is_accepting = !self.unaccepted.is_empty();
        if let Some(next) = self.unaccepted.front().copied() {
            let at = self.now.plus(self.network.accepting.each);
            self.cause(at, next, NetworkEventKind::Accepts);
        }
    }

    /// The connection, if it is not closed.
    pub(crate) fn alive(&mut self, token: Token) -> Option<&mut SimulatedConnection> {
        alive(&mut self.connections, token)
    }

    pub(crate) fn connection(&mut self, token: Token) -> &mut SimulatedConnection {
        self.alive(token)
            .expect("the engine names only connections that it has not closed")
    }

    /// Processes one event; events for the engine go to `ready`.
    fn happen(&mut self, event: NetworkEvent, ready: &mut Vec<Ready>) {
        let token = event.token;
        match event.kind {
            // The worker becomes free even if the connection is closed.
            NetworkEventKind::Served => self.served(token),
            NetworkEventKind::Accepts => self.accepts(ready),
            NetworkEventKind::Shared(turn) => self.shared(turn),
            _ if self.alive(token).is_none() => {}
            NetworkEventKind::Connects => {
                ready.push(Ready::Connected(token));
                self.advance(token);
            }
            NetworkEventKind::Refused => {
                self.connections[token.slot as usize] = None;
                ready.push(Ready::Unconnected(token, refused()));
            }
            NetworkEventKind::Arrives(piece) => {
                let connection = self.connection(token);
                connection.is_broken |= matches!(piece, TcpSegment::Break);
                connection.inbox.arrives(piece);
                ready.push(Ready::Receivable(token));
            }
            NetworkEventKind::Room => ready.push(Ready::MaySend(token)),
            NetworkEventKind::Reaches(_) if self.is_away() => {
                let reset = NetworkEventKind::Arrives(TcpSegment::Break);
                self.cause(self.now, token, reset);
            }
            NetworkEventKind::Reaches(bytes) => self.reaches(token, &bytes),
            NetworkEventKind::IdleClose => self.peer_closes(token),
            NetworkEventKind::SendsUnprompted(bytes) => self.sends_unprompted(token, bytes),
        }
    }

    /// Removes duplicate events from a list. Connections may be listed in any order, except that
    /// `Connected` of a connection comes before its other events.
    fn arrange(&mut self, ready: &mut Vec<Ready>) {
        let mut tokens = Vec::new();
        ready.retain(|ready| match ready {
            Ready::Receivable(token) if tokens.contains(token) => false,
            Ready::Receivable(token) => {
                tokens.push(*token);
                true
            }
            _ => true,
        });
        if self.chance(self.network.faults.reorder) {
            for place in (1..ready.len()).rev() {
                let other = usize::try_from(self.random.below(place as u64 + 1)).expect("small");
                ready.swap(place, other);
            }
            ready.sort_by_key(|ready| matches!(ready, Ready::Receivable(_) | Ready::MaySend(_)));
        }
    }
}

impl Io for Sim {
    fn now(&mut self) -> Nanos {
        self.now
    }

    fn connect(&mut self, token: Token, to: &ServerAddress, _: Option<IpAddr>) -> io::Result<()> {
        self.connects.push(self.now);
        if self.connections.iter().flatten().count() >= self.network.ports {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        let faults = self.network.faults;
        let is_refused = *to == UNUSED_ADDRESS.into() || self.chance(faults.refused);
        if is_refused && self.random.below(2) == 0 {
            return Err(refused());
        }
        let is_refused = is_refused || self.is_away();
        let place = token.slot as usize;
        if place >= self.connections.len() {
            self.connections.resize_with(place + 1, || None);
        }
        assert!(
            self.connections[place].is_none(),
            "a place has one connection"
        );
        let steps = if is_refused {
            Vec::new()
        } else {
            self.accepted += 1;
            (self.script)(self.accepted - 1)
        };
        self.connections[place] = Some(SimulatedConnection {
            generation: token.generation,
            is_slow: self.chance(faults.slow),
            inbox: Inbox::new(),
            is_broken: false,
            last_arrival: Nanos(0),
            steps,
            place: 0,
            unread: VecDeque::new(),
            unacknowledged: 0,
            is_served: false,
            idle_since: self.now,
            peer_closed: false,
        });
        let at = self.now.plus(Nanos(2 * self.network.delay.0));
        if is_refused {
            self.cause(at, token, NetworkEventKind::Refused);
        } else if self.accepted <= self.network.accepting.most {
            self.waits_to_be_accepted(token, at);
        }
        Ok(())
    }

    fn close(&mut self, token: Token) {
        self.connection(token);
        self.connections[token.slot as usize] = None;
    }

    fn send(&mut self, token: Token, bytes: &[u8]) -> io::Result<usize> {
        if self.connection(token).is_broken {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        self.sends += 1;
        let mut taken = bytes.len();
        if self.chance(self.network.faults.short_send) {
            let some = self.random.below(bytes.len() as u64);
            taken = usize::try_from(some).expect("below a length");
            let at = self.now.plus(self.network.delay);
            self.cause(at, token, NetworkEventKind::Room);
        }
        self.connection(token).unacknowledged += taken;
        let at = self.now.plus(self.network.delay);
        let reaches = NetworkEventKind::Reaches(bytes[..taken].to_vec());
        self.cause(at, token, reaches);
        Ok(taken)
    }

    fn skip(&mut self, token: Token, bytes: u64) {
        self.connection(token).inbox.skip(bytes);
    }

    fn limit_receive(&mut self, token: Token, most: usize) {
        self.connection(token).inbox.limit(most);
    }

    fn wait(&mut self, until: Nanos, _: Awaits, ready: &mut Vec<Ready>) -> Nanos {
        ready.clear();
        self.pulls = 0;
        if let Some((_, flag)) = self.stop.take_if(|(moment, _)| *moment <= self.now) {
            flag.store(true, Ordering::Relaxed);
        }
        let until = if self.cut.is_empty() {
            until.max(self.now)
        } else {
            self.now
        };
        while let Some(Reverse(next)) = self.events.peek() {
            let is_over = !ready.is_empty() && next.at > self.now;
            if next.at > until || is_over {
                break;
            }
            let Reverse(event) = self.events.pop().expect("one was seen");
            // Receiving may have taken time meanwhile.
            self.now = self.now.max(event.at);
            self.happen(event, ready);
        }
        if ready.is_empty() {
            self.now = until;
        }
        let connections = &mut self.connections;
        self.cut.list(ready, |token| {
            let inbox = alive(connections, token).map(|connection| &mut connection.inbox);
            let inbox = inbox.filter(|inbox| inbox.has_had_turn());
            inbox.map(Inbox::begin_turn).is_some()
        });
        let (from, until) = self.paused;
        if from <= self.now && self.now < until {
            self.now = until;
        }
        self.arrange(ready);
        // Events of connections that were refused or closed meanwhile must not be listed.
        let connections = &mut self.connections;
        ready.retain(|ready| match ready {
            Ready::Unconnected(..) => true,
            Ready::Connected(token) | Ready::MaySend(token) | Ready::Receivable(token) => {
                alive(connections, *token).is_some()
            }
        });
        self.now
    }

    fn is_acknowledged(&mut self, token: Token) -> bool {
        self.connection(token).unacknowledged == 0
    }

    fn receive(&mut self, token: Token) -> Received<'_> {
        let connection = alive(&mut self.connections, token)
            .expect("the engine names only connections that it has not closed");
        let pulled = match connection.inbox.pull() {
            Pull::Bytes(pulled) => pulled,
            Pull::Nothing => return Received::Nothing,
            Pull::Ended => return Received::Ended,
            Pull::Failed => return Received::Failed,
        };
        if pulled.end_turn {
            self.cut.add(token);
        }
        let count = pulled.bytes.len() as u64;
        self.pulls += 1;
        assert!(self.pulls < PULLS_MAX, "the engine never comes back");
        self.now = self.now.plus(pulled.took);
        if pulled.are_skipped {
            self.skipped += count;
            return Received::Skipped(count);
        }
        self.handed = pulled.bytes;
        Received::Bytes(&self.handed)
    }
}

fn alive(
    connections: &mut [Option<SimulatedConnection>],
    token: Token,
) -> Option<&mut SimulatedConnection> {
    connections
        .get_mut(token.slot as usize)
        .and_then(Option::as_mut)
        .filter(|connection| connection.generation == token.generation)
}

fn refused() -> io::Error {
    io::ErrorKind::ConnectionRefused.into()
}

impl NetworkEvent {
    fn order(&self) -> (Nanos, u64) {
        (self.at, self.number)
    }
}

impl Ord for NetworkEvent {
    fn cmp(&self, other: &NetworkEvent) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for NetworkEvent {
    fn partial_cmp(&self, other: &NetworkEvent) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for NetworkEvent {
    fn eq(&self, other: &NetworkEvent) -> bool {
        self.order() == other.order()
    }
}

impl Eq for NetworkEvent {}
