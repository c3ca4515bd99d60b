//! Sends requests and receives responses.

use std::io;

use abx_evidence::Outcome;
use abx_sys::Nanos;

use super::outbox::has_outbox;
use super::slots::Pool;
use crate::connection::encoded::{HEAD_BYTES, SKIP_MIN};
use crate::connection::slot::{ConnectionUse, Slot, SlotState};
use crate::io::{Io, Received, Token, is_cut_off};
use crate::protocol::Protocol;
use crate::protocol::intake::{Intake, StreamState};

/// Bytes at the end of a skipped body that are read, so that any bytes after the body arrive with
/// them and make the response malformed, as for any other response.
const TAIL: u64 = 1;
/// No limit to the bytes of one receive.
const ALL_BYTES: usize = usize::MAX;

impl<I: Io, C: Protocol> Pool<I, C> {
    /// Sends a slot's flights, or makes the connection for them.
    pub(super) fn go(&mut self, index: usize, now: Nanos) {
        match self.slots[index].state {
            SlotState::Standing => self.hand_over(index, now),
            SlotState::Connecting => {}
            SlotState::Closed | SlotState::Resting(_) => self.connect(index, now),
        }
    }

    /// Sends requests that were not handed over yet, as far as the kernel takes them.
    pub(super) fn hand_over(&mut self, index: usize, now: Nanos) {
        if C::HAS_STREAMS {
            return self.begin_streams(index, now);
        }
        while self.hand_over_run(index, now) {}
    }

    /// Sends the next run of equal requests by one call, or one request built from a template.
    /// Returns whether more can be handed over after it.
    #[inline(always)]
    fn hand_over_run(&mut self, index: usize, now: Nanos) -> bool {
        let slot = &mut self.slots[index];
        if !slot.may_hand_over() || has_outbox::<C>(slot) {
            return false;
        }
        let is_awaited = slot.handed == 0;
        let Some(next) = slot.flights.at_mut(slot.handed) else {
            return false;
        };
        slot.sending = next.request;
        let token = slot.token(index);
        // The clock is read again: in a large batch this send may come long after
        // the response that made it due.
        let sent = self.io.now();
        self.progress.acted(sent);
        let encoded = &self.encoded[slot.sending];
        if encoded.template.is_some() {
            return self.hand_over_filled(index, sent, now);
        }
        let mut copies = encoded.count;
        while copies > 0
            && let Some(flight) = slot.flights.at_mut(slot.handed)
            && flight.request == slot.sending
        {
            flight.sent = Some(sent);
            C::expect(&mut slot.client, encoded.kind);
            slot.handed += 1;
            slot.unsent_bytes += encoded.bytes;
            copies -= 1;
        }
        if is_awaited && encoded.has_large_response {
            self.io.limit_receive(token, receive_bytes(slot));
        }
        match send_rest(&mut self.io, token, slot, &encoded.copies) {
            Ok(()) => slot.handed < slot.flights.len(),
            Err(error) => {
                self.cannot_send(index, &error, now);
                false
            }
        }
    }

    /// Builds the next request and sends it. Returns whether more can be handed over after it.
    fn hand_over_filled(&mut self, index: usize, sent: Nanos, now: Nanos) -> bool {
        let slot = &mut self.slots[index];
        let token = slot.token(index);
        let encoded = &self.encoded[slot.sending];
        let (Some(template), Some(flight)) = (&encoded.template, slot.flights.at_mut(slot.handed))
        else {
            return false;
        };
        template.write(&mut self.values, &mut self.written);
        flight.sent = Some(sent);
        C::expect(&mut slot.client, encoded.kind);
        slot.handed += 1;
        if slot.handed == 1 && encoded.has_large_response {
            self.io.limit_receive(token, receive_bytes(slot));
        }
        let taken = match self.io.send(token, &self.written) {
            Ok(taken) => taken,
            Err(error) => {
                // No byte was taken, so a response to this request ends the connection.
                slot.unsent_bytes = self.written.len();
                self.cannot_send(index, &error, now);
                return false;
            }
        };
        slot.unsent_bytes = self.written.len() - taken;
        if slot.unsent_bytes > 0 {
            std::mem::swap(&mut slot.unsent, &mut self.written);
        }
        slot.handed < slot.flights.len()
    }

    /// Sends the rest of a partial send, for which there is room now.
    pub(super) fn send_on(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        if (slot.unsent_bytes == 0 && !has_outbox::<C>(slot)) || slot.is_cut_off {
            return;
        }
        let token = slot.token(index);
        if slot.unsent_bytes > 0 {
            let encoded = &self.encoded[slot.sending];
            let sent = match encoded.template {
                None => send_rest(&mut self.io, token, slot, &encoded.copies),
                Some(_) => {
                    let unsent = std::mem::take(&mut slot.unsent);
                    let sent = send_rest(&mut self.io, token, slot, &unsent);
                    slot.unsent = unsent;
                    sent
                }
            };
            if let Err(error) = sent {
                return self.cannot_send(index, &error, now);
            }
        }
        if slot.unsent_bytes == 0 {
            if let Err(error) = self.flush_outbox(index) {
                return self.cannot_send(index, &error, now);
            }
            self.resume(index, now);
        }
    }

    /// Sends requests that had to wait for the peer to read.
    pub(super) fn resume(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        for flight in slot.flights.iter_mut().skip(slot.handed) {
            flight.possible = now;
        }
        self.hand_over(index, now);
    }

    /// Handles a failed send. A server may respond before it has read all of a request, and close.
    /// So its bytes are received first, and their end decides the outcome of the request.
    pub(super) fn cannot_send(&mut self, index: usize, error: &io::Error, now: Nanos) {
        if is_cut_off(error) {
            self.slots[index].is_cut_off = true;
            return;
        }
        let slot = &self.slots[index];
        let outcome = broken_by(&mut self.io, slot, slot.token(index));
        self.broken(index, outcome, now);
        self.freed(index, now);
    }

    /// Limits the first receive of the next awaited response, if it is large.
    fn limit_receive(&mut self, token: Token) {
        let slot = &self.slots[token.slot as usize];
        if let Some(flight) = slot.flights.first()
            && self.encoded[flight.request].has_large_response
        {
            self.io.limit_receive(token, receive_bytes(slot));
        }
    }

    /// Counts a kept connection that ended in a slice after a response that had not announced the
    /// end.
    #[cold]
    #[inline(never)]
    fn note_idle_end(&mut self, index: usize) {
        let is_used = self.slots[index].usage == ConnectionUse::Used;
        self.tally.closing += u64::from(is_used && self.plan.keep_alive && self.progress.open);
    }

    pub(super) fn receive(&mut self, token: Token, now: Nanos) {
        let index = token.slot as usize;
        let mut has_room = false;
        // The bytes of the last pull may have closed the connection.
        while self.is_current(token) {
            let received = self.io.receive(token);
            if matches!(received, Received::Nothing) {
                break;
            }
            let has_ended = matches!(received, Received::Ended);
            let mut intake = Intake {
                slot: &mut self.slots[index],
                plan: &self.plan,
                encoded: &self.encoded,
                protocol: &mut self.protocol,
                hashers: &mut self.hashers,
                tally: &mut self.tally,
                progress: &mut self.progress,
                window: self.window,
                now,
                responses: 0,
            };
            let parsed = match received {
                Received::Bytes(bytes) => C::take(&mut intake, bytes),
                Received::Skipped(bytes) => {
                    intake.skipped(bytes);
                    continue;
                }
                Received::Ended if intake.slot.is_idle() && !C::HAS_HANDSHAKE => {
                    self.note_idle_end(index);
                    self.close(index);
                    break;
                }
                Received::Ended => C::end(&mut intake),
                Received::Failed | Received::Nothing => {
                    StreamState::Broken(broken_by(&mut self.io, intake.slot, token))
                }
            };
            let is_next = intake.responses > 0;
            has_room |= is_next;
            match self.flush_after(token, parsed) {
                StreamState::More if is_next && self.window == 1 => {}
                StreamState::More => {
                    if is_next {
                        self.limit_receive(token);
                    }
                    self.continue_with(index, now);
                    self.skip_rest(token);
                }
                StreamState::Over => self.over(index, now),
                StreamState::Broken(outcome) => {
                    // An idle connection that is lost takes no turn.
                    has_room |= !self.slots[index].flights.is_empty();
                    let outcome = self.loss_of(token, outcome, has_ended);
                    self.broken(index, outcome, now);
                }
            }
        }
        if has_room {
            self.freed(index, now);
        }
    }

    /// Sends the output that receiving produced, and returns the state of the connection.
    #[inline(always)]
    fn flush_after(&mut self, token: Token, parsed: StreamState) -> StreamState {
        let index = token.slot as usize;
        match self.flush_outbox(index) {
            Ok(()) => parsed,
            Err(error) if is_cut_off(&error) => {
                self.slots[index].is_cut_off = true;
                parsed
            }
            Err(_) => {
                let slot = &self.slots[index];
                StreamState::Broken(broken_by(&mut self.io, slot, token))
            }
        }
    }

    /// The outcome of a connection's end for its requests: an early end may be the peer's refusal
    /// to read on, or its whole response to a request that it took.
    #[cold]
    fn loss_of(&mut self, token: Token, outcome: Outcome, has_ended: bool) -> Outcome {
        match outcome {
            Outcome::EarlyClose if self.slots[token.slot as usize].is_cut_off => Outcome::Reset,
            Outcome::EarlyClose if has_ended && self.has_taken_request(token) => {
                Outcome::EmptyResponse
            }
            outcome => outcome,
        }
    }

    /// Whether the peer took the only request in flight before it closed, in an orderly
    /// way, without a byte of a response. See `lost.rs`.
    #[cold]
    fn has_taken_request(&mut self, token: Token) -> bool {
        let slot = &self.slots[token.slot as usize];
        let is_sent = slot.handed == 1 && slot.flights.len() == 1 && slot.unsent_bytes == 0;
        is_sent
            && slot.usage != ConnectionUse::Rested
            && !C::HAS_HANDSHAKE
            && !C::has_begun(&slot.client)
            && self.io.is_acknowledged(token)
    }

    /// Skips the rest of a body if it need not be inspected.
    fn skip_rest(&mut self, token: Token) {
        let slot = &self.slots[token.slot as usize];
        let ahead = C::ahead(&slot.client);
        if ahead >= SKIP_MIN + TAIL && !slot.is_hashing() {
            self.io.skip(token, ahead - TAIL);
        }
    }

    /// Begins a stream for each request of a slot without one, as far as the peer allows, and
    /// sends all of them by one call. The other requests wait, and their time runs.
    fn begin_streams(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        if !slot.may_hand_over() || has_outbox::<C>(slot) {
            return;
        }
        // The clock is read again, as for every send.
        let sent = self.io.now();
        self.progress.acted(sent);
        while let Some(flight) = slot.flights.at_mut(slot.handed) {
            if let Some(template) = &self.encoded[flight.request].template
                // Filled only if a stream can begin, so that every sequence number is sent.
                && C::may_begin_stream(&slot.client)
                && let Some(request) = self.protocol.request_mut(flight.request)
            {
                template.fill(&mut self.values, request);
            }
            let begun = self.protocol.begin_stream(&mut slot.client, flight.request);
            let Some(stream) = begun else {
                break;
            };
            flight.sent = Some(sent);
            flight.stream = stream;
            slot.handed += 1;
        }
        if let Err(error) = self.flush_outbox(index) {
            self.cannot_send(index, &error, now);
        }
    }

    /// Moves the requests of a slot whose responses have begun to the front, and returns their
    /// number.
    pub(super) fn bring_begun_first(&mut self, index: usize) -> usize {
        let slot = &mut self.slots[index];
        let mut begun = 0;
        for place in 0..slot.handed {
            let flight = slot.flights.at_mut(place);
            if flight.is_some_and(|flight| C::has_stream_begun(&slot.client, flight.stream)) {
                slot.flights.advance(place);
                begun += 1;
            }
        }
        begun
    }
}

/// The outcome of a broken connection, as the back end reports it. A broken TLS record is the
/// server's fault, whether a receive or a later send finds it.
#[cold]
fn broken_by<I: Io, T>(io: &mut I, slot: &Slot<T>, token: Token) -> Outcome {
    match io.take_fault(token) {
        None => Outcome::Reset,
        Some(_) if slot.is_idle() => Outcome::Unsolicited,
        Some(_) => Outcome::TlsFailed,
    }
}

/// Sends the unsent rest at the end of `bytes`. For copies of a request, `bytes` holds at least as
/// many copies as are to be sent.
#[inline(always)]
fn send_rest<I: Io, T>(
    io: &mut I,
    token: Token,
    slot: &mut Slot<T>,
    bytes: &[u8],
) -> io::Result<()> {
    let offset = bytes.len() - slot.unsent_bytes;
    slot.unsent_bytes -= io.send(token, &bytes[offset..])?;
    Ok(())
}

/// The limit for a receive of a large response: its head, or all bytes if the body is hashed.
fn receive_bytes<T>(slot: &Slot<T>) -> usize {
    if slot.is_hashing() {
        ALL_BYTES
    } else {
        usize::from(HEAD_BYTES)
    }
}
