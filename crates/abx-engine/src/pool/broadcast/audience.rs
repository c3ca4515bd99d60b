//! Which listener has received which broadcast: the rounds in flight.
//!
//! Numbers count the broadcasts of a pool from 0 and never restart, so that a late
//! message of an earlier slice is known to be late. A round ends when all listeners have
//! it, when a listener's connection is lost before it has it, or when its time is out;
//! messages that arrive after that are still received, as late.

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
    /// The listeners that have it, one bit each.
    has_it: Vec<u64>,
    received: usize,
    first: Nanos,
    median: Nanos,
    /// What was wrong with it for any listener.
    wrong: Option<Outcome>,
}

/// The listeners of a pool, the speaker among them.
pub(super) struct Audience {
    expected: Expected,
    /// The number that each one should get next.
    next: Vec<u64>,
    /// In the order of their numbers, without gaps. Rounds that have ended stay in it
    /// until they are the first.
    rounds: VecDeque<Option<BroadcastRound>>,
    /// The number of the first one of `rounds`.
    base: u64,
    /// How many of `rounds` have not ended.
    in_flight: usize,
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
        let mut has_it = self.spare.pop().unwrap_or_default();
        has_it.clear();
        has_it.resize(self.next.len().div_ceil(64), 0);
        self.in_flight += 1;
        self.rounds.push_back(Some(BroadcastRound {
            flight,
            has_it,
            received: 0,
            first: Nanos(0),
            median: Nanos(0),
            wrong: None,
        }));
    }

    /// A listener got a message. Returns the round that ended with it.
    pub(super) fn receives(
        &mut self,
        received: &ReceivedMessage,
        now: Nanos,
        tally: &mut Tally,
    ) -> Option<Ended> {
        let number = received.number;
        if number >= self.next_number() {
            // No speaker of this pool has sent it.
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

    /// A listener has a new connection, which receives the messages sent from now on.
    pub(super) fn joins(&mut self, listener: usize) {
        self.next[listener] = self.next_number();
    }

    /// A listener's connection is gone. Ends one of the rounds that it misses and returns
    /// it. Call it until it returns `None`.
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

    /// Ends the first round if it was begun before `moment`, and returns it.
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
        self.spare.push(round.has_it);
        ended
    }

    fn give_up(&mut self, place: usize, outcome: Outcome, tally: &mut Tally) -> Ended {
        let round = self.end(place);
        if outcome != Outcome::Unfinished {
            tally.lost += (self.next.len() - round.received) as u64;
        }
        let flight = round.flight;
        self.spare.push(round.has_it);
        Ended { flight, outcome }
    }

    /// Removes a round, and those after it that had ended.
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
        self.has_it[listener / 64] & 1 << (listener % 64) != 0
    }

    /// Notes that a listener has it. Returns false if it had it before.
    fn takes(&mut self, listener: usize) -> bool {
        if self.has(listener) {
            return false;
        }
        self.has_it[listener / 64] |= 1 << (listener % 64);
        self.received += 1;
        true
    }
}
