//! One place for a connection: what it is doing and the request it carries.

use abx_evidence::{Outcome, Sample};
use abx_sys::Nanos;
use abx_wire::http1;
use xxhash_rust::xxh3::Xxh3;

/// What a slot is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No connection.
    Closed,
    /// No connection, and none is tried before this moment.
    Resting(Nanos),
    /// A connection is being made, for a flight or for later.
    Connecting,
    /// A connection with nothing to do.
    Idle,
    /// This many bytes of the request were taken by the kernel so far.
    Sending(usize),
    /// The answer is awaited.
    Waiting,
}

/// One request under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flight {
    pub(crate) intended: Nanos,
    /// When it could have been sent: due, and its connection free and made.
    pub(crate) possible: Nanos,
    /// When it was begun, which is when its time to time out begins.
    pub(crate) begun: Nanos,
    pub(crate) sent: Option<Nanos>,
    /// Whether it began after the discarded part of the slice.
    pub(crate) counted: bool,
    /// Which request of the load it carries.
    pub(crate) request: usize,
    /// Whether its body is hashed.
    pub(crate) hashed: bool,
    /// Whether it is the second try after an idle connection was closed.
    pub(crate) retried: bool,
}

impl Flight {
    pub(crate) fn sample(&self, outcome: Outcome, done: Nanos) -> Sample {
        Sample {
            intended_ns: self.intended.0,
            possible_ns: self.possible.0,
            sent_ns: self.sent.map(|sent| sent.0),
            done_ns: done.0,
            outcome,
        }
    }
}

/// The time that a slot's counted requests took, without gaps.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock {
    start: Option<Nanos>,
    end: Nanos,
}

impl Clock {
    pub(crate) fn starts(&mut self, now: Nanos) {
        self.start.get_or_insert(now);
    }

    pub(crate) fn reaches(&mut self, now: Nanos) {
        self.end = now;
    }

    /// The last outcome's time, zero when there was none.
    pub(crate) fn last(&self) -> Nanos {
        self.end
    }

    /// From the first counted send to the last outcome; `None` when nothing was sent.
    pub(crate) fn span(&self) -> Option<Nanos> {
        self.start.map(|start| self.end.since(start))
    }
}

/// What the bytes of one receive amounted to.
pub(crate) enum Parsed {
    /// The answer goes on.
    More,
    /// The answer is whole; the hash is there when its body was hashed.
    Whole(http1::Done, Option<u64>),
    /// The connection is of no further use.
    Broken(http1::Fault),
}

/// A place for one connection at a time.
pub(crate) struct Slot {
    pub(crate) phase: Phase,
    /// Counts connections, so that an event of an earlier one is known as stale.
    pub(crate) generation: u32,
    pub(crate) client: http1::Client,
    pub(crate) flight: Option<Flight>,
    /// Whether this connection has given a whole answer before.
    pub(crate) reused: bool,
    /// Connects in a row that failed.
    pub(crate) refusals: u32,
    /// Calls of the session that it is in.
    pub(crate) calls: u32,
    /// When its last request ended.
    pub(crate) free_since: Nanos,
    pub(crate) clock: Clock,
    pub(crate) hasher: Option<Box<Xxh3>>,
}

impl Slot {
    pub(crate) fn new() -> Slot {
        Slot {
            phase: Phase::Closed,
            generation: 0,
            client: http1::Client::new(),
            flight: None,
            reused: false,
            refusals: 0,
            calls: 0,
            free_since: Nanos(0),
            clock: Clock::default(),
            hasher: None,
        }
    }

    /// Whether there is a connection, standing or in the making.
    pub(crate) fn has_connection(&self) -> bool {
        !matches!(self.phase, Phase::Closed | Phase::Resting(_))
    }

    /// Forgets the last slice.
    pub(crate) fn start_slice(&mut self, start: Nanos) {
        self.clock = Clock::default();
        self.calls = 0;
        self.free_since = start;
        if let Phase::Resting(_) = self.phase {
            // A rest ends with its slice.
            self.phase = Phase::Closed;
        }
    }

    /// The connection, if there was one, is gone.
    pub(crate) fn close(&mut self) {
        self.phase = Phase::Closed;
        self.generation = self.generation.wrapping_add(1);
        if let Some(hasher) = &mut self.hasher {
            hasher.reset();
        }
    }

    /// Takes a new connection in the making.
    pub(crate) fn connecting(&mut self) {
        self.phase = Phase::Connecting;
        self.client = http1::Client::new();
        self.reused = false;
    }

    /// Hands received bytes to the parser, and bodies to the hash.
    pub(crate) fn parse(&mut self, mut input: &[u8]) -> Parsed {
        let mut whole = None;
        while let Some(event) = self.client.receive(&mut input) {
            match event {
                http1::Event::Head { .. } => {}
                http1::Event::Body(bytes) => {
                    if let Some(hasher) = &mut self.hasher {
                        hasher.update(bytes);
                    }
                }
                http1::Event::Done(done) => whole = Some(done),
                http1::Event::Failed(fault) => return Parsed::Broken(fault),
            }
        }
        match whole {
            Some(done) => Parsed::Whole(done, self.hash()),
            None => Parsed::More,
        }
    }

    /// Tells the parser that the peer closed.
    pub(crate) fn end(&mut self) -> Parsed {
        match self.client.eof() {
            Some(http1::Event::Done(done)) => Parsed::Whole(done, self.hash()),
            Some(http1::Event::Failed(fault)) => Parsed::Broken(fault),
            // The end of a connection that awaits nothing ends no answer.
            _ => Parsed::Broken(http1::Fault::ClosedIdle),
        }
    }

    fn hash(&self) -> Option<u64> {
        self.hasher.as_ref().map(|hasher| hasher.digest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_runs_from_the_first_send_to_the_last_outcome() {
        // Method: two requests; the second start must not move the first.
        let mut clock = Clock::default();
        assert_eq!(clock.span(), None);
        clock.starts(Nanos(10));
        clock.reaches(Nanos(15));
        clock.starts(Nanos(15));
        clock.reaches(Nanos(40));
        assert_eq!(clock.span(), Some(Nanos(30)));
    }

    #[test]
    fn a_closed_slot_knows_events_of_its_former_connection() {
        // Method: the generation must change with every close.
        let mut slot = Slot::new();
        let before = slot.generation;
        slot.close();
        assert_ne!(slot.generation, before);
    }
}
