//! Which listeners have received which broadcast: the rounds in flight.
//!
//! Numbers count the broadcasts of a pool from 0 and never restart, so that a late
//! message of an earlier slice is known to be late. A round ends when all listeners have the
//! message, when the connection of a listener without it is lost, or when it times out.
//! Messages that arrive after that are still received, as late.

use std::collections::VecDeque;

use abx_evidence::{Outcome, Tally};
use abx_sys::Nanos;
use abx_wire::websocket::MessageKind;

use crate::connection::flights::Flight;
use crate::protocol::ReceivedMessage;

#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    pub(super) kind: MessageKind,
    pub(super) bytes: u64,
}

struct BroadcastRound {
    flight: Flight,
    /// The listeners that have the message, one bit each.
    receivers: Vec<u64>,
    received: usize,
    first: Nanos,
    median: Nanos,
    /// The fault of the message at any listener.
    wrong: Option<Outcome>,
}

/// The listeners of a pool, which include the speaker.
pub(super) struct Audience {
    expected: Expected,
    /// The next number for each listener.
    next: Vec<u64>,
    /// In the order of their numbers, without gaps. `None` for a round that has ended and is not
    /// the first.
    rounds: VecDeque<Option<BroadcastRound>>,
    /// The number of the first round in `rounds`.
    base: u64,
    /// How many of `rounds` have not ended.
    in_flight: usize,
    /// Memory of ended rounds, for their successors.
    spare: Vec<Vec<u64>>,
}

pub(super) struct Ended {
    pub(super) flight: Flight,
    pub(super) outcome: Outcome,
}

impl Audience {
    pub(super) fn new(listeners: usize, expected: Expected) -> Audience {
        Audience {
            expected,
            next: vec![0; listeners],
            rounds: VecDeque::new(),
            base: 0,
            in_flight: 0,
            spare: Vec::new(),
        }
    }

    pub(super) fn next_number(&self) -> u64 {
        self.base + self.rounds.len() as u64
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn sent(&mut self, flight: Flight) {
        let mut receivers = self.spare.pop().unwrap_or_default();
        receivers.clear();
        receivers.resize(self.next.len().div_ceil(64), 0);
        self.in_flight += 1;
        self.rounds.push_back(Some(BroadcastRound {
            flight,
            receivers,
            received: 0,
            first: Nanos(0),
            median: Nanos(0),
            wrong: None,
        }));
    }

    /// Notes a message at a listener. Returns the round that it ends.
    pub(super) fn receives(
        &mut self,
        received: &ReceivedMessage,
        now: Nanos,
        tally: &mut Tally,
    ) -> Option<Ended> {
        let number = received.number;
        if number >= self.next_number() {
            // The speaker of this pool has not sent this number.
            tally.out_of_order += 1;
            return None;
        }
        let next = &mut self.next[received.listener];
        let is_late = number < *next;
        *next = (*next).max(number + 1);
        tally.out_of_order += u64::from(is_late);
        let place = usize::try_from(number.checked_sub(self.base)?).ok()?;
        let total = self.next.len();
        let round = self.rounds.get_mut(place)?.as_mut()?;
        if round.flight.counted {
            tally.bytes += received.received;
            tally.body_bytes += received.bytes;
        }
        if is_late {
            round.wrong = Some(Outcome::WrongBody);
        } else if received.kind != self.expected.kind {
            round.wrong.get_or_insert(Outcome::WrongBody);
        } else if received.bytes != self.expected.bytes {
            round.wrong.get_or_insert(Outcome::WrongLength);
        }
        if !round.takes(received.listener) {
            return None;
        }
        if round.received == 1 {
            round.first = now;
        }
        if round.received == total.div_ceil(2) {
            round.median = now;
        }
        (round.received == total).then(|| self.complete(place, tally))
    }

    /// Notes a listener's new connection, which receives the messages sent from now on.
    pub(super) fn joins(&mut self, listener: usize) {
        self.next[listener] = self.next_number();
    }

    /// Notes the loss of a listener's connection. Ends one of the rounds that it misses and
    /// returns it. Call it until it returns `None`.
    pub(super) fn misses(
        &mut self,
        listener: usize,
        outcome: Outcome,
        tally: &mut Tally,
    ) -> Option<Ended> {
        self.joins(listener);
        let mut rounds = self.rounds.iter();
        let misses = |round: &Option<BroadcastRound>| {
            round.as_ref().is_some_and(|round| !round.has(listener))
        };
        let place = rounds.position(misses)?;
        Some(self.give_up(place, outcome, tally))
    }

    /// Ends the first round if it was begun by `moment`, and returns it.
    pub(super) fn older(&mut self, moment: Nanos, tally: &mut Tally) -> Option<Ended> {
        let place = self.rounds.iter().position(Option::is_some)?;
        let round = self.rounds[place].as_ref()?;
        (round.flight.begun <= moment).then(|| self.give_up(place, Outcome::Timeout, tally))
    }

    /// When the oldest round was begun.
    pub(super) fn oldest(&self) -> Option<Nanos> {
        let first = self.rounds.iter().flatten().next()?;
        Some(first.flight.begun)
    }

    pub(super) fn missing(&self) -> u64 {
        let oldest = self.rounds.iter().flatten().next();
        oldest.map_or(0, |round| (self.next.len() - round.received) as u64)
    }

    pub(super) fn abandon(&mut self, tally: &mut Tally) -> Option<Ended> {
        let place = self.rounds.iter().position(Option::is_some)?;
        Some(self.give_up(place, Outcome::Unfinished, tally))
    }

    fn complete(&mut self, place: usize, tally: &mut Tally) -> Ended {
        let round = self.end(place);
        if round.flight.counted {
            let since = |moment: Nanos| moment.since(round.flight.intended).0;
            tally.times.first_listener.record_ns(since(round.first));
            tally.times.median_listener.record_ns(since(round.median));
        }
        let ended = Ended {
            flight: round.flight,
            outcome: round.wrong.unwrap_or(Outcome::Ok),
        };
        self.spare.push(round.receivers);
        ended
    }

    fn give_up(&mut self, place: usize, outcome: Outcome, tally: &mut Tally) -> Ended {
        let round = self.end(place);
        if outcome != Outcome::Unfinished {
            tally.lost += (self.next.len() - round.received) as u64;
        }
        let flight = round.flight;
        self.spare.push(round.receivers);
        Ended { flight, outcome }
    }

    /// Removes a round, and then all ended rounds at the front.
    fn end(&mut self, place: usize) -> BroadcastRound {
        self.in_flight -= 1;
        let round = self.rounds[place].take();
        while let Some(None) = self.rounds.front() {
            self.rounds.pop_front();
            self.base += 1;
        }
        round.expect("a round ends once")
    }
}

impl BroadcastRound {
    fn has(&self, listener: usize) -> bool {
        self.receivers[listener / 64] & 1 << (listener % 64) != 0
    }

    /// Notes that a listener has the message. Returns false if it had the message before.
    fn takes(&mut self, listener: usize) -> bool {
        if self.has(listener) {
            return false;
        }
        self.receivers[listener / 64] |= 1 << (listener % 64);
        self.received += 1;
        true
    }
}
