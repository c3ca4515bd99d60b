//! The peer of the simulated connections: it follows scripts, with faults.

use abx_engine::testing::Token;
use abx_sys::Nanos;

use crate::inbox::TcpSegment;
use crate::network::{Discipline, Service};
use crate::script::PeerStep;
use crate::sim::{NetworkEventKind, Sim};

/// The longest gap between the pieces of a response.
const PIECE_GAP: Nanos = Nanos(20_000);
/// The factor of the gaps on a slow connection.
const SLOW: u64 = 100;
/// The peer closes an idle connection within this span, if it does.
const IDLE_MAX: Nanos = Nanos(2_000_000);

impl Sim {
    /// Handles bytes of the client at the peer.
    pub(crate) fn reaches(&mut self, token: Token, bytes: &[u8]) {
        let at = self.now.plus(self.network.delay);
        let connection = self.connection(token);
        if connection.peer_closed {
            // A kernel resets a connection whose socket is gone.
            if !bytes.is_empty() {
                self.cause(at, token, NetworkEventKind::Arrives(TcpSegment::Break));
            }
            return;
        }
        connection.unacknowledged -= bytes.len();
        let is_idle = connection.unread.is_empty() && !connection.is_served;
        if is_idle && self.now.since(self.connection(token).idle_since) > self.network.idle_max {
            self.connection(token).peer_closed = true;
            return self.arrives(token, self.now, TcpSegment::End);
        }
        if self.hub.is_some() {
            return self.hub_receives(token, bytes);
        }
        self.connection(token).unread.extend(bytes);
        self.advance(token);
    }

    /// Has the peer send unprompted.
    pub(crate) fn sends_unprompted(&mut self, token: Token, bytes: Vec<u8>) {
        if !self.connection(token).peer_closed {
            self.response(token, bytes);
            self.may_close_idle(token);
        }
    }

    /// Follows the script as far as it goes for now.
    pub(crate) fn advance(&mut self, token: Token) {
        loop {
            let connection = self.connection(token);
            if connection.peer_closed || connection.is_served {
                return;
            }
            let Some(step) = connection.steps.get(connection.place).cloned() else {
                return;
            };
            match step {
                PeerStep::Await(count) | PeerStep::Echo(count) => {
                    if connection.unread.len() < count {
                        return;
                    }
                    let bytes: Vec<u8> = connection.unread.drain(..count).collect();
                    if let PeerStep::Echo(_) = step {
                        self.response(token, bytes);
                    }
                }
                PeerStep::Choose(choices) => {
                    let unread = connection.unread.make_contiguous();
                    let chosen = choices
                        .iter()
                        .find(|(request, _)| unread.starts_with(request));
                    let Some((request, response)) = chosen else {
                        return;
                    };
                    connection.unread.drain(..request.len());
                    self.response(token, response.to_vec());
                }
                PeerStep::Work => {
                    if self.chance(self.network.faults.silence) {
                        self.connection(token).steps.clear();
                        return;
                    }
                    self.connection(token).is_served = true;
                    let is_next = match self.network.discipline {
                        Discipline::ByConnection(most) => {
                            self.is_continuing && self.in_a_row + 1 < most
                        }
                        _ => false,
                    };
                    self.in_a_row = if is_next { self.in_a_row + 1 } else { 0 };
                    if is_next {
                        self.queue.push_front(token)
                    } else {
                        self.queue.push_back(token)
                    }
                    if !self.is_continuing {
                        self.serve();
                    }
                    return self.pass(token);
                }
                PeerStep::Send(bytes) => self.response(token, bytes.to_vec()),
                PeerStep::Flood(bytes) => {
                    let endless = TcpSegment::Endless { bytes, place: 0 };
                    return self.arrives(token, self.now, endless);
                }
                PeerStep::Close => return self.peer_closes(token),
                PeerStep::Reset => return self.breaks(token, self.now),
                PeerStep::Again => {
                    connection.place = 0;
                    self.may_close_idle(token);
                    continue;
                }
            }
            self.pass(token);
        }
    }

    fn pass(&mut self, token: Token) {
        self.connection(token).place += 1;
    }

    /// Assigns waiting requests to free workers.
    fn serve(&mut self) {
        if self.network.discipline == Discipline::Sharing {
            return self.share();
        }
        while self.busy < self.network.workers {
            let at_once = match self.network.discipline {
                Discipline::Batches(most) => most,
                _ => 1,
            };
            let mut batch = Vec::new();
            while batch.len() < at_once
                && let Some(token) = match self.network.discipline {
                    Discipline::Lifo => self.queue.pop_back(),
                    _ => self.queue.pop_front(),
                }
            {
                if self.alive(token).is_some() {
                    batch.push(token);
                }
            }
            if batch.is_empty() {
                return;
            }
            let work = batch.iter().map(|_| self.work().0).sum();
            // One worker serves a batch, whose requests are all ready at the same moment.
            self.busy += batch.len();
            for token in batch {
                self.cause(self.now.plus(Nanos(work)), token, NetworkEventKind::Served);
            }
        }
    }

    pub(crate) fn served(&mut self, token: Token) {
        self.busy -= 1;
        self.continues(token);
        if self.busy == 0 || !matches!(self.network.discipline, Discipline::Batches(_)) {
            self.serve();
        }
    }

    /// Continues the script of a connection whose request was served.
    fn continues(&mut self, token: Token) {
        if let Some(connection) = self.alive(token) {
            connection.is_served = false;
            self.is_continuing = true;
            self.advance(token);
            self.is_continuing = false;
        }
    }

    /// Updates the remaining work of requests that are served together, admits new requests, and
    /// schedules the request that will be ready first.
    fn share(&mut self) {
        self.update_shared_work();
        while let Some(token) = self.queue.pop_front() {
            let work = self.work();
            self.shared.push((token, work.0 as f64));
        }
        let least = self
            .shared
            .iter()
            .min_by(|pair, other| pair.1.total_cmp(&other.1));
        if let Some((token, left)) = least.copied() {
            self.shared_turns += 1;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let span = (left.max(0.0) * self.shared.len() as f64).ceil() as u64;
            let turn = NetworkEventKind::Shared(self.shared_turns);
            self.cause(self.now.plus(Nanos(span)), token, turn);
        }
    }

    pub(crate) fn shared(&mut self, turn: u64) {
        if turn != self.shared_turns {
            return;
        }
        let least = self
            .shared
            .iter()
            .enumerate()
            .min_by(|pair, other| pair.1.1.total_cmp(&other.1.1))
            .map(|(place, _)| place);
        let place = least.expect("a request is served at its turn");
        // Until now, the others had to share with the request that leaves.
        self.update_shared_work();
        let (token, _) = self.shared.swap_remove(place);
        self.continues(token);
        self.share();
    }

    /// Subtracts the work that was done since the last update.
    fn update_shared_work(&mut self) {
        let done = self.now.since(self.shared_until).0 as f64 / self.shared.len().max(1) as f64;
        for (_, left) in &mut self.shared {
            *left -= done;
        }
        self.shared_until = self.now;
    }

    /// The service time of the next request.
    fn work(&mut self) -> Nanos {
        match self.network.service {
            Service::Constant(span) => span,
            Service::Exponential(mean) => self.exponential(mean),
            Service::Dealt(deck) => {
                if self.dealt.is_empty() {
                    self.dealt = deck();
                }
                let place = self.random.below(self.dealt.len() as u64);
                let place = usize::try_from(place).expect("below a length");
                self.dealt.swap_remove(place)
            }
        }
    }

    fn exponential(&mut self, mean: Nanos) -> Nanos {
        // In (0, 1], so that the logarithm exists.
        let uniform = (self.random.below(1 << 32) + 1) as f64 / (1_u64 << 32) as f64;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Nanos((-uniform.ln() * mean.0 as f64) as u64)
    }

    /// Sends a response, whole, in pieces, or cut by a reset.
    fn response(&mut self, token: Token, mut bytes: Vec<u8>) {
        let faults = self.network.faults;
        let is_reset = self.chance(faults.reset);
        if is_reset {
            let kept = self.random.below(bytes.len() as u64 + 1);
            bytes.truncate(usize::try_from(kept).expect("at most a length"));
        }
        let is_split = self.chance(faults.split);
        let gap = if self.connection(token).is_slow {
            Nanos(PIECE_GAP.0 * SLOW)
        } else {
            PIECE_GAP
        };
        let mut at = self.now;
        while is_split && bytes.len() > 1 {
            let cut = 1 + self.random.below(bytes.len() as u64 - 1);
            let rest = bytes.split_off(usize::try_from(cut).expect("below a length"));
            self.arrives(
                token,
                at,
                TcpSegment::Bytes(std::mem::replace(&mut bytes, rest)),
            );
            at = at.plus(Nanos(self.random.below(gap.0)));
        }
        if !bytes.is_empty() {
            self.arrives(token, at, TcpSegment::Bytes(bytes));
        }
        if is_reset {
            self.breaks(token, at);
        }
    }

    /// Schedules the arrival of a piece sent at `sent`, after those of all earlier pieces.
    fn arrives(&mut self, token: Token, sent: Nanos, piece: TcpSegment) {
        let at = sent.plus(self.network.delay);
        let now = self.now;
        let connection = self.connection(token);
        connection.idle_since = now;
        connection.last_arrival = connection.last_arrival.max(at);
        let at = connection.last_arrival;
        self.cause(at, token, NetworkEventKind::Arrives(piece));
    }

    pub(crate) fn peer_closes(&mut self, token: Token) {
        let connection = self.connection(token);
        if connection.peer_closed {
            return;
        }
        connection.peer_closed = true;
        // Closing with unread bytes is a reset, as kernels do.
        let piece = if connection.unread.is_empty() {
            TcpSegment::End
        } else {
            TcpSegment::Break
        };
        self.arrives(token, self.now, piece);
    }

    fn breaks(&mut self, token: Token, sent: Nanos) {
        self.connection(token).peer_closed = true;
        self.arrives(token, sent, TcpSegment::Break);
    }

    fn may_close_idle(&mut self, token: Token) {
        if self.chance(self.network.faults.idle_close) {
            let at = self.now.plus(Nanos(self.random.below(IDLE_MAX.0)));
            self.cause(at, token, NetworkEventKind::IdleClose);
        }
    }
}
