//! How one request goes out and one answer comes in.

use abx_evidence::Outcome;
use abx_sys::Nanos;
use abx_wire::http1;

use super::Pool;
use crate::check;
use crate::io::{Io, Received, Token};
use crate::plan::Asked;
use crate::slot::{Parsed, Phase};

/// Less of a body that is still to come is not worth being skipped.
///
/// A skipped body costs two more receives, and saves its copy. Measured: nginx
/// with sendfile on loopback, 50 connections on one thread, slices of 200 ms that
/// read and skipped in turn, median processor time per request. 12 and 16 KiB:
/// equal; 20 KiB: 2 % less; 34 kB: 14 % less; 64 KiB: 27 %; 96 KiB: 38 %.
const SKIP_MIN: u64 = 16 * 1024;
/// The end of a skipped body is read, so that bytes behind it come to light
/// with it and make the answer malformed, as they do behind any other.
const TAIL: u64 = 1;
/// What the first receive of an answer brings when its body is to be skipped:
/// a usual head, and little of the body.
const HEAD_BYTES: u16 = 2048;
/// No limit to what one receive brings.
const ALL_BYTES: usize = usize::MAX;

/// Whether the answers to a request are known to have a body that is worth
/// skipping, also when a part of it came with the head.
pub(super) fn has_large_answer(asked: &Asked) -> bool {
    asked
        .expect
        .body
        .is_some_and(|body| body.bytes >= SKIP_MIN + u64::from(HEAD_BYTES))
}

impl<I: Io> Pool<I> {
    pub(super) fn start_sending(&mut self, index: usize, now: Nanos) {
        let token = self.token(index);
        let slot = &mut self.slots[index];
        let Some(flight) = &mut slot.flight else {
            return;
        };
        slot.client
            .expect(self.plan.requests[flight.request].request.answer_kind());
        slot.phase = Phase::Sending(0);
        if self.encoded[flight.request].has_large_answer {
            let most = if flight.hashed {
                ALL_BYTES
            } else {
                usize::from(HEAD_BYTES)
            };
            self.io.bring(token, most);
        }
        // A reading of its own: in a large batch this send may come long after
        // the answer that made it due.
        let sent = self.io.now();
        flight.sent = Some(sent);
        self.progress.acted(sent);
        self.send(index, now);
    }

    pub(super) fn send(&mut self, index: usize, now: Nanos) {
        let token = self.token(index);
        let slot = &mut self.slots[index];
        let (Phase::Sending(written), Some(flight)) = (slot.phase, slot.flight) else {
            return;
        };
        let request = self.encoded[flight.request];
        match self.io.send(token, request.id, written) {
            Ok(more) if written + more == request.bytes => slot.phase = Phase::Waiting,
            Ok(more) => slot.phase = Phase::Sending(written + more),
            Err(_) => self.broken(index, Outcome::Reset, now),
        }
    }

    /// Pulls what there is on a connection.
    pub(super) fn receive(&mut self, token: Token, now: Nanos) {
        let index = token.slot as usize;
        let mut is_free = false;
        // What was pulled may have closed the connection.
        while self.is_current(token) {
            let slot = &mut self.slots[index];
            let is_counted = slot.flight.is_some_and(|flight| flight.counted);
            let parsed = match self.io.receive(token) {
                Received::Nothing => break,
                Received::Bytes(bytes) => {
                    if is_counted {
                        self.tally.bytes += bytes.len() as u64;
                    }
                    slot.parse(bytes)
                }
                Received::Skipped(bytes) => {
                    if is_counted {
                        self.tally.bytes += bytes;
                    }
                    slot.client.skip(bytes);
                    continue;
                }
                Received::Ended if slot.flight.is_none() => {
                    self.close(index);
                    break;
                }
                Received::Ended => slot.end(),
                Received::Failed => {
                    // SUBTLE: Not a return. The answer may have come whole before
                    // the reset, and the slot then goes on below.
                    self.broken(index, Outcome::Reset, now);
                    break;
                }
            };
            match parsed {
                Parsed::More => self.skip_rest(token),
                Parsed::Whole(done, hash) => {
                    self.whole(index, &done, hash, now);
                    is_free = true;
                }
                Parsed::Broken(fault) => {
                    self.broken(index, fault_outcome(&fault), now);
                    break;
                }
            }
        }
        if is_free {
            self.freed(index, now);
        }
    }

    /// Leaves the rest of a body unread that nobody will look at.
    fn skip_rest(&mut self, token: Token) {
        let slot = &self.slots[token.slot as usize];
        let ahead = slot.client.body_ahead();
        if ahead >= SKIP_MIN + TAIL && slot.hasher.is_none() {
            self.io.skip(token, ahead - TAIL);
        }
    }

    /// Takes note of a whole answer.
    fn whole(&mut self, index: usize, done: &http1::Done, hash: Option<u64>, now: Nanos) {
        let slot = &mut self.slots[index];
        slot.reused = true;
        // What is left of a request would run into the next one.
        let was_sent = slot.phase == Phase::Waiting;
        slot.phase = Phase::Idle;
        if let Some(hasher) = slot.hasher.take() {
            self.hashers.give_back(hasher);
        }
        let flight = slot.flight.expect("an answer belongs to a flight");
        self.tally.hashed += u64::from(flight.hashed);
        if flight.counted {
            self.tally.body_bytes += done.body_bytes;
        }
        if !(was_sent && done.reusable && self.plan.keep_alive) {
            self.close(index);
        }
        self.progress.answered();
        let expect = &self.plan.requests[flight.request].expect;
        let outcome = check::outcome(expect, done, hash);
        self.finish(index, outcome, now);
    }

    /// The connection broke: the request is sent once more when it broke before
    /// the answer began on a connection that had served before, and has failed otherwise.
    fn broken(&mut self, index: usize, outcome: Outcome, now: Nanos) {
        let slot = &mut self.slots[index];
        let was_idle = slot.reused && !slot.client.has_answer_started();
        self.close(index);
        let Some(flight) = &mut self.slots[index].flight else {
            return;
        };
        if was_idle && !flight.retried && matches!(outcome, Outcome::Reset | Outcome::EarlyClose) {
            let sample = flight.sample(Outcome::IdleClose, now);
            flight.retried = true;
            flight.sent = None;
            if flight.counted {
                self.tally.record(&sample);
            } else {
                self.tally.discarded.add(sample.outcome);
            }
            return self.connect(index, now);
        }
        self.progress.failures += 1;
        self.finish(index, outcome, now);
        self.freed(index, now);
    }
}

fn fault_outcome(fault: &http1::Fault) -> Outcome {
    match fault {
        http1::Fault::ClosedIdle | http1::Fault::ClosedEarly => Outcome::EarlyClose,
        _ => Outcome::Malformed,
    }
}
