//! One worker's share of the connections to one subject.
//!
//! Here are the slots and the making of their connections; `stretch.rs` runs a
//! slice on them, `exchange.rs` carries single requests and answers.

mod exchange;
mod pace;
#[cfg(test)]
mod paced;
#[cfg(test)]
mod simulated;
mod stretch;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use abx_evidence::{Outcome, Outcomes, Tally};
use abx_sys::Nanos;

use crate::check::{Hashers, Sampler};
use crate::io::{Io, Ready, RequestId, Token};
use crate::plan::LoadPlan;
use crate::random::Chooser;
use crate::slot::{Phase, Slot};

pub(crate) use stretch::{Ran, Stretch};

use pace::Pace;
use stretch::Progress;

/// Connections that are being made at one time; more would overflow the
/// listen queue of a subject that is not to blame for it.
const CONNECTING_MAX: usize = 128;
/// No wait is longer, so that a stop is noticed soon.
const WAIT_MAX: Nanos = Nanos(50_000_000);
/// The rest after a failed connect, doubled with each further one.
const REST_MIN: Nanos = Nanos(1_000_000);
const REST_DOUBLINGS_MAX: u32 = 7;

/// Connections to one subject and what came over them.
pub(crate) struct Pool<I: Io> {
    plan: LoadPlan,
    /// The bytes of each request of the plan, which the back end keeps.
    encoded: Vec<Encoded>,
    chooser: Chooser,
    /// Which of all connections of the load this worker's first one is.
    first: usize,
    io: I,
    /// Used again for each wait.
    ready: Vec<Ready>,
    slots: Vec<Slot>,
    sampler: Sampler,
    hashers: Hashers,
    tally: Tally,
    progress: Progress,
    pace: Pace,
    /// Slices that have run, each of which draws its own arrivals.
    slices: u64,
    /// How connects outside of slices ended badly.
    pub(crate) connect_failures: Outcomes,
}

/// One request of the plan as the back end knows it.
#[derive(Clone, Copy)]
struct Encoded {
    id: RequestId,
    bytes: usize,
    /// Whether the rest of its answer's body is worth skipping.
    has_large_answer: bool,
}

/// Whether any answer of a load is known to have a body that is worth skipping.
pub(crate) fn has_large_answers(plan: &LoadPlan) -> bool {
    plan.requests.iter().any(exchange::has_large_answer)
}

impl<I: Io> Pool<I> {
    /// Makes a pool of `connections` slots; none is connected yet.
    pub(crate) fn new(
        mut io: I,
        plan: LoadPlan,
        encoded: Vec<Vec<u8>>,
        first: usize,
        connections: usize,
    ) -> Pool<I> {
        let seed = plan.seed.wrapping_add(first as u64);
        let encoded = encoded
            .into_iter()
            .zip(&plan.requests)
            .map(|(bytes, asked)| Encoded {
                bytes: bytes.len(),
                id: io.register(bytes),
                has_large_answer: exchange::has_large_answer(asked),
            })
            .collect();
        Pool {
            encoded,
            // Another stream than the sampler's.
            chooser: Chooser::new(plan.requests.iter().map(|asked| asked.weight), !seed),
            first,
            io,
            ready: Vec::new(),
            slots: (0..connections).map(|_| Slot::new()).collect(),
            sampler: Sampler::new(plan.verify_every, seed),
            hashers: Hashers::default(),
            tally: Tally::default(),
            progress: Progress::idle(),
            pace: Pace::none(),
            slices: 0,
            connect_failures: Outcomes::default(),
            plan,
        }
    }

    /// Connects every slot that has no connection and waits until each try has
    /// ended. Answers how many connections stand, and how many of them are new.
    pub(crate) fn connect_all(&mut self, stop: &AtomicBool) -> (usize, usize) {
        // One wait gives so many events at most; more connections may have died.
        self.take_ready(Nanos(0));
        while self.took_any() {
            self.take_ready(Nanos(0));
        }
        if !self.plan.keep_alive {
            // Each request brings its own connection.
            return (self.slots.len(), 0);
        }
        let deadline = self.io.now().plus(Nanos(self.plan.timeout_ns));
        let mut untried: Vec<usize> = (0..self.slots.len())
            .filter(|index| !self.slots[*index].has_connection())
            .collect();
        let stood = self.slots.len() - untried.len();
        loop {
            let mut connecting = self.count(Phase::Connecting);
            while connecting < CONNECTING_MAX {
                let Some(index) = untried.pop() else { break };
                let now = self.io.now();
                self.connect(index, now);
                connecting += 1;
            }
            if untried.is_empty() && self.count(Phase::Connecting) == 0 {
                break;
            }
            let now = self.io.now();
            if now >= deadline || stop.load(Ordering::Relaxed) {
                break;
            }
            self.take_ready(now.plus(WAIT_MAX));
        }
        let outcome = match stop.load(Ordering::Relaxed) {
            true => Outcome::Unfinished,
            false => Outcome::Timeout,
        };
        for _ in untried {
            self.connect_failures.add(outcome);
        }
        for index in 0..self.slots.len() {
            if self.slots[index].phase == Phase::Connecting {
                self.connect_failures.add(outcome);
                self.close(index);
            }
        }
        let standing = self.count(Phase::Idle);
        (standing, standing.saturating_sub(stood))
    }

    /// What the last stretch gave.
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The back end's clock.
    pub(crate) fn now(&mut self) -> Nanos {
        self.io.now()
    }

    fn count(&self, phase: Phase) -> usize {
        self.slots.iter().filter(|slot| slot.phase == phase).count()
    }

    /// Waits once, and handles all that is ready with one reading of the clock:
    /// answers that the kernel handed over together get the same time, so that
    /// our own parsing is not charged to the subject. Answers that time.
    fn take_ready(&mut self, until: Nanos) -> Nanos {
        let mut ready = std::mem::take(&mut self.ready);
        let now = self.io.wait(until, &mut ready);
        for one in &ready {
            self.handle(one, now);
        }
        self.ready = ready;
        now
    }

    /// Whether the last wait gave anything.
    fn took_any(&self) -> bool {
        !self.ready.is_empty()
    }

    /// SUBTLE: A connection may have been closed since the list was made, by what
    /// stands before it in the same list; then its generation is another one.
    fn handle(&mut self, ready: &Ready, now: Nanos) {
        match ready {
            Ready::Receivable(token) if self.is_current(*token) => self.receive(*token, now),
            Ready::MaySend(token) if self.is_current(*token) => {
                self.send(token.slot as usize, now);
            }
            Ready::Connected(token) if self.is_current(*token) => {
                self.connected(token.slot as usize, now);
            }
            Ready::Unconnected(token, error) if self.is_current(*token) => {
                self.connect_failed(token.slot as usize, error, now);
            }
            _ => {}
        }
    }

    fn is_current(&self, token: Token) -> bool {
        self.slots[token.slot as usize].generation == token.generation
    }

    fn token(&self, index: usize) -> Token {
        Token {
            slot: u32::try_from(index).expect("a pool's connections are counted in 32 bits"),
            generation: self.slots[index].generation,
        }
    }

    /// Drops the connection of a slot, if there is one.
    fn close(&mut self, index: usize) {
        if self.slots[index].has_connection() {
            let token = self.token(index);
            self.io.close(token);
        }
        self.slots[index].close();
    }

    fn connect(&mut self, index: usize, now: Nanos) {
        let sources = &self.plan.sources;
        let source = (!sources.is_empty()).then(|| sources[(self.first + index) % sources.len()]);
        self.close(index);
        if self.slots[index]
            .flight
            .is_some_and(|flight| flight.counted)
        {
            self.tally.connects += 1;
        }
        let token = self.token(index);
        match self.io.connect(token, self.plan.address, source) {
            Ok(()) => self.slots[index].connecting(),
            Err(error) => self.connect_failed(index, &error, now),
        }
    }

    fn connected(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        slot.phase = Phase::Idle;
        slot.refusals = 0;
        if let Some(flight) = &mut slot.flight {
            flight.possible = now;
            self.start_sending(index, now);
        }
    }

    /// The back end has nothing of this connection any more.
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
        self.progress.rests(now.plus(rest));
        self.finish(index, outcome, now);
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
