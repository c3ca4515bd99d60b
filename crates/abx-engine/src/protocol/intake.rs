//! What received bytes are to the flights of one slot.
//!
//! It sends nothing and closes nothing, so it reads the bytes where the back end
//! has them: several answers of one receive are ended one by one, and only then
//! does the pool go on with the connection.

use abx_evidence::{Outcome, Tally};
use abx_sys::Nanos;
use abx_wire::http1::{Done, Event, Fault};

use super::http::fault_outcome;
use crate::connection::encoded::Encoded;
use crate::connection::progress::Progress;
use crate::connection::slot::Slot;
use crate::plan::{Expectation, LoadPlan};
use crate::protocol::check::{self, Hashers};
use crate::protocol::{Http, Protocol};

/// What the bytes of one receive amounted to, beside whole answers.
pub(crate) enum Parsed {
    /// The connection goes on.
    More,
    /// The last answer was whole and ended the connection, so that those behind
    /// it will not come (RFC 9112, section 9.6).
    Over,
    /// The connection is of no further use.
    Broken(Outcome),
}

/// One slot and what takes note of its answers.
pub(crate) struct Intake<'a, C: Protocol> {
    pub(crate) slot: &'a mut Slot<C::Client>,
    pub(crate) plan: &'a LoadPlan,
    pub(crate) encoded: &'a [Encoded],
    pub(crate) protocol: &'a mut C,
    pub(crate) hashers: &'a mut Hashers,
    pub(crate) tally: &'a mut Tally,
    pub(crate) progress: &'a mut Progress,
    pub(crate) window: usize,
    pub(crate) now: Nanos,
    /// Whole answers so far.
    pub(crate) answers: usize,
}

// Made for each receive: what is always inlined keeps all of it in registers, which
// is a fiftieth of a request's instructions.
impl Intake<'_, Http> {
    /// Hands received bytes to the parser, bodies to the hash, and ends flights.
    #[inline(always)]
    pub(crate) fn take(&mut self, mut input: &[u8]) -> Parsed {
        let mut uncounted = input.len();
        while let Some(end) = self.next_end(&mut input) {
            let done = match end {
                Ok(done) => done,
                Err(fault) => {
                    self.received(uncounted as u64);
                    return Parsed::Broken(fault_outcome(fault));
                }
            };
            let is_last = self.slot.client.is_idle();
            if is_last
                && !input.is_empty()
                && let Some(Event::Failed(fault)) = self.next(&mut input)
            {
                // What nobody asked for came behind it: no right answer.
                self.received(uncounted as u64);
                return Parsed::Broken(fault_outcome(fault));
            }
            let goes_on = self.goes_on(&done);
            // What stands behind the connection's last answer is not read.
            let behind = if goes_on { input.len() } else { 0 };
            self.received((uncounted - behind) as u64);
            uncounted = behind;
            self.answered(&done);
            if !goes_on {
                return Parsed::Over;
            }
            if is_last {
                return Parsed::More;
            }
        }
        self.received(uncounted as u64);
        self.note_first_byte();
        Parsed::More
    }

    /// How the next answer ends, its body hashed on the way; `None` when it goes on
    /// behind these bytes.
    #[inline(always)]
    fn next_end(&mut self, input: &mut &[u8]) -> Option<Result<Done, Fault>> {
        let memo = &self.protocol.memos[self.request()];
        // Servers mostly answer a request with the head of last time.
        if let Some((done, body)) = self.slot.client.receive_whole(memo, input) {
            self.hash(body);
            return Some(Ok(done));
        }
        while let Some(event) = self.next(input) {
            match event {
                Event::Head { .. } => {}
                Event::Body(bytes) => self.hash(bytes),
                Event::Done(done) => return Some(Ok(done)),
                Event::Failed(fault) => return Some(Err(fault)),
            }
        }
        None
    }

    #[inline(always)]
    fn hash(&mut self, bytes: &[u8]) {
        let is_hashing = self.slot.is_hashing();
        check::hash(is_hashing, &mut self.slot.hasher, self.hashers, bytes);
    }

    /// The next event.
    #[inline(always)]
    fn next<'b>(&mut self, input: &mut &'b [u8]) -> Option<Event<'b>> {
        let request = self.request();
        let memo = &mut self.protocol.memos[request];
        self.slot.client.receive_with(memo, input)
    }

    /// Which request of the plan the next bytes answer.
    #[inline(always)]
    fn request(&self) -> usize {
        let first = self.slot.flights.first();
        first.map_or(0, |flight| flight.request)
    }

    /// Tells the parser that the peer closed.
    pub(crate) fn end(&mut self) -> Parsed {
        loop {
            match self.slot.client.eof() {
                Some(Event::Done(done)) => {
                    let goes_on = self.goes_on(&done);
                    self.answered(&done);
                    if !goes_on {
                        return Parsed::Over;
                    }
                }
                Some(Event::Failed(fault)) => return Parsed::Broken(fault_outcome(fault)),
                // The end of a connection that awaits nothing ends no answer.
                _ => return Parsed::Broken(Outcome::EarlyClose),
            }
        }
    }

    /// Whether the connection goes on behind the first flight's whole answer.
    fn goes_on(&self, done: &Done) -> bool {
        // What is left of a request would run into the next one.
        let was_sent = self.slot.unsent_bytes == 0
            || self
                .slot
                .has_sent_first(self.encoded[self.slot.sending].bytes);
        was_sent && done.reusable && self.plan.keep_alive
    }

    /// Ends the first flight with its whole answer.
    #[inline(always)]
    fn answered(&mut self, done: &Done) {
        self.whole(done.body_bytes, |expect, hash| {
            check::outcome(expect, done, hash)
        });
    }
}

impl<C: Protocol> Intake<'_, C> {
    /// Counts bytes of a body that were thrown away unread.
    pub(crate) fn skipped(&mut self, bytes: u64) {
        self.received(bytes);
        C::skip(&mut self.slot.client, bytes);
    }

    /// Bytes came that belong to the first flight.
    pub(crate) fn received(&mut self, bytes: u64) {
        let first = self.slot.flights.first();
        if first.is_some_and(|flight| flight.counted) {
            self.tally.bytes += bytes;
        }
    }

    /// The answer of the first flight goes on behind what was received, if it began.
    pub(crate) fn note_first_byte(&mut self) {
        if self.slot.is_sampled() && C::has_begun(&self.slot.client) {
            self.slot.timing.receives(self.now);
        }
    }

    /// Ends the first flight with its whole answer, whose body has so many bytes;
    /// `judge` is given what was expected, and the body's hash when it was hashed.
    #[inline(always)]
    pub(crate) fn whole(
        &mut self,
        body_bytes: u64,
        judge: impl FnOnce(&Expectation, Option<u64>) -> Outcome,
    ) {
        self.answers += 1;
        self.slot.reused = true;
        let hash = match self.slot.is_sampled() {
            true => look_closer(self.slot, self.tally, self.hashers, self.now),
            false => None,
        };
        let flight = self.slot.flights.first();
        let flight = flight.expect("an answer belongs to a flight");
        if flight.counted {
            self.tally.body_bytes += body_bytes;
        }
        self.progress.answered();
        self.progress.in_flight -= 1;
        let expect = &self.plan.requests[flight.request].expect;
        let outcome = judge(expect, hash);
        flight.record(self.tally, outcome, self.now);
        self.slot.complete(self.window, self.now);
    }
}

/// Takes note of where the time of a slot's first flight went, which is in the
/// sample and has its whole answer. Answers the hash of its body, if it has one.
#[cold]
fn look_closer<T>(
    slot: &mut Slot<T>,
    tally: &mut Tally,
    hashers: &mut Hashers,
    now: Nanos,
) -> Option<u64> {
    let before = slot.clock.last();
    let flight = slot.flights.first()?;
    let split = slot.timing.split(flight, before, now);
    if flight.counted {
        tally.phases.record(&split);
    }
    if !flight.hashed {
        return None;
    }
    let hasher = slot.hasher.take();
    let hasher = hasher.unwrap_or_else(|| hashers.take());
    let hash = hasher.digest();
    hashers.give_back(hasher);
    tally.hashed += 1;
    Some(hash)
}
