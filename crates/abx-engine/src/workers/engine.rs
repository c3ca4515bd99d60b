//! The engine's handle: worker threads, pools, slices.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use abx_evidence::{Outcomes, Shape, SliceTally, Wait};
use abx_sys::Nanos;

use crate::plan::{EnginePlan, LoadPart, LoadPlan, SliceEnd, SlicePlan, share_before};
use crate::pool::{
    AwaitedConnections, AwaitedResponses, OpeningLook, OpeningPart, Part, ReportedInterval,
    SharedSlice,
};
use crate::schedule;
use crate::stopper::Stopper;
use crate::workers::any_pool::PoolParts;
use crate::workers::error::EngineError;
use crate::workers::pool_id::PoolId;
use crate::workers::prepared::Prepared;
use crate::workers::worker::{SliceShare, WorkerCommand, WorkerReply, work};

/// The interval at which the engine reports what it waits for, from the planned end of a slice or
/// the beginning of an opening.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often the course of a slice is reported, if the plan requests that.
const COURSE_EVERY: Duration = Duration::from_millis(400);

/// The results of opening connections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// Connections that are open (without keep-alive, those that will be made).
    pub standing: usize,
    /// How many of them were opened by this call.
    pub opened: usize,
    pub failures: Outcomes,
}

/// An event of a running slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SliceEvent {
    /// The responses that the end of the slice waits for.
    Awaits(AwaitedResponses),
    /// The workers' measurements in the last intervals.
    Intervals(Vec<ReportedInterval>),
}

/// When the waiting thread reports.
struct Looks {
    /// `None` for never.
    next: Option<Instant>,
    every: Duration,
}

struct Worker {
    orders: Option<Sender<WorkerCommand>>,
    replies: Receiver<WorkerReply>,
    thread: Option<JoinHandle<()>>,
}

/// Worker threads that make load. Dropping it closes every connection.
pub struct Engine {
    workers: Vec<Worker>,
    stop: Arc<AtomicBool>,
    next_pool: u64,
    wait: Wait,
}

impl Engine {
    /// Starts the worker threads.
    ///
    /// # Errors
    /// [`EngineError::Zero`] without a thread, [`EngineError::System`] when one
    /// cannot be started.
    pub fn start(plan: &EnginePlan) -> Result<Engine, EngineError> {
        if plan.threads == 0 {
            return Err(EngineError::Zero { what: "threads" });
        }
        let stop = Arc::new(AtomicBool::new(false));
        let workers = (0..plan.threads)
            .map(|number| start_worker(number, &plan.cpus, &stop))
            .collect::<Result<_, _>>()?;
        Ok(Engine {
            workers,
            stop,
            next_pool: 0,
            wait: plan.wait,
        })
    }

    /// A handle that stops what runs.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper::of(&self.stop)
    }

    /// How many worker threads there are.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.workers.len()
    }

    /// Makes a pool and its connections, and waits until each attempt has ended.
    ///
    /// # Errors
    /// [`EngineError::Zero`] without a connection, [`EngineError::Request`] for
    /// a request that cannot be written, [`EngineError::Placeholders`] if none can be filled
    /// in, [`EngineError::Tls`] for certificates, [`EngineError::Opening`] and
    /// [`EngineError::Shape`] for WebSocket, [`EngineError::System`] if the kernel
    /// refuses an epoll set. Refused connections are in the report.
    pub fn open(&mut self, plan: &LoadPlan) -> Result<(PoolId, OpenReport), EngineError> {
        self.open_watched(plan, &mut |_| {})
    }

    /// As [`Engine::open`], and reports its progress every second.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub fn open_watched(
        &mut self,
        plan: &LoadPlan,
        on_wait: &mut dyn FnMut(AwaitedConnections),
    ) -> Result<(PoolId, OpenReport), EngineError> {
        self.open_part(plan, LoadPart::WHOLE, on_wait)
    }

    /// As [`Engine::open_watched`], for one part of a load whose other parts other generators make.
    ///
    /// # Errors
    /// As [`Engine::open`]; [`EngineError::Part`] if there is no such part.
    pub fn open_part(
        &mut self,
        plan: &LoadPlan,
        part: LoadPart,
        on_wait: &mut dyn FnMut(AwaitedConnections),
    ) -> Result<(PoolId, OpenReport), EngineError> {
        let load = Prepared::of(plan)?;
        check_part(&load.plan, part)?;
        let workers = match load.plan.shape {
            // Speaker and listeners share a clock.
            Shape::Broadcast(_) => 1,
            _ => self.workers.len() as u64,
        };
        let connections = u64::from(load.plan.connections);
        let id = PoolId {
            part,
            ..PoolId::new(self.next_pool, connections, workers)
        };
        self.next_pool += 1;
        let shared = Arc::default();
        for (number, worker) in self.workers.iter().enumerate() {
            let (first, next) = self.connections_of(number, id);
            let parts = PoolParts {
                wait: self.wait,
                load: load.clone(),
                first: first as usize,
                connections: (next - first) as usize,
                opening_share: self.part_of_schedule(number, id),
            };
            worker.order(WorkerCommand::Open(
                id,
                Box::new(parts),
                OpeningPart::of(&shared),
            ))?;
        }
        match self.connected(&mut OpeningLook::at(&shared, id.size()), on_wait) {
            Ok(report) => Ok((id, report)),
            Err(error) => {
                // Other workers may have opened their part.
                self.close(id);
                Err(error)
            }
        }
    }

    /// Reopens the connections of a pool that have closed since its last slice.
    ///
    /// # Errors
    /// [`EngineError::WorkerDied`] only.
    pub fn refresh(&mut self, pool: PoolId) -> Result<OpenReport, EngineError> {
        self.refresh_watched(pool, &mut |_| {})
    }

    /// As [`Engine::refresh`], and reports its progress every second.
    ///
    /// # Errors
    /// As [`Engine::refresh`].
    pub fn refresh_watched(
        &mut self,
        pool: PoolId,
        on_wait: &mut dyn FnMut(AwaitedConnections),
    ) -> Result<OpenReport, EngineError> {
        let shared = Arc::default();
        for worker in &self.workers {
            worker.order(WorkerCommand::Refresh(pool, OpeningPart::of(&shared)))?;
        }
        self.connected(&mut OpeningLook::at(&shared, pool.size()), on_wait)
    }

    /// Loads a pool for one slice and waits for requests in flight.
    ///
    /// # Errors
    /// [`EngineError::WorkerDied`] only. The subject's behaviour is in the tally.
    pub fn slice(&mut self, pool: PoolId, plan: &SlicePlan) -> Result<SliceTally, EngineError> {
        self.slice_watched(pool, plan, &mut |_| {})
    }

    /// As [`Engine::slice`]. From one second after the slice's planned end on, reports the awaited
    /// responses every second. If the plan requests it, also reports the workers' measurements in
    /// each interval.
    ///
    /// # Errors
    /// As [`Engine::slice`].
    pub fn slice_watched(
        &mut self,
        pool: PoolId,
        plan: &SlicePlan,
        on_event: &mut dyn FnMut(SliceEvent),
    ) -> Result<SliceTally, EngineError> {
        let is_reported = plan.course.is_some_and(|course| course.is_told);
        let (listener, intervals) = channel();
        let listener = is_reported.then_some(listener);
        let shared = self.order_slice(pool, plan, listener)?;
        // This thread does not wake up while the slice counts, unless the course is reported.
        let (first, every) = match (is_reported, plan.end) {
            (true, _) => (Some(COURSE_EVERY), COURSE_EVERY),
            (false, SliceEnd::AfterNs(span)) => {
                let length = Duration::from_nanos(span);
                (Some(length.saturating_add(LOOK_EVERY)), LOOK_EVERY)
            }
            (false, SliceEnd::AfterRequests(_)) => (None, LOOK_EVERY),
        };
        let mut looks = Looks {
            next: first.and_then(|span| Instant::now().checked_add(span)),
            every,
        };
        let report = || {
            let intervals: Vec<ReportedInterval> = intervals.try_iter().collect();
            (!intervals.is_empty()).then_some(SliceEvent::Intervals(intervals))
        };
        let mut look = || {
            let awaited = shared.awaited(Nanos::now()).map(SliceEvent::Awaits);
            report().into_iter().chain(awaited).for_each(&mut *on_event);
        };
        let mut sum: Option<SliceTally> = None;
        for worker in &self.workers {
            let WorkerReply::SliceOutcome(part) = worker.reply_watched(&mut looks, &mut look)?
            else {
                return Err(EngineError::WorkerDied);
            };
            match &mut sum {
                None => sum = Some(*part),
                Some(sum) => sum.merge(&part),
            }
        }
        report().into_iter().for_each(on_event);
        Ok(sum.expect("there is at least one worker"))
    }

    /// Starts every worker's share of a slice. Returns the state that the workers share.
    fn order_slice(
        &self,
        pool: PoolId,
        plan: &SlicePlan,
        listener: Option<Sender<ReportedInterval>>,
    ) -> Result<Arc<SharedSlice>, EngineError> {
        // If there are fewer connections than workers, the first workers have them.
        let with_connections = pool.workers.min(pool.size()) as usize;
        let shared = SharedSlice::with_listener(listener, self.workers.len(), with_connections);
        for (number, worker) in self.workers.iter().enumerate() {
            let (length_ns, requests_max) = match plan.end {
                SliceEnd::AfterNs(span) => (span, u64::MAX),
                SliceEnd::AfterRequests(total) => {
                    // Split by connections: a worker without connections could not send its part.
                    let (first, next) = self.connections_of(number, pool);
                    let before = |connection| share_before(total, connection, pool.connections);
                    (u64::MAX, before(next) - before(first))
                }
            };
            let share = SliceShare {
                length_ns,
                discard_ns: plan.discard_ns,
                requests_max,
                schedule: self.part_of_schedule(number, pool),
                part: if number < with_connections {
                    Part::Connections
                } else {
                    Part::Nothing
                },
                course: plan.course.filter(|_| number < with_connections),
                slice: Arc::clone(&shared),
            };
            worker.order(WorkerCommand::Run(pool, share))?;
        }
        Ok(shared)
    }

    /// Closes a pool's connections.
    pub fn close(&mut self, pool: PoolId) {
        for worker in &self.workers {
            // A worker that has exited has closed its connections too.
            let _ = worker.order(WorkerCommand::Close(pool));
        }
    }

    /// A worker's first connection among all of the load, and that of the next worker.
    fn connections_of(&self, worker: usize, pool: PoolId) -> (u64, u64) {
        let number = worker as u64;
        let (first, _) = pool.bounds();
        let before = |worker: u64| {
            let worker = worker.min(pool.workers);
            first + share_before(pool.size(), worker, pool.workers)
        };
        (before(number), before(number + 1))
    }

    /// A worker's part of a schedule. Workers without a connection have none; they are
    /// the last, and get a part that they cannot send.
    fn part_of_schedule(&self, worker: usize, pool: PoolId) -> schedule::ScheduleShare {
        let most = usize::try_from(pool.size()).unwrap_or(usize::MAX);
        let workers = usize::try_from(pool.workers).unwrap_or(most).min(most);
        let LoadPart { number, of } = pool.part;
        let share = schedule::ScheduleShare::of(number as usize, of as usize);
        share.part(worker.min(workers - 1), workers)
    }

    fn connected(
        &self,
        opening: &mut OpeningLook,
        on_wait: &mut dyn FnMut(AwaitedConnections),
    ) -> Result<OpenReport, EngineError> {
        let mut looks = Looks {
            next: Some(Instant::now() + LOOK_EVERY),
            every: LOOK_EVERY,
        };
        let mut look = || on_wait(opening.look());
        let mut report = OpenReport::default();
        let mut refused = None;
        for worker in &self.workers {
            match worker.reply_watched(&mut looks, &mut look)? {
                WorkerReply::Connected(standing, opened, failures) => {
                    report.standing += standing;
                    report.opened += opened;
                    report.failures.merge(&failures);
                }
                WorkerReply::Failed(error) => refused = Some(error),
                WorkerReply::SliceOutcome(_) => return Err(EngineError::WorkerDied),
            }
        }
        match refused {
            Some(error) => Err(error),
            None => Ok(report),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for worker in &mut self.workers {
            worker.orders = None;
            if let Some(thread) = worker.thread.take() {
                // A worker's panic was reported when it happened.
                let _ = thread.join();
            }
        }
    }
}

impl Worker {
    fn order(&self, order: WorkerCommand) -> Result<(), EngineError> {
        let orders = self.orders.as_ref().ok_or(EngineError::WorkerDied)?;
        orders.send(order).map_err(|_| EngineError::WorkerDied)
    }

    fn reply(&self) -> Result<WorkerReply, EngineError> {
        self.replies.recv().map_err(|_| EngineError::WorkerDied)
    }

    /// Waits for a reply, and calls `look` at intervals.
    fn reply_watched(
        &self,
        looks: &mut Looks,
        look: &mut dyn FnMut(),
    ) -> Result<WorkerReply, EngineError> {
        while let Some(moment) = &mut looks.next {
            let left = moment.saturating_duration_since(Instant::now());
            match self.replies.recv_timeout(left) {
                Err(RecvTimeoutError::Timeout) => {
                    look();
                    *moment = Instant::now() + looks.every;
                }
                other => return other.map_err(|_| EngineError::WorkerDied),
            }
        }
        self.reply()
    }
}

fn start_worker(
    number: usize,
    cpus: &[usize],
    stop: &Arc<AtomicBool>,
) -> Result<Worker, EngineError> {
    let (orders, inbox) = channel();
    let (outbox, replies) = channel();
    let cpus: Vec<usize> = cpus
        .get(number % cpus.len().max(1))
        .copied()
        .into_iter()
        .collect();
    let stop = Arc::clone(stop);
    let name = format!("abx-load-{number}");
    let body = move || work(&cpus, &inbox, &outbox, &stop);
    let thread = abx_sys::limits::spawn_with_own_descriptors(name, body);
    let thread = thread.map_err(EngineError::no_thread)?;
    Ok(Worker {
        orders: Some(orders),
        replies,
        thread: Some(thread),
    })
}

fn check_part(plan: &LoadPlan, part: LoadPart) -> Result<(), EngineError> {
    if part.number >= part.of || part.of > plan.connections {
        return Err(EngineError::Part {
            number: part.number,
            of: part.of,
            connections: plan.connections,
        });
    }
    match plan.shape {
        Shape::Broadcast(_) if part.of > 1 => Err(EngineError::Shape {
            load: "broadcasts",
            needs: "one generator, since speakers and listeners share a clock",
        }),
        Shape::Scenario if part.of > 1 => Err(EngineError::Shape {
            load: "sessions",
            needs: "one generator, which numbers all of them",
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_schedule_make_exactly_the_schedule() {
        // Method: generators with several workers each; the first requests of all workers,
        // sorted, are the first requests of the schedule.
        use crate::schedule::{Arrivals, PerSecond, Schedule, ScheduleShare};
        let per_s: PerSecond = "1000".parse().unwrap();
        for arrivals in [Arrivals::Constant { per_s }, Arrivals::Poisson { per_s }] {
            let schedule = Schedule::new(&arrivals, 7).unwrap();
            for (of, workers) in [(1, 1), (1, 3), (3, 1), (3, 2), (4, 5)] {
                let shares = (0..of).flat_map(|number| {
                    let share = ScheduleShare::of(number, of);
                    (0..workers).map(move |worker| share.part(worker, workers))
                });
                let count = of * workers;
                let mut times: Vec<Nanos> = shares
                    .flat_map(|share| schedule.pacer(share).take(60 / count))
                    .collect();
                times.sort_unstable();
                let whole = schedule
                    .pacer(ScheduleShare::WHOLE)
                    .take(60 / count * count);
                assert_eq!(times, whole.collect::<Vec<_>>(), "{of} of {workers}");
            }
        }
    }

    #[test]
    fn shares_add_up_and_differ_by_at_most_one() {
        // Method: every split of small numbers; no remainder may be dropped.
        for total in (0..40_u64).chain([1_000, 10_007]) {
            for count in (1..9).chain([16, 63, 64, 128]) {
                let before = |number| share_before(total, number, count);
                let shares: Vec<u64> = (0..count)
                    .map(|number| before(number + 1) - before(number))
                    .collect();
                assert_eq!(shares.iter().sum::<u64>(), total);
                let most = shares.iter().max().unwrap();
                assert!(most - shares.iter().min().unwrap() <= 1);
            }
        }
    }
}
