//! The slots of a pool, and the making of a connection.

use std::io;
use std::sync::Arc;

use abx_evidence::{Outcome, Outcomes, Tally};
use abx_sys::Nanos;

use super::connection_counts::ConnectionCounts;
use super::course::CourseKeeper;
use super::dispatcher::Dispatcher;
use super::participants::SliceParticipants;
use super::shared_opening::OpeningPart;
use crate::connection::encoded::Encoded;
use crate::connection::encoded::has_large_response;
use crate::connection::progress::Progress;
use crate::connection::slot::{Slot, SlotState};
use crate::connection::template::{RequestTemplate, ValuesToFill};
use crate::event_loop::Waiter;
use crate::io::{Awake, Io, Ready, Token};
use crate::plan::{LoadPlan, Pacing, WeightedRequest};
use crate::protocol::check::{Hashers, Sampler};
use crate::protocol::{Lost, Protocol};
use crate::random::Chooser;
use crate::schedule::{Arrivals, ScheduleShare};

/// The rest after a failed connect, which doubles with each further failure.
pub(super) const REST_MIN: Nanos = Nanos(1_000_000);
pub(super) const REST_DOUBLINGS_MAX: u32 = 7;
/// The most bytes of all copies of one request, which one call can send.
const COPIES_BYTES_MAX: usize = 1024 * 1024;

/// The connections to one subject and their results.
pub struct Pool<I: Io, C: Protocol> {
    pub(super) plan: LoadPlan,
    pub(super) protocol: C,
    /// Each request of the plan, as it is sent.
    pub(super) encoded: Vec<Encoded>,
    pub(super) values: ValuesToFill,
    /// Reused for each request that is built.
    pub(super) written: Vec<u8>,
    pub(super) chooser: Chooser,
    /// The index of this worker's first connection among all of the load.
    pub(super) first: usize,
    pub io: I,
    pub(super) waiter: Waiter,
    pub(crate) slots: Vec<Slot<C::Client>>,
    /// The most requests in flight per slot.
    pub(super) window: usize,
    /// A slot with fewer requests in flight gets more of them; see [`refill_below`].
    pub(super) refill_below: usize,
    /// Whether a slot with room always sends at once.
    pub(super) is_plain: bool,
    pub(super) sampler: Sampler,
    pub(super) hashers: Hashers,
    pub(super) tally: Tally,
    pub(crate) progress: Progress,
    pub(super) dispatcher: Dispatcher,
    pub(super) participants: SliceParticipants,
    pub(super) course: CourseKeeper,
    pub(crate) connection_counts: ConnectionCounts,
    pub(super) opening_share: ScheduleShare,
    pub(super) opening_part: OpeningPart,
    /// When the last slice ended.
    pub(super) suspended_since: Nanos,
    /// Slices that have run, each of which draws its own arrivals.
    pub(super) slices: u64,
    /// Connections that received bytes without a request, outside the counted part.
    /// The next slice reports those since the last slice.
    pub(super) unsolicited: u64,
    /// The outcomes of failed connects outside of slices.
    pub connect_failures: Outcomes,
}

/// A slot with fewer requests in flight than this gets more of them.
///
/// In an open loop a request goes out when it is due, so any room will do. A
/// closed loop waits until half of the window is empty, so that one call sends many requests.
/// This halves the cost of a send and leaves the subject enough work meanwhile.
fn refill_below(plan: &LoadPlan, window: usize) -> usize {
    match plan.pacing.arrivals {
        Arrivals::Closed => window / 2 + 1,
        _ => window,
    }
}

fn encoded_of<C: Protocol>(
    plan: &LoadPlan,
    weighted: &WeightedRequest,
    bytes: &[u8],
    values: &mut ValuesToFill,
) -> Encoded {
    let request = &weighted.request;
    let template = (!request.placeholders.is_empty()).then(|| {
        let template = if C::HAS_STREAMS {
            RequestTemplate::of_stream(request, plan.tls.is_some(), values)
        } else {
            RequestTemplate::of(request, plan.keep_alive, values)
        };
        Box::new(template.expect("the plan was checked by making its template before"))
    });
    let most = COPIES_BYTES_MAX / bytes.len().max(1);
    let count = match template {
        Some(_) => 0,
        None => (plan.window() as usize).min(most).max(1),
    };
    Encoded {
        bytes: match template {
            // Of the unsent bytes, at most one request is left, however long it is.
            Some(_) => usize::MAX,
            None => bytes.len(),
        },
        copies: bytes.repeat(count),
        count,
        kind: request.response_kind(),
        // The frames of several streams' bodies are interleaved.
        has_large_response: !C::HAS_STREAMS && has_large_response(plan, weighted),
        is_idempotent: request.is_idempotent(),
        template,
    }
}

impl<I: Io, C: Protocol> Pool<I, C> {
    /// Makes a pool of unconnected slots.
    pub fn new(
        io: I,
        mut protocol: C,
        plan: LoadPlan,
        encoded: Vec<Vec<u8>>,
        first: usize,
        connections: usize,
    ) -> Pool<I, C> {
        let seed = plan.seed.wrapping_add(first as u64);
        let mut tally = Tally::default();
        tally.times.reserve();
        let window = plan.window() as usize;
        let mut values = ValuesToFill::new(seed);
        let encoded = encoded
            .into_iter()
            .zip(&plan.requests)
            .map(|(bytes, weighted)| encoded_of::<C>(&plan, weighted, &bytes, &mut values))
            .collect();
        Pool {
            encoded,
            values,
            written: Vec::new(),
            // Independent of the sampler's random stream.
            chooser: Chooser::new(plan.requests.iter().map(|weighted| weighted.weight), !seed),
            first,
            io,
            waiter: Waiter::from(Nanos::MAX),
            slots: (0..connections)
                .map(|index| Slot::new(window, protocol.client(index)))
                .collect(),
            protocol,
            window,
            refill_below: refill_below(&plan, window),
            is_plain: plan.pacing == Pacing::default(),
            sampler: Sampler::new(plan.verify_every, seed),
            hashers: Hashers::default(),
            tally,
            progress: Progress::idle(),
            dispatcher: Dispatcher::none(),
            participants: SliceParticipants::alone(),
            course: CourseKeeper::none(),
            connection_counts: ConnectionCounts::default(),
            opening_share: ScheduleShare::WHOLE,
            opening_part: OpeningPart::of(&Arc::default()),
            suspended_since: Nanos(0),
            slices: 0,
            unsolicited: 0,
            connect_failures: Outcomes::default(),
            plan,
        }
    }

    /// Sets this worker's share of the connections opened at a rate, and of the numbers and lines
    /// that are filled in.
    pub fn with_share(mut self, share: ScheduleShare) -> Pool<I, C> {
        self.opening_share = share;
        self.values.take_share(share);
        self
    }

    /// Sets where the progress of the next opening is reported.
    pub(crate) fn reports_to(&mut self, opening_part: OpeningPart) {
        self.opening_part = opening_part;
    }

    /// Sets the participants of the next slice.
    pub fn joins(&mut self, participants: SliceParticipants) {
        self.participants = participants;
    }

    /// Resets the tally, from the start of a slice.
    pub(super) fn begin_tally(&mut self, start: Nanos) {
        self.tally.clear();
        self.waiter.restart(start);
    }

    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(crate) fn carries_websocket(&self) -> bool {
        self.plan.shape.is_websocket()
    }

    pub fn standing(&self) -> usize {
        self.connection_counts.standing
    }

    /// The time waited awake since the last call.
    pub(crate) fn take_awake(&mut self) -> Awake {
        self.io.take_awake()
    }

    pub fn now(&mut self) -> Nanos {
        self.io.now()
    }

    pub(super) fn take(&mut self, ready: &[Ready], now: Nanos) {
        for event in ready {
            self.handle(event, now);
        }
    }

    /// SUBTLE: An earlier event in the same list may have closed this connection; then its
    /// generation has changed.
    fn handle(&mut self, ready: &Ready, now: Nanos) {
        match ready {
            Ready::Receivable(token) if self.is_current(*token) => self.receive(*token, now),
            Ready::MaySend(token) if self.is_current(*token) => {
                self.send_on(token.slot as usize, now);
            }
            Ready::Connected(token) if self.is_current(*token) => {
                self.connected(token.slot as usize, now);
            }
            Ready::Unconnected(token, error) if self.is_current(*token) => {
                self.connect_failed(token.slot as usize, connect_outcome(error), now);
            }
            _ => {}
        }
    }

    pub(super) fn is_current(&self, token: Token) -> bool {
        self.slots[token.slot as usize].generation == token.generation
    }

    /// Drops the connection of a slot, if there is one.
    pub(super) fn close(&mut self, index: usize) {
        if self.slots[index].has_connection() {
            let token = self.slots[index].token(index);
            self.io.close(token);
        }
        self.connection_counts.leaves(self.slots[index].state);
        self.slots[index].close();
    }

    pub(super) fn connect(&mut self, index: usize, now: Nanos) {
        let sources = &self.plan.sources;
        let source = (!sources.is_empty()).then(|| sources[(self.first + index) % sources.len()]);
        self.close(index);
        let flights = &self.slots[index].flights;
        self.tally.connects += u64::from(flights.iter().any(|flight| flight.counted));
        let began = if flights.iter().any(|flight| flight.sampled) {
            // In a large batch the connect may begin long after the event that made it due.
            self.io.now()
        } else {
            now
        };
        let token = self.slots[index].token(index);
        match self.io.connect(token, &self.plan.address, source) {
            Ok(()) => {
                let client = self.protocol.client(index);
                self.slots[index].connecting(client, began);
                self.connection_counts.begins();
            }
            Err(error) => self.connect_failed(index, connect_outcome(&error), now),
        }
    }

    /// Handles a connected socket. A protocol with a handshake is open only after that.
    fn connected(&mut self, index: usize, now: Nanos) {
        let slot = &self.slots[index];
        if slot.flights.iter().any(|flight| flight.counted)
            && let Some(handshake) = self.io.handshake(slot.token(index))
        {
            self.tally.times.handshake.record_ns(handshake.span.0);
            self.tally.resumed += u64::from(handshake.is_resumed);
            if let Some(log) = &mut self.tally.log {
                log.agrees(|| self.io.tls_options(slot.token(index)));
            }
        }
        if !C::HAS_HANDSHAKE {
            self.opens(index, now);
        } else if self.flush_outbox(index).is_err() {
            self.broken(index, Outcome::Reset, now);
        }
    }

    pub(super) fn opens(&mut self, index: usize, now: Nanos) {
        self.connection_counts.opens();
        let slot = &mut self.slots[index];
        slot.state = SlotState::Standing;
        slot.refusals = 0;
        slot.free_since = now;
        slot.timing.connected(now);
        if slot.flights.is_empty() {
            // Made before a slice, for later.
            return;
        }
        for flight in slot.flights.iter_mut() {
            flight.possible = now;
        }
        // There is room beyond the requests that it was made for, so that all go out together.
        self.freed(index, now);
        self.hand_over(index, now);
    }

    /// Handles a failed connect; the back end no longer has the connection.
    pub(super) fn connect_failed(&mut self, index: usize, outcome: Outcome, now: Nanos) {
        self.protocol.lost(Lost {
            index,
            outcome,
            was_open: false,
        });
        self.connection_counts.leaves(self.slots[index].state);
        let slot = &mut self.slots[index];
        slot.close();
        if slot.flights.is_empty() {
            self.connect_failures.add(outcome);
            return;
        }
        let doublings = if self.plan.is_to_fail() {
            // The subject's recovery must be noticed at once.
            0
        } else {
            slot.refusals.min(REST_DOUBLINGS_MAX)
        };
        let rest = Nanos(REST_MIN.0 << doublings);
        slot.refusals += 1;
        slot.state = SlotState::Resting(now.plus(rest));
        self.progress.rests(now.plus(rest));
        self.finish_all(index, outcome, now);
    }
}

impl<I: Io, C: Protocol> Drop for Pool<I, C> {
    /// Announces the close on every open connection, as far as the kernel takes it at
    /// once, and waits for no response: the measurement is over.
    fn drop(&mut self) {
        for index in 0..self.slots.len() {
            if self.slots[index].state == SlotState::Standing {
                C::begin_close(&mut self.slots[index].client);
                let _ = self.flush_outbox(index);
            }
        }
    }
}

pub(crate) fn connect_outcome(error: &io::Error) -> Outcome {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Outcome::Refused,
        io::ErrorKind::ConnectionReset => Outcome::Reset,
        io::ErrorKind::TimedOut => Outcome::Timeout,
        io::ErrorKind::InvalidData => Outcome::TlsFailed,
        io::ErrorKind::AddrNotAvailable => Outcome::NoPort,
        _ if abx_sys::is_out_of_descriptors(error) => Outcome::NoDescriptor,
        _ if abx_sys::is_out_of_memory(error) => Outcome::NoMemory,
        _ => Outcome::Unreachable,
    }
}
