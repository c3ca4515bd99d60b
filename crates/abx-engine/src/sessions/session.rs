//! One session: its connection, the calls in flight and the current response.

use std::collections::VecDeque;

use abx_sys::Nanos;
use abx_wire::http1::{Client, Done, Event, Fault, HeadMemo, ResponseKind};

use super::step::{SessionClient, SessionFailure, SessionListener, SessionResponse, SessionStep};

/// A place for one session at a time.
pub(super) struct Session {
    /// Counts connections of this place, so that events of an earlier connection are known to be
    /// stale.
    pub(super) generation: u32,
    pub(super) is_open: bool,
    /// Whether the connection has opened.
    pub(super) is_connected: bool,
    /// Whether the connection is already closed.
    pub(super) is_gone: bool,
    pub(super) began: Nanos,
    /// When it last made progress.
    pub(super) progress: Nanos,
    /// The earliest planned check of its timeout.
    pub(super) looked_at: Nanos,
    pub(super) calls_left: u32,
    pub(super) responses: u64,
    http: Client,
    /// Calls whose sending has begun and that have no whole response, in order.
    flights: VecDeque<Call>,
    /// The outgoing bytes, the first `taken` of which were sent.
    outgoing: Vec<u8>,
    taken: usize,
    /// The calls in `outgoing` that were not sent completely.
    waiting: VecDeque<Unsent>,
    /// The end in `outgoing` of the last request that was sent completely.
    sent_until: usize,
    coming: Coming,
}

struct Unsent {
    call: u64,
    kind: ResponseKind,
    /// Where it ends in the outgoing bytes.
    end: usize,
}

struct Call {
    number: u64,
    /// When its first byte was handed over, from the load's beginning.
    sent: Nanos,
}

/// The awaited response, as far as it has come.
#[derive(Default)]
struct Coming {
    first_byte: Option<Nanos>,
    has_head: bool,
    status: u16,
    head_bytes: u64,
    body_bytes: u64,
    /// Framing bytes since the last byte of the body, or since the head.
    framing_bytes: u64,
}

/// The effect of received bytes, or of an end, on a session.
pub(super) enum SessionProgress {
    Continues,
    HasResponse,
    /// All calls have responses, and the peer has closed.
    IsOver,
    Failed(SessionFailure),
}

/// The bytes between the data of the last chunk and the trailer: a line end, and the line of the
/// final chunk, whose length is 0.
const LAST_CHUNK: u64 = b"\r\n0\r\n".len() as u64;
/// The bytes before the trailer of a body without data.
const ONLY_CHUNK: u64 = b"0\r\n".len() as u64;

impl Session {
    pub(super) fn new() -> Session {
        Session {
            generation: 0,
            is_open: false,
            is_connected: false,
            is_gone: false,
            began: Nanos(0),
            progress: Nanos(0),
            looked_at: Nanos::MAX,
            calls_left: 0,
            responses: 0,
            http: Client::new(),
            flights: VecDeque::new(),
            outgoing: Vec::new(),
            taken: 0,
            waiting: VecDeque::new(),
            sent_until: 0,
            coming: Coming::default(),
        }
    }

    /// Resets the state, and begins with this many calls to make.
    pub(super) fn begin(&mut self, calls: u32, now: Nanos) {
        self.is_open = true;
        (self.is_connected, self.is_gone) = (false, false);
        self.began = now;
        self.progress = now;
        self.looked_at = Nanos::MAX;
        self.calls_left = calls;
        self.responses = 0;
        self.http = Client::new();
        self.flights.clear();
        self.outgoing.clear();
        (self.taken, self.sent_until) = (0, 0);
        self.waiting.clear();
        self.coming = Coming::default();
    }

    /// Notes that its connection is closed, or was never made. Its further events are stale.
    pub(super) fn lose(&mut self) {
        self.is_gone = true;
        self.generation = self.generation.wrapping_add(1);
    }

    /// Whether it has had a response and nothing is in progress.
    pub(super) fn rests(&self) -> bool {
        self.responses > 0 && self.flights.is_empty() && self.has_sent_all()
    }

    /// Whether it waits for the first byte of a response.
    pub(super) fn awaits_first_byte(&self) -> bool {
        self.has_sent_all() && !self.flights.is_empty() && self.coming.first_byte.is_none()
    }

    /// Prepares the next requests, at most `burst`, to be sent together. They are numbered
    /// from `next`, which is advanced. Returns whether there was any.
    pub(super) fn prepare(
        &mut self,
        burst: u32,
        kind: ResponseKind,
        next: &mut u64,
        client: &mut dyn SessionClient,
    ) -> bool {
        self.forget_sent();
        for _ in 0..burst.min(self.calls_left) {
            if !client.append_request(&mut self.outgoing) {
                self.calls_left = 0;
                break;
            }
            self.calls_left -= 1;
            self.queue(*next, kind);
            *next += 1;
        }
        !self.waiting.is_empty()
    }

    /// Queues one request after the unsent ones.
    pub(super) fn queue_request(&mut self, call: u64, kind: ResponseKind, request: &[u8]) {
        if self.has_sent_all() {
            self.forget_sent();
        }
        self.outgoing.extend_from_slice(request);
        self.queue(call, kind);
    }

    fn forget_sent(&mut self) {
        self.outgoing.clear();
        (self.taken, self.sent_until) = (0, 0);
    }

    /// Queues a call whose request ends the outgoing bytes.
    fn queue(&mut self, call: u64, kind: ResponseKind) {
        let end = self.outgoing.len();
        self.waiting.push_back(Unsent { call, kind, end });
    }

    pub(super) fn unsent(&self) -> &[u8] {
        &self.outgoing[self.taken..]
    }

    fn has_sent_all(&self) -> bool {
        self.taken == self.outgoing.len()
    }

    /// Notes that a send, which began at this moment of the load, took this many bytes. Responses
    /// are awaited, unless the connection is known to bring none.
    pub(super) fn sends(
        &mut self,
        bytes: usize,
        at: Nanos,
        can_respond: bool,
        listener: &mut dyn SessionListener,
    ) {
        let until = self.taken + bytes;
        let mut begins = self.sent_until;
        for unsent in &self.waiting {
            // The first byte of this call is among these bytes.
            if (self.taken..until).contains(&begins) {
                self.flights.push_back(Call {
                    number: unsent.call,
                    sent: at,
                });
                if can_respond {
                    self.http.expect(unsent.kind);
                }
            }
            begins = unsent.end;
        }
        self.taken = until;
        while let Some(Unsent { call, end, .. }) = self.waiting.front()
            && *end <= until
        {
            let (call, end) = (*call, *end);
            let request = &self.outgoing[self.sent_until..end];
            listener.on_step(at, SessionStep::Sent { call, request });
            self.sent_until = end;
            self.waiting.pop_front();
        }
    }

    pub(super) fn take(
        &mut self,
        mut input: &[u8],
        at: Nanos,
        memo: &mut HeadMemo,
        listener: &mut dyn SessionListener,
    ) -> SessionProgress {
        loop {
            let before = input;
            let event = self.http.receive_with(memo, &mut input);
            let taken = &before[..before.len() - input.len()];
            if !taken.is_empty() && !self.flights.is_empty() {
                self.coming.first_byte.get_or_insert(at);
            }
            self.count(taken, at, listener);
            match event {
                None => break,
                Some(Event::Interim) => {}
                Some(Event::Head { status, .. }) => {
                    (self.coming.has_head, self.coming.status) = (true, status);
                }
                Some(Event::Body(bytes)) => {
                    self.coming.body_bytes += bytes.len() as u64;
                    self.coming.framing_bytes = 0;
                    let call = self.call();
                    listener.on_step(at, SessionStep::Body { call, bytes });
                }
                Some(Event::Done(done)) => self.responded(done, false, at, listener),
                Some(Event::Failed(fault)) => return SessionProgress::Failed(failure(fault)),
            }
        }
        if self.flights.is_empty() && self.has_sent_all() {
            SessionProgress::HasResponse
        } else {
            SessionProgress::Continues
        }
    }

    /// Counts bytes as part of the head or of the framing.
    fn count(&mut self, taken: &[u8], at: Nanos, listener: &mut dyn SessionListener) {
        // Bytes after the last response of a connection belong to no call.
        if taken.is_empty() || self.flights.is_empty() {
            return;
        }
        let call = self.call();
        if self.coming.has_head {
            self.coming.framing_bytes += taken.len() as u64;
        } else {
            self.coming.head_bytes += taken.len() as u64;
            listener.on_step(at, SessionStep::Head { call, bytes: taken });
        }
    }

    /// Handles the end of the peer's bytes. Returns `IsOver` if it ended the response to the last
    /// request.
    pub(super) fn end(&mut self, at: Nanos, listener: &mut dyn SessionListener) -> SessionProgress {
        match self.http.eof() {
            Some(Event::Done(done)) => self.responded(done, false, at, listener),
            // For httperf, these bytes are a response; the listener learns that it is cut.
            Some(Event::Failed(Fault::ClosedEarly)) if self.coming.has_head => {
                let done = Done {
                    status: self.coming.status,
                    body_bytes: self.coming.body_bytes,
                    reusable: false,
                };
                self.responded(done, true, at, listener);
            }
            _ => return SessionProgress::Failed(SessionFailure::Reset),
        }
        if self.flights.is_empty() && self.has_sent_all() {
            SessionProgress::IsOver
        } else {
            SessionProgress::Failed(SessionFailure::Reset)
        }
    }

    fn call(&self) -> u64 {
        self.flights.front().map_or(0, |call| call.number)
    }

    fn responded(
        &mut self,
        done: Done,
        is_cut: bool,
        at: Nanos,
        listener: &mut dyn SessionListener,
    ) {
        let coming = std::mem::take(&mut self.coming);
        let Some(call) = self.flights.pop_front() else {
            return;
        };
        self.responses += 1;
        let first_byte = coming.first_byte.unwrap_or(at);
        let before_trailer = match coming.body_bytes {
            0 => ONLY_CHUNK,
            _ => LAST_CHUNK,
        };
        let response = SessionResponse {
            status: done.status,
            head_bytes: coming.head_bytes,
            body_bytes: done.body_bytes,
            footer_bytes: coming.framing_bytes.saturating_sub(before_trailer),
            first_byte: first_byte.since(call.sent),
            rest: at.since(first_byte),
            is_cut,
        };
        let call = call.number;
        listener.on_step(at, SessionStep::Responded { call, response });
    }
}

fn failure(fault: Fault) -> SessionFailure {
    match fault {
        Fault::ClosedIdle | Fault::ClosedEarly => SessionFailure::Reset,
        other => SessionFailure::Other(format!("the response is not correct HTTP: {other}")),
    }
}
