//! The effect of received bytes on the flights of one slot.
//!
//! It sends nothing and closes nothing, so it can read the bytes where the back end
//! has them: the responses of one receive are ended one by one, and only then
//! does the pool continue with the connection.

use abx_evidence::{Outcome, PhaseSplit, Tally};
use abx_sys::Nanos;
use abx_wire::http1::server_timings;

use crate::connection::encoded::Encoded;
use crate::connection::progress::Progress;
use crate::connection::slot::{ConnectionUse, Slot};
use crate::plan::{ExpectedResponse, LoadPlan};
use crate::protocol::Protocol;
use crate::protocol::check::Hashers;

/// The result of the bytes of one receive, apart from whole responses.
pub enum StreamState {
    More,
    /// The last response was whole and ended the connection, so that later responses
    /// will not come (RFC 9112, section 9.6).
    Over,
    /// The connection is unusable.
    Broken(Outcome),
}

/// One slot, and the state that its responses change.
pub struct Intake<'a, C: Protocol> {
    pub(crate) slot: &'a mut Slot<C::Client>,
    pub(crate) plan: &'a LoadPlan,
    pub(crate) encoded: &'a [Encoded],
    pub(crate) protocol: &'a mut C,
    pub(crate) hashers: &'a mut Hashers,
    pub(crate) tally: &'a mut Tally,
    pub(crate) progress: &'a mut Progress,
    pub(crate) window: usize,
    pub(crate) now: Nanos,
    pub(crate) responses: usize,
}

impl<C: Protocol> Intake<'_, C> {
    /// Notes bytes of a body that were discarded unread.
    pub fn skipped(&mut self, bytes: u64) {
        self.received(bytes);
        C::skip(&mut self.slot.client, bytes);
    }

    /// Counts received bytes that belong to the first flight.
    pub fn received(&mut self, bytes: u64) {
        let first = self.slot.flights.first();
        if first.is_some_and(|flight| flight.counted) {
            self.tally.bytes += bytes;
        }
    }

    /// Notes the first bytes of the first flight's response, if it has begun and continues after
    /// the received bytes.
    pub(crate) fn note_first_byte(&mut self, received: &[u8]) {
        if self.slot.is_sampled() && C::has_begun(&self.slot.client) {
            let is_first = self.slot.timing.receives(self.now);
            let flight = self.slot.flights.first();
            if is_first && flight.is_some_and(|flight| flight.counted) {
                note_beginning(self.tally, received);
            }
        }
    }

    /// Ends the first flight with its whole response, whose last bytes are in `received`. `judge`
    /// gets the expectation, the body's hash if it was hashed, and the tally if the request counts.
    #[inline(always)]
    pub fn whole(
        &mut self,
        body_bytes: u64,
        received: &[u8],
        judge: impl FnOnce(&ExpectedResponse, Option<u64>, Option<&mut Tally>) -> Outcome,
    ) {
        self.responses += 1;
        self.slot.usage = ConnectionUse::Used;
        let hash = if self.slot.is_sampled() {
            // On streams, responses do not wait for each other.
            let before = if C::HAS_STREAMS {
                Nanos(0)
            } else {
                self.slot.clock.last()
            };
            let (tally, hashers) = (&mut *self.tally, &mut *self.hashers);
            look_closer(self.slot, tally, hashers, (before, self.now), received)
        } else {
            None
        };
        let flight = self.slot.flights.first();
        let flight = flight.expect("a response belongs to a flight");
        if flight.counted {
            self.tally.body_bytes += body_bytes;
        }
        self.progress.responded();
        self.progress.in_flight -= 1;
        let expect = &self.plan.requests[flight.request].expect;
        let counts = flight.counted.then_some(&mut *self.tally);
        let outcome = judge(expect, hash, counts);
        flight.record(self.tally, outcome, self.now);
        let counting = &mut self.progress.counting;
        counting.in_flight -= usize::from(flight.counted);
        let clock = &mut self.slot.clock;
        let is_timed = clock.ends(counting, flight.intended, outcome, self.now);
        self.tally.clocked += u64::from(is_timed);
        self.slot.complete(self.window, self.now);
    }

    /// Ends the first flight without a whole response; its connection continues.
    #[cold]
    pub fn failed(&mut self, outcome: Outcome) {
        self.responses += 1;
        let Some(flight) = self.slot.flights.first() else {
            return;
        };
        self.progress.in_flight -= 1;
        flight.record(self.tally, outcome, self.now);
        let counting = &mut self.progress.counting;
        counting.in_flight -= usize::from(flight.counted);
        let clock = &mut self.slot.clock;
        clock.ends(counting, flight.intended, outcome, self.now);
        self.slot.complete(self.window, self.now);
    }
}

/// Records how the time of a slot's first flight was spent. The flight is sampled and its response
/// complete; the previous response was complete at `before`. Returns the hash of its body, if the
/// body was hashed.
#[cold]
fn look_closer<T>(
    slot: &mut Slot<T>,
    tally: &mut Tally,
    hashers: &mut Hashers,
    (before, now): (Nanos, Nanos),
    received: &[u8],
) -> Option<u64> {
    let flight = slot.flights.first()?;
    let came_at_once = !slot.timing.has_begun();
    let stamps = slot.timing.stamps(flight, before, now);
    if flight.counted {
        tally.times.phases.record(&PhaseSplit::of(&stamps));
        if let Some(log) = &mut tally.log {
            let sent = flight.sent.unwrap_or(flight.intended);
            log.timed(&stamps, sent.0);
        }
        if came_at_once {
            note_beginning(tally, received);
        }
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

/// Records the beginning of a response.
#[cold]
fn note_beginning(tally: &mut Tally, received: &[u8]) {
    if let Some(log) = &mut tally.log {
        log.begins(received);
    }
    note_server_times(tally, received);
}

/// Counts the times that a server reports in the head with which these bytes begin, if any.
#[cold]
pub(crate) fn note_server_times(tally: &mut Tally, received: &[u8]) {
    let server_times = &mut tally.times.server_times;
    for timing in server_timings(received) {
        server_times.record(timing.name, timing.span_ns);
    }
}
