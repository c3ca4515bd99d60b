//! One worker's share of the connections to one subject, and how a slice runs on it.
//!
//! Each pool has an epoll set of its own, so that idle connections of one
//! subject never wake the loop that loads another.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use abx_evidence::{Outcome, Outcomes, Tally};
use abx_sys::{Epoll, Event, Events, Interest, Nanos, Socket};
use abx_wire::http1;

use crate::check::{self, Hashers, Sampler};
use crate::plan::LoadPlan;
use crate::random::Chooser;
use crate::slot::{Clock, Flight, Parsed, Phase, Slot};

/// Connections that are being made at one time; more would overflow the
/// listen queue of a subject that is not to blame for it.
const CONNECTING_MAX: usize = 128;
/// No wait is longer, so that a stop is noticed soon.
const WAIT_MAX: Nanos = Nanos(50_000_000);
/// The rest after a failed connect, doubled with each further one.
const REST_MIN: Nanos = Nanos(1_000_000);
const REST_DOUBLINGS_MAX: u32 = 7;
/// A subject has stopped answering after this many failures per connection in a
/// row, or when every connection timed out, without one whole answer in between.
const FAILURES_PER_SLOT_MAX: usize = 3;

/// What a worker uses again and again, whichever pool it works on.
pub(crate) struct Scratch {
    pub(crate) buffer: Vec<u8>,
    pub(crate) events: Events,
    pub(crate) hashers: Hashers,
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch {
            // Large bodies take few calls, and the buffer stays in the second-level cache.
            buffer: vec![0; 256 * 1024],
            events: Events::with_capacity(512),
            hashers: Hashers::default(),
        }
    }
}

/// One worker's part of a slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) start: Nanos,
    /// Nothing is sent from here on.
    pub(crate) end: Nanos,
    /// What is sent from here on counts.
    pub(crate) counted_from: Nanos,
    /// At most this many requests are sent.
    pub(crate) requests_max: u64,
}

/// The progress of the slice that runs now.
struct Progress {
    open: bool,
    counted_from: Nanos,
    requests_left: u64,
    in_flight: usize,
    resting: usize,
    /// Failures and timeouts since the last whole answer.
    failures: usize,
    timeouts: usize,
    /// Before this moment no timeout and no end of a rest is due.
    next_check: Nanos,
}

impl Progress {
    fn idle() -> Progress {
        Progress {
            open: false,
            counted_from: Nanos::MAX,
            requests_left: 0,
            in_flight: 0,
            resting: 0,
            failures: 0,
            timeouts: 0,
            next_check: Nanos::MAX,
        }
    }
}

pub(crate) struct Pool {
    plan: LoadPlan,
    /// The bytes of each request of the plan.
    encoded: Vec<Vec<u8>>,
    chooser: Chooser,
    /// Which of all connections of the load this worker's first one is.
    first: usize,
    epoll: Epoll,
    slots: Vec<Slot>,
    sampler: Sampler,
    tally: Tally,
    progress: Progress,
    /// How connects outside of slices ended badly.
    pub(crate) connect_failures: Outcomes,
}

impl Pool {
    /// Makes a pool of `connections` slots; none is connected yet.
    pub(crate) fn new(
        plan: LoadPlan,
        encoded: Vec<Vec<u8>>,
        first: usize,
        connections: usize,
    ) -> io::Result<Pool> {
        let seed = plan.seed.wrapping_add(first as u64);
        Ok(Pool {
            encoded,
            // Another stream than the sampler's.
            chooser: Chooser::new(plan.requests.iter().map(|asked| asked.weight), !seed),
            first,
            epoll: Epoll::new()?,
            slots: (0..connections).map(|_| Slot::new()).collect(),
            sampler: Sampler::new(plan.verify_every, seed),
            tally: Tally::default(),
            progress: Progress::idle(),
            connect_failures: Outcomes::default(),
            plan,
        })
    }

    /// Connects every slot that has no connection and waits until each try has
    /// ended. Answers how many connections stand, and how many of them are new.
    pub(crate) fn connect_all(
        &mut self,
        scratch: &mut Scratch,
        stop: &AtomicBool,
    ) -> (usize, usize) {
        // One wait gives so many events at most; more connections may have died.
        self.read_events(scratch, Nanos(0));
        while !scratch.events.is_empty() {
            self.read_events(scratch, Nanos(0));
        }
        if !self.plan.keep_alive {
            // Each request brings its own connection.
            return (self.slots.len(), 0);
        }
        let deadline = Nanos::now().plus(Nanos(self.plan.timeout_ns));
        let mut untried: Vec<usize> = (0..self.slots.len())
            .filter(|index| self.slots[*index].socket.is_none())
            .collect();
        let stood = self.slots.len() - untried.len();
        loop {
            let mut connecting = self.count(Phase::Connecting);
            while connecting < CONNECTING_MAX {
                let Some(index) = untried.pop() else { break };
                self.connect(index, Nanos::now());
                connecting += 1;
            }
            if untried.is_empty() && self.count(Phase::Connecting) == 0 {
                break;
            }
            if Nanos::now() >= deadline || stop.load(Ordering::Relaxed) {
                break;
            }
            self.read_events(scratch, WAIT_MAX);
        }
        let outcome = match stop.load(Ordering::Relaxed) {
            true => Outcome::Unfinished,
            false => Outcome::Timeout,
        };
        for _ in untried {
            self.connect_failures.add(outcome);
        }
        for slot in &mut self.slots {
            if slot.phase == Phase::Connecting {
                self.connect_failures.add(outcome);
                slot.close();
            }
        }
        let standing = self.count(Phase::Idle);
        (standing, standing.saturating_sub(stood))
    }

    /// Loads the subject for one stretch and waits for what is in flight.
    /// Answers the last outcome's time and whether the subject stopped answering.
    pub(crate) fn run(
        &mut self,
        stretch: Stretch,
        scratch: &mut Scratch,
        stop: &AtomicBool,
    ) -> (Nanos, bool) {
        self.tally.clear();
        self.progress = Progress {
            open: true,
            counted_from: stretch.counted_from,
            requests_left: stretch.requests_max,
            ..Progress::idle()
        };
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            slot.clock = Clock::default();
            if let Phase::Resting(_) = slot.phase {
                // A rest ends with its slice.
                slot.phase = Phase::Closed;
            }
            self.begin(index, Nanos::now(), scratch);
        }
        let mut stopped_answering = false;
        let mut now = Nanos::now();
        loop {
            self.progress.open &= now < stretch.end && self.progress.requests_left > 0;
            if self.has_stopped_answering() {
                stopped_answering = true;
                self.progress.open = false;
            }
            if self.progress.in_flight == 0 && !(self.progress.open && self.progress.resting > 0) {
                break;
            }
            if stop.load(Ordering::Relaxed) {
                self.abandon();
                break;
            }
            let due = if self.progress.open {
                stretch.end.min(self.progress.next_check)
            } else {
                self.progress.next_check
            };
            now = self.read_events(scratch, due.since(now).min(WAIT_MAX));
            self.check_due(now, scratch);
        }
        let end = self.close_clocks(stretch.start);
        (end, stopped_answering)
    }

    /// What the last stretch gave.
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    fn count(&self, phase: Phase) -> usize {
        self.slots.iter().filter(|slot| slot.phase == phase).count()
    }

    fn has_stopped_answering(&self) -> bool {
        let slots = self.slots.len();
        self.progress.open
            && (self.progress.failures >= FAILURES_PER_SLOT_MAX * slots
                || self.progress.timeouts >= slots)
    }

    /// Sums the connections' clocks and answers when the last outcome was.
    fn close_clocks(&mut self, start: Nanos) -> Nanos {
        let mut end = start;
        for slot in &self.slots {
            match slot.clock.span() {
                Some(span) => self.tally.connection_ns += span.0,
                None => self.tally.silent += 1,
            }
            end = end.max(slot.clock.last());
        }
        end
    }

    /// Waits once, and handles every event with one reading of the clock: all
    /// answers that the kernel handed over together get the same time, so that
    /// our own parsing is not charged to the subject. Answers that time.
    fn read_events(&mut self, scratch: &mut Scratch, timeout: Nanos) -> Nanos {
        let mut events = std::mem::replace(&mut scratch.events, Events::none());
        self.epoll
            .wait(&mut events, Some(timeout))
            .expect("waiting on an open epoll set does not fail");
        let now = Nanos::now();
        for event in events.iter() {
            self.handle(event, now, scratch);
        }
        scratch.events = events;
        now
    }

    fn handle(&mut self, event: Event, now: Nanos, scratch: &mut Scratch) {
        let index = (event.token() & u64::from(u32::MAX)) as usize;
        let slot = &mut self.slots[index];
        if u64::from(slot.generation) != event.token() >> 32 {
            return;
        }
        match slot.phase {
            Phase::Connecting if event.writable() => {
                let socket = slot
                    .socket
                    .as_ref()
                    .expect("a connecting slot has a socket");
                match socket.pending_error() {
                    Ok(()) => self.connected(index, now, scratch),
                    Err(error) => return self.connect_failed(index, &error, now),
                }
            }
            Phase::Sending(_) if event.writable() => self.send(index, now, scratch),
            _ => {}
        }
        if event.readable() && u64::from(self.slots[index].generation) == event.token() >> 32 {
            self.receive(index, event.ended(), now, scratch);
        }
    }

    /// Starts the next request of a slot: due now, as its connection is free now.
    fn begin(&mut self, index: usize, now: Nanos, scratch: &mut Scratch) {
        if !self.progress.open || self.progress.requests_left == 0 {
            return;
        }
        self.progress.requests_left -= 1;
        self.progress.in_flight += 1;
        let deadline = now.plus(Nanos(self.plan.timeout_ns));
        self.progress.next_check = self.progress.next_check.min(deadline);
        let counted = now >= self.progress.counted_from;
        let request = self.chooser.draw();
        // A body that is not known beforehand cannot be compared.
        let is_known = self.plan.requests[request].expect.body.is_some();
        let hashed = is_known && self.sampler.draw();
        let slot = &mut self.slots[index];
        if counted {
            slot.clock.starts(now);
        }
        if hashed {
            slot.hasher.get_or_insert_with(|| scratch.hashers.take());
        }
        slot.flight = Some(Flight {
            intended: now,
            sent: None,
            counted,
            request,
            hashed,
            retried: false,
        });
        match slot.phase {
            Phase::Idle => self.start_sending(index, now, scratch),
            _ => self.connect(index, now),
        }
    }

    fn connect(&mut self, index: usize, now: Nanos) {
        let sources = &self.plan.sources;
        let source = (!sources.is_empty()).then(|| sources[(self.first + index) % sources.len()]);
        let slot = &mut self.slots[index];
        slot.close();
        let token = (u64::from(slot.generation) << 32) | index as u64;
        if slot.flight.is_some_and(|flight| flight.counted) {
            self.tally.connects += 1;
        }
        let made = Socket::connect(self.plan.address, source).and_then(|socket| {
            self.epoll.add(&socket, token, Interest::all())?;
            Ok(socket)
        });
        match made {
            Ok(socket) => slot.connecting(socket),
            Err(error) => self.connect_failed(index, &error, now),
        }
    }

    fn connected(&mut self, index: usize, now: Nanos, scratch: &mut Scratch) {
        let slot = &mut self.slots[index];
        slot.phase = Phase::Idle;
        slot.refusals = 0;
        if slot.flight.is_some() {
            self.start_sending(index, now, scratch);
        }
    }

    fn connect_failed(&mut self, index: usize, error: &io::Error, now: Nanos) {
        let outcome = connect_outcome(error);
        let slot = &mut self.slots[index];
        slot.close();
        if slot.flight.is_none() {
            self.connect_failures.add(outcome);
            return;
        }
        let rest = Nanos(REST_MIN.0 << slot.refusals.min(REST_DOUBLINGS_MAX));
        slot.refusals += 1;
        slot.phase = Phase::Resting(now.plus(rest));
        self.progress.resting += 1;
        self.progress.failures += 1;
        self.progress.next_check = self.progress.next_check.min(now.plus(rest));
        self.finish(index, outcome, now);
    }

    fn start_sending(&mut self, index: usize, now: Nanos, scratch: &mut Scratch) {
        let slot = &mut self.slots[index];
        let Some(flight) = &mut slot.flight else {
            return;
        };
        slot.client
            .expect(self.plan.requests[flight.request].request.answer_kind());
        slot.phase = Phase::Sending(0);
        // A reading of its own: in a large batch this send may come long after
        // the answer that made it due.
        flight.sent = Some(Nanos::now());
        self.send(index, now, scratch);
    }

    fn send(&mut self, index: usize, now: Nanos, scratch: &mut Scratch) {
        let slot = &mut self.slots[index];
        let (Some(socket), Phase::Sending(written), Some(flight)) =
            (&slot.socket, slot.phase, slot.flight)
        else {
            return;
        };
        let request = &self.encoded[flight.request];
        match socket.send(&request[written..]) {
            Ok(more) if written + more == request.len() => slot.phase = Phase::Waiting,
            Ok(more) => slot.phase = Phase::Sending(written + more),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.broken(index, Outcome::Reset, now, scratch),
        }
    }

    fn receive(&mut self, index: usize, ended: bool, now: Nanos, scratch: &mut Scratch) {
        let mut is_free = false;
        loop {
            let slot = &mut self.slots[index];
            let Some(socket) = &slot.socket else { break };
            let parsed = match socket.receive(&mut scratch.buffer) {
                Ok(0) if slot.flight.is_none() => {
                    slot.close();
                    break;
                }
                Ok(0) => slot.end(),
                Ok(count) => {
                    if slot.flight.is_some_and(|flight| flight.counted) {
                        self.tally.bytes += count as u64;
                    }
                    let parsed = slot.parse(&scratch.buffer[..count]);
                    if count < scratch.buffer.len() && !ended && matches!(parsed, Parsed::More) {
                        break;
                    }
                    parsed
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    // SUBTLE: Not a return. The answer may have come whole before
                    // the reset, and the slot then goes on below.
                    self.broken(index, Outcome::Reset, now, scratch);
                    break;
                }
            };
            match parsed {
                Parsed::More => {}
                Parsed::Whole(done, hash) => {
                    self.whole(index, &done, hash, now, scratch);
                    is_free = true;
                    if !ended {
                        break;
                    }
                }
                Parsed::Broken(fault) => {
                    self.broken(index, fault_outcome(&fault), now, scratch);
                    break;
                }
            }
        }
        if is_free {
            self.begin(index, now, scratch);
        }
    }

    /// Takes note of a whole answer.
    fn whole(
        &mut self,
        index: usize,
        done: &http1::Done,
        hash: Option<u64>,
        now: Nanos,
        scratch: &mut Scratch,
    ) {
        let slot = &mut self.slots[index];
        slot.reused = true;
        // What is left of a request would run into the next one.
        let was_sent = slot.phase == Phase::Waiting;
        slot.phase = Phase::Idle;
        if let Some(hasher) = slot.hasher.take() {
            scratch.hashers.give_back(hasher);
        }
        let flight = slot.flight.expect("an answer belongs to a flight");
        self.tally.hashed += u64::from(flight.hashed);
        if flight.counted {
            self.tally.body_bytes += done.body_bytes;
        }
        if !(was_sent && done.reusable && self.plan.keep_alive) {
            slot.close();
        }
        self.progress.failures = 0;
        self.progress.timeouts = 0;
        let expect = &self.plan.requests[flight.request].expect;
        let outcome = check::outcome(expect, done, hash);
        self.finish(index, outcome, now);
    }

    /// The connection broke: the request is sent once more when it broke before
    /// the answer began on a connection that had served before, and has failed otherwise.
    fn broken(&mut self, index: usize, outcome: Outcome, now: Nanos, scratch: &mut Scratch) {
        let slot = &mut self.slots[index];
        let was_idle = slot.reused && !slot.client.has_answer_started();
        slot.close();
        let Some(flight) = &mut slot.flight else {
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
        self.begin(index, now, scratch);
    }

    /// Ends a flight with its outcome.
    fn finish(&mut self, index: usize, outcome: Outcome, now: Nanos) {
        let slot = &mut self.slots[index];
        let Some(flight) = slot.flight.take() else {
            return;
        };
        self.progress.in_flight -= 1;
        slot.clock.reaches(now);
        if flight.counted {
            self.tally.record(&flight.sample(outcome, now));
        } else {
            self.tally.discarded.add(outcome);
        }
    }

    /// Ends requests that are out of time and rests that are over.
    fn check_due(&mut self, now: Nanos, scratch: &mut Scratch) {
        if now < self.progress.next_check {
            return;
        }
        self.progress.next_check = Nanos::MAX;
        let timeout = Nanos(self.plan.timeout_ns);
        // Rare enough for a list of its own.
        let mut free = Vec::new();
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            let due = match (slot.flight, slot.phase) {
                (Some(flight), _) => flight.intended.plus(timeout),
                (None, Phase::Resting(until)) => until,
                (None, _) => continue,
            };
            if due > now {
                self.progress.next_check = self.progress.next_check.min(due);
                continue;
            }
            slot.close();
            if slot.flight.is_some() {
                self.progress.timeouts += 1;
                self.finish(index, Outcome::Timeout, now);
            } else {
                self.progress.resting -= 1;
            }
            free.push(index);
        }
        // When all of them timed out the slice ends here, not after another timeout.
        if !self.has_stopped_answering() {
            for index in free {
                self.begin(index, now, scratch);
            }
        }
    }

    /// Gives up what is in flight: interrupted.
    fn abandon(&mut self) {
        let now = Nanos::now();
        for index in 0..self.slots.len() {
            if self.slots[index].flight.is_some() {
                self.slots[index].close();
                self.finish(index, Outcome::Unfinished, now);
            }
        }
    }
}

fn connect_outcome(error: &io::Error) -> Outcome {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Outcome::Refused,
        io::ErrorKind::ConnectionReset => Outcome::Reset,
        io::ErrorKind::TimedOut => Outcome::Timeout,
        io::ErrorKind::AddrNotAvailable => Outcome::NoPort,
        _ if abx_sys::is_out_of_descriptors(error) => Outcome::NoDescriptor,
        _ => Outcome::Unreachable,
    }
}

fn fault_outcome(fault: &http1::Fault) -> Outcome {
    match fault {
        http1::Fault::ClosedIdle | http1::Fault::ClosedEarly => Outcome::EarlyClose,
        _ => Outcome::Malformed,
    }
}
