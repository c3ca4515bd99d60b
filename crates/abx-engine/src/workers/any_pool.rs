//! A pool of any protocol, chosen when it is made: the code that runs per request is compiled
//! for each protocol and does not check it again.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use abx_evidence::{Outcomes, Shape, Tally, Wait};
use abx_sys::{Nanos, SocketTuning};

use crate::io::{Awake, EpollIo, Io, Tls};
use crate::pool::{Broadcast, OpeningPart, Pool, SliceOutcome, SliceParticipants, WorkerSlice};
use crate::protocol::message::MessageSource;
use crate::protocol::{Http, Http2, Protocol, WebSocket};
use crate::scenario::ScenarioPool;
use crate::schedule::ScheduleShare;
use crate::workers::error::EngineError;
use crate::workers::prepared::Prepared;

/// The input from which one worker makes its part of a pool.
pub(crate) struct PoolParts {
    pub(crate) wait: Wait,
    pub(crate) load: Prepared,
    /// The index of this worker's first connection among all of the load.
    pub(crate) first: usize,
    pub(crate) connections: usize,
    /// This worker's share of the connections that are opened at a rate.
    pub(crate) opening_share: ScheduleShare,
}

/// One worker's share of a load's connections.
pub(crate) trait AnyPool {
    /// Makes the missing connections. Returns how many are open, how many of them
    /// are new, and the outcomes of failed attempts.
    fn connect_all(&mut self, part: OpeningPart, stop: &AtomicBool) -> (usize, usize, Outcomes);

    /// Loads the subject for one slice, together with others.
    fn run(
        &mut self,
        slice: WorkerSlice,
        participants: SliceParticipants,
        stop: &Arc<AtomicBool>,
    ) -> SliceOutcome;

    fn tally(&self) -> &Tally;

    /// The number of open connections, for a load of WebSockets.
    fn standing(&self) -> Option<usize>;

    /// The time waited awake since the last call.
    fn take_awake(&mut self) -> Awake;

    fn now(&mut self) -> Nanos;
}

impl<I: Io, C: Protocol> AnyPool for Pool<I, C> {
    fn connect_all(&mut self, part: OpeningPart, stop: &AtomicBool) -> (usize, usize, Outcomes) {
        self.reports_to(part);
        let (standing, opened) = Pool::connect_all(self, stop);
        let failures = std::mem::take(&mut self.connect_failures);
        (standing, opened, failures)
    }

    fn run(
        &mut self,
        slice: WorkerSlice,
        participants: SliceParticipants,
        stop: &Arc<AtomicBool>,
    ) -> SliceOutcome {
        self.joins(participants);
        Pool::run(self, slice, stop)
    }

    fn tally(&self) -> &Tally {
        Pool::tally(self)
    }

    fn standing(&self) -> Option<usize> {
        self.carries_websocket().then(|| Pool::standing(self))
    }

    fn take_awake(&mut self) -> Awake {
        Pool::take_awake(self)
    }

    fn now(&mut self) -> Nanos {
        Pool::now(self)
    }
}

impl<I: Io> AnyPool for Broadcast<I> {
    fn connect_all(&mut self, part: OpeningPart, stop: &AtomicBool) -> (usize, usize, Outcomes) {
        AnyPool::connect_all(self.pool_mut(), part, stop)
    }

    /// One worker has all of a broadcast's connections.
    fn run(
        &mut self,
        slice: WorkerSlice,
        participants: SliceParticipants,
        stop: &Arc<AtomicBool>,
    ) -> SliceOutcome {
        self.pool_mut().joins(participants);
        Broadcast::run(self, slice, stop)
    }

    fn tally(&self) -> &Tally {
        self.pool().tally()
    }

    fn standing(&self) -> Option<usize> {
        Some(self.pool().standing())
    }

    fn take_awake(&mut self) -> Awake {
        self.pool_mut().take_awake()
    }

    fn now(&mut self) -> Nanos {
        self.pool_mut().now()
    }
}

impl<I: Io> AnyPool for ScenarioPool<I> {
    /// Each session makes its own connection later.
    fn connect_all(&mut self, _: OpeningPart, _: &AtomicBool) -> (usize, usize, Outcomes) {
        (self.count(), 0, Outcomes::default())
    }

    fn run(
        &mut self,
        slice: WorkerSlice,
        participants: SliceParticipants,
        stop: &Arc<AtomicBool>,
    ) -> SliceOutcome {
        ScenarioPool::run(self, slice, participants, stop)
    }

    fn tally(&self) -> &Tally {
        ScenarioPool::tally(self)
    }

    fn standing(&self) -> Option<usize> {
        None
    }

    fn take_awake(&mut self) -> Awake {
        ScenarioPool::take_awake(self)
    }

    fn now(&mut self) -> Nanos {
        ScenarioPool::now(self)
    }
}

impl PoolParts {
    /// Makes a pool without connections.
    ///
    /// # Errors
    /// [`EngineError::System`] if the kernel refuses an epoll set.
    pub(crate) fn pool(mut self) -> Result<Box<dyn AnyPool>, EngineError> {
        let io = EpollIo::new(self.wait).map_err(|source| EngineError::System {
            what: "an epoll set",
            source,
        })?;
        let buffer_bytes = self.load.plan.buffer_bytes.map(|bytes| bytes as usize);
        let io = io.tuned(SocketTuning::of_buffers(buffer_bytes));
        Ok(match self.load.tls.take() {
            None => self.over(io),
            Some(client) => self.over(Tls::over(io, client)),
        })
    }

    fn over<I: Io + 'static>(mut self, io: I) -> Box<dyn AnyPool> {
        if let Some(scenario) = self.load.plan.scenario.take() {
            let users = (self.first as u64, self.connections as u64);
            return Box::new(ScenarioPool::new(io, self.load.plan, &scenario, users));
        }
        if !self.load.streamed.is_empty() {
            let http2 = Http2::new(std::mem::take(&mut self.load.streamed));
            return Box::new(self.pool_of(io, http2));
        }
        let Some(opening) = self.load.opening.take() else {
            let http = Http::new(self.load.encoded.len());
            return Box::new(self.pool_of(io, http));
        };
        let plan = &self.load.plan;
        let websocket = WebSocket::new(opening, plan, self.first);
        if let Shape::Broadcast(message) = plan.shape {
            let source = MessageSource::new(message, plan.seed);
            return Box::new(Broadcast::new(self.pool_of(io, websocket), source));
        }
        Box::new(self.pool_of(io, websocket))
    }

    fn pool_of<I: Io, C: Protocol>(self, io: I, protocol: C) -> Pool<I, C> {
        let Prepared { plan, encoded, .. } = self.load;
        let (first, connections) = (self.first, self.connections);
        let pool = Pool::new(io, protocol, plan, encoded, first, connections);
        pool.with_share(self.opening_share)
    }
}
