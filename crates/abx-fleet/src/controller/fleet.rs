//! A load generator of several machines.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use abx_engine::schedule::Arrivals;
use abx_engine::{
    AwaitedConnections, EngineError, LoadGenerator, LoadPart, LoadPlan, OpenReport, PoolId,
    ReportedInterval, SliceEnd, SliceEvent, SlicePlan, Stopper,
};
use abx_evidence::record::{FleetRecord, OnLoss};
use abx_evidence::{Measured, SliceTally};
use abx_sys::Nanos;

use super::deadline::OrderAllowance;
use super::discovery::Discovery;
use super::line::{AgentLine, RunBus, now_ns};
use super::liveness::{Liveness, Loss};
use super::member::{Member, SliceOfMember};
use super::plan::{FleetEvent, FleetListener, FleetPlan};
use super::progress::{awaited_connections, awaited_responses};
use crate::bus::Bus;
use crate::fleet_error::FleetError;
use crate::message::{AgentTask, Control, TaskProgress, TaskResult, Working, bytes, sha256_of};

/// Agents that make one load together. Dropping it ends their run.
pub struct Fleet {
    bus: RunBus,
    members: Vec<Member>,
    roll: Liveness,
    stopper: Stopper,
    /// The number of the last order.
    orders: u64,
    pools: u64,
    /// The data that later orders need about the loads of open pools.
    loads: HashMap<u64, PoolPlan>,
    /// The action when an agent is lost.
    on_loss: OnLoss,
    notify: FleetListener,
    /// The slice that agents are ready for.
    armed: Option<Armed>,
    /// How long before it begins a slice is ordered.
    lead: Duration,
    /// Why it makes no load any more.
    broken: Option<String>,
}

/// The load of a pool, as later orders need it.
#[derive(Debug, Clone, Copy)]
struct PoolPlan {
    /// Whether its requests come by a schedule.
    is_open: bool,
    timeout: Duration,
    connections: u64,
    /// Between two connections that are opened by a rate.
    opening_gap: Duration,
}

/// A slice that agents are ready for.
struct Armed {
    order: u64,
    pool: PoolId,
    plan: SlicePlan,
    starts: Nanos,
}

/// The results of agents, each by its slot.
type Results<T> = Vec<(usize, Result<T, FleetError>)>;

/// A report of an agent's thread.
enum Report<T> {
    Working(usize, Working),
    Ended(usize, Result<T, FleetError>),
}

/// Bytes of an order besides its payload, at most.
const ORDER_BYTES: usize = 4 << 10;
/// The shortest and the longest time between a slice's order and its begin.
const LEAD: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(2)];
/// How many of the slowest round trips an order may take.
const ROUND_TRIPS: u32 = 10;
/// So long before a slice begins everything else is done.
const READY_BEFORE: Nanos = Nanos(500_000);
/// Clocks are read again when they were read so long ago: good ones drift by 100 us then.
const CLOCKS_KEEP: Duration = Duration::from_secs(5);

impl Fleet {
    /// Waits for as many agents as are wanted, and gives each a slot.
    ///
    /// # Errors
    /// [`FleetError::TooFew`] and [`FleetError::Interrupted`] above all.
    pub fn assemble(
        bus: Arc<dyn Bus>,
        run: &str,
        plan: &FleetPlan,
        is_stopped: &dyn Fn() -> bool,
        notify: &FleetListener,
    ) -> Result<Fleet, FleetError> {
        let bus = RunBus {
            bus,
            run: run.to_owned(),
        };
        let members = Discovery::members(&bus, plan, is_stopped, notify).inspect_err(|_| {
            // Agents that have joined wait for another controller.
            bus.publish_control(Control::End);
            bus.bus.flush();
        })?;
        let count = members.len();
        let agents = members
            .iter()
            .enumerate()
            .map(|(slot, member)| (member.introduction.id.clone(), called(member, slot, count)));
        let roll = Liveness::begin(&bus.bus, run, agents.collect(), plan.timing, notify)?;
        let bounds = members.iter().map(|member| member.clock.bound_ns);
        let slowest = Duration::from_nanos(bounds.max().unwrap_or_default() * 2);
        let [shortest, longest] = LEAD;
        Ok(Fleet {
            bus,
            members,
            roll,
            stopper: Stopper::default(),
            orders: 0,
            pools: 0,
            loads: HashMap::new(),
            on_loss: plan.on_loss,
            notify: Arc::clone(notify),
            armed: None,
            lead: (shortest + slowest * ROUND_TRIPS).min(longest),
            broken: None,
        })
    }

    /// Sends a request to every agent that is there, on a thread of its own, and reports how far
    /// they are. Returns each result, by slot.
    fn each<T: Send>(
        &self,
        request: impl Fn(&AgentLine, &mut dyn FnMut(Working)) -> Result<T, FleetError> + Sync,
        on_progress: &mut dyn FnMut(&[TaskProgress], Vec<ReportedInterval>),
    ) -> Results<T> {
        let mut progress = vec![TaskProgress::Nothing; self.members.len()];
        let mut ended: Results<T> = Vec::with_capacity(self.members.len());
        let (reports, reports_received) = channel();
        let mut is_over = false;
        thread::scope(|scope| {
            for slot in self.present() {
                let (request, reports) = (&request, reports.clone());
                let failed = reports.clone();
                let work = move || {
                    let line = self.line(slot);
                    let mut notify = |working| {
                        // The receiver exists as long as this scope lasts.
                        let _ = reports.send(Report::Working(slot, working));
                    };
                    let result = request(&line, &mut notify);
                    let _ = reports.send(Report::Ended(slot, result));
                };
                if let Err(source) = thread::Builder::new().spawn_scoped(scope, work) {
                    let error = EngineError::no_thread(source).into();
                    let _ = failed.send(Report::Ended(slot, Err(error)));
                }
            }
            drop(reports);
            for report in reports_received {
                match report {
                    Report::Working(slot, working) => {
                        progress[slot] = working.progress;
                        on_progress(&progress, working.intervals);
                    }
                    Report::Ended(slot, result) => {
                        let is_lost = matches!(&result, Err(FleetError::Lost { .. }));
                        is_over |= is_lost && self.on_loss == OnLoss::Abort;
                        // No agent waits for it any more.
                        progress[slot] = TaskProgress::Nothing;
                        ended.push((slot, result));
                    }
                }
                if is_over {
                    // The load is no longer the requested one: no agent continues.
                    self.bus.publish_control(Control::Stop);
                }
            }
        });
        ended.sort_by_key(|(slot, _)| *slot);
        ended
    }

    /// The slots of those that are not lost.
    fn present(&self) -> impl Iterator<Item = usize> {
        let everything = self.members.iter().enumerate();
        everything
            .filter(|(_, member)| member.lost.is_none())
            .map(|(slot, _)| slot)
    }

    fn line(&self, slot: usize) -> AgentLine<'_> {
        let member = &self.members[slot];
        AgentLine {
            bus: &self.bus,
            roll: &self.roll,
            slot,
            id: &member.introduction.id,
            agent: called(member, slot, self.members.len()),
        }
    }

    /// The results of all, by slot, or the first error that ends all load.
    fn all<T>(&mut self, results: Results<T>) -> Result<Vec<(usize, T)>, EngineError> {
        let mut pairs = Vec::with_capacity(results.len());
        let mut first = None;
        for (slot, result) in results {
            match result {
                Ok(item) => pairs.push((slot, item)),
                Err(error) if self.ends_load(slot, &error) => {
                    first.get_or_insert(error);
                }
                Err(_) => {}
            }
        }
        match first {
            Some(error) => Err(elsewhere(error)),
            None => Ok(pairs),
        }
    }

    /// Takes note of an error; whether it ends all load.
    fn ends_load(&mut self, slot: usize, error: &FleetError) -> bool {
        if let FleetError::Lost { how, .. } = error {
            let reported_loss = self.roll.lost(slot);
            let loss = reported_loss.unwrap_or_else(|| Loss::new(how.clone(), Duration::ZERO));
            self.members[slot].lost.get_or_insert(loss);
            if self.on_loss == OnLoss::Continue && self.present().next().is_some() {
                return false;
            }
        }
        self.broken.get_or_insert_with(|| error.to_string());
        true
    }

    fn check(&self) -> Result<(), EngineError> {
        match &self.broken {
            Some(why) => Err(EngineError::ForeignCpu(why.clone().into())),
            None => Ok(()),
        }
    }

    /// How long requests of a pool may take.
    fn timeout(&self, pool: u64) -> Duration {
        self.loads
            .get(&pool)
            .map_or(Duration::ZERO, |load| load.timeout)
    }

    fn next_command(&mut self) -> u64 {
        self.orders += 1;
        self.orders
    }

    /// Has all agents make or mend connections.
    fn connect(
        &mut self,
        task: impl Fn(usize) -> AgentTask + Sync,
        load: PoolPlan,
        on_wait: &mut dyn FnMut(AwaitedConnections),
    ) -> Result<OpenReport, EngineError> {
        self.check()?;
        let order = self.next_command();
        let timeout = load.timeout.saturating_add(load.opening_gap);
        let allowance = OrderAllowance {
            connections: load.connections,
            ..OrderAllowance::new(&self.stopper, Some(Duration::ZERO), timeout)
        };
        let request = |line: &AgentLine, notify: &mut dyn FnMut(Working)| {
            line.deliver(order, task(line.slot))?;
            match line.collect(order, &allowance, notify)? {
                TaskResult::Opened {
                    standing,
                    opened,
                    failures,
                } => Ok(OpenReport {
                    standing,
                    opened,
                    failures,
                }),
                _ => Err(line.nonsense()),
            }
        };
        let results = self.each(request, &mut |task_progresses, _| {
            awaited_connections(task_progresses)
                .into_iter()
                .for_each(&mut *on_wait);
        });
        let mut sum = OpenReport::default();
        for (_, part) in self.all(results)? {
            sum.standing += part.standing;
            sum.opened += part.opened;
            sum.failures.merge(&part.failures);
        }
        Ok(sum)
    }

    /// Reads the clocks that were read long ago: between slices, when nothing is measured.
    fn read_clocks(&mut self) -> Result<(), EngineError> {
        let is_old =
            |member: &Member| member.lost.is_none() && member.clock.at.elapsed() > CLOCKS_KEEP;
        if !self.members.iter().any(is_old) {
            return Ok(());
        }
        let results = self.each(|line, _| line.clock_offset(), &mut |_, _| {});
        let clocks = self.all(results)?;
        for (slot, clock) in clocks {
            self.members[slot].set_clock(clock);
        }
        Ok(())
    }

    /// Whether every agent sees the same machine at an address.
    fn check_address(&self, plan: &LoadPlan) -> Result<(), FleetError> {
        // Agents refuse a Unix socket, wherever they are.
        let Some(address) = plan.address.tcp().map(|address| address.ip()) else {
            return Ok(());
        };
        let mut members = self.members.iter();
        let elsewhere = members.position(|member| !member.is_here());
        match elsewhere.filter(|_| address.is_loopback()) {
            Some(slot) => Err(FleetError::Loopback {
                agent: self.line(slot).agent,
                address,
            }),
            None => Ok(()),
        }
    }
}

impl LoadGenerator for Fleet {
    fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    fn threads(&self) -> usize {
        self.members
            .iter()
            .map(|member| member.introduction.threads)
            .sum()
    }

    fn open(
        &mut self,
        plan: &LoadPlan,
        on_wait: &mut dyn FnMut(AwaitedConnections),
    ) -> Result<(PoolId, OpenReport), EngineError> {
        let agents = self.members.len();
        if (plan.connections as usize) < agents {
            return Err(elsewhere(FleetError::TooFewConnections {
                connections: plan.connections,
                agents,
            }));
        }
        if matches!(plan.pacing.arrivals, Arrivals::Replay(_)) {
            return Err(elsewhere(FleetError::Replay));
        }
        self.check_address(plan).map_err(elsewhere)?;
        self.pools += 1;
        let pool = self.pools;
        let of = u32::try_from(agents).unwrap_or(u32::MAX);
        let load = PoolPlan {
            is_open: !matches!(plan.pacing.arrivals, Arrivals::Closed),
            timeout: Nanos(plan.timeout_ns()).into(),
            connections: plan.connections.into(),
            opening_gap: opening_gap(plan, of),
        };
        self.loads.insert(pool, load);
        let sha256 = sha256_of(plan);
        let task = |slot: usize| AgentTask::Open {
            pool,
            plan: Box::new(plan.clone()),
            sha256: sha256.clone(),
            part: LoadPart {
                number: u32::try_from(slot).unwrap_or(u32::MAX),
                of,
            },
        };
        let report = self.connect(task, load, on_wait)?;
        let id = PoolId::new(pool, plan.connections.into(), self.threads() as u64);
        Ok((id, report))
    }

    fn refresh(
        &mut self,
        pool: PoolId,
        on_wait: &mut dyn FnMut(AwaitedConnections),
    ) -> Result<OpenReport, EngineError> {
        let pool = pool.number();
        let load = self.loads.get(&pool).copied();
        let load = load.ok_or(EngineError::Zero { what: "pools" })?;
        self.connect(|_| AgentTask::Refresh { pool }, load, on_wait)
    }

    /// Sends every agent when the slice begins by its own clock: no agent is ever ordered to begin
    /// at once.
    fn arm(&mut self, pool: PoolId, plan: &SlicePlan) -> Result<(), EngineError> {
        self.check()?;
        self.read_clocks()?;
        let order = self.next_command();
        let starts_ns = now_ns() + i64::try_from(self.lead.as_nanos()).unwrap_or(i64::MAX);
        let request = |line: &AgentLine, _: &mut dyn FnMut(Working)| {
            let task = AgentTask::Slice {
                pool: pool.number(),
                plan: *plan,
                starts_ns: self.members[line.slot].clock.theirs(starts_ns),
            };
            line.deliver(order, task)
        };
        let results = self.each(request, &mut |_, _| {});
        let armed = self.all(results);
        if armed.is_err() {
            // Some may have begun, and no result will be requested from them.
            self.bus.publish_control(Control::Stop);
        }
        armed?;
        let starts = Nanos(starts_ns.unsigned_abs());
        let left = starts.since(Nanos::now().plus(READY_BEFORE));
        if left == Nanos(0) {
            self.lead = (self.lead * 2).min(LEAD[1]);
        }
        thread::sleep(left.into());
        self.armed = Some(Armed {
            order,
            pool,
            plan: *plan,
            starts,
        });
        Ok(())
    }

    fn slice(
        &mut self,
        pool: PoolId,
        plan: &SlicePlan,
        on_event: &mut dyn FnMut(SliceEvent),
    ) -> Result<SliceTally, EngineError> {
        let is_this = |armed: &Armed| armed.pool == pool && armed.plan == *plan;
        if !self.armed.as_ref().is_some_and(is_this) {
            self.arm(pool, plan)?;
        }
        let Armed { order, starts, .. } = self.armed.take().expect("it was armed just now");
        let length_ns = match plan.end {
            SliceEnd::AfterNs(length_ns) => Some(length_ns),
            SliceEnd::AfterRequests(_) => None,
        };
        let within = length_ns.map(Duration::from_nanos);
        let allowance = OrderAllowance::new(&self.stopper, within, self.timeout(pool.number()));
        let request = |line: &AgentLine, notify: &mut dyn FnMut(Working)| match line
            .collect(order, &allowance, notify)?
        {
            TaskResult::Tally { tally, late_ns } => Ok((tally, late_ns)),
            _ => Err(line.nonsense()),
        };
        let results = self.each(request, &mut |task_progresses, intervals| {
            let awaited = awaited_responses(task_progresses).map(SliceEvent::Awaits);
            awaited.into_iter().for_each(&mut *on_event);
            if !intervals.is_empty() {
                on_event(SliceEvent::Intervals(intervals));
            }
        });
        let mut sum: Option<SliceTally> = None;
        let mut first_error = None;
        let load = self.loads.get(&pool.number()).copied();
        for (slot, result) in results {
            match result {
                Ok((mut tally, late_ns)) => {
                    self.members[slot].note_slice(&SliceOfMember {
                        tally: &tally,
                        late_ns,
                        length_ns,
                        is_open: load.is_some_and(|load| load.is_open),
                    });
                    if let Some(timeline) = &mut tally.tally.timeline {
                        // In our own time, as all that it is laid beside.
                        timeline.start_ns = starts.0;
                    }
                    match &mut sum {
                        None => sum = Some(*tally),
                        Some(sum) => sum.merge(&tally),
                    }
                }
                Err(error) if self.ends_load(slot, &error) => {
                    first_error.get_or_insert(error);
                }
                Err(_) => {}
            }
        }
        // The results of the others are kept when an agent was lost: the record states the loss.
        match (sum, first_error) {
            (Some(sum), None | Some(FleetError::Lost { .. })) => Ok(sum),
            (_, Some(error)) => Err(elsewhere(error)),
            (None, None) => Err(EngineError::Zero { what: "agents" }),
        }
    }

    fn close(&mut self, pool: PoolId) {
        if self.broken.is_some() {
            return;
        }
        let order = self.next_command();
        let pool = pool.number();
        let allowance =
            OrderAllowance::new(&self.stopper, Some(Duration::ZERO), self.timeout(pool));
        let results = self.each(
            |line, notify| {
                line.deliver(order, AgentTask::Close { pool })?;
                line.collect(order, &allowance, notify)
            },
            &mut |_, _| {},
        );
        // An agent that is missing here is missing in the next step too, which reports it.
        let _ = self.all(results);
    }

    /// Where a message cannot carry it, agents keep nothing.
    fn keep(&mut self, record: &Measured) -> Result<(), EngineError> {
        self.check()?;
        let length = bytes(record).len();
        if length + ORDER_BYTES > self.bus.bus.payload_max() {
            (self.notify)(FleetEvent::NotSaved { bytes: length });
            return Ok(());
        }
        let order = self.next_command();
        let allowance = OrderAllowance::new(&self.stopper, Some(Duration::ZERO), Duration::ZERO);
        let results = self.each(
            |line, notify| {
                let record = Box::new(record.clone());
                line.deliver(order, AgentTask::Keep { record })?;
                line.collect(order, &allowance, notify)
            },
            &mut |_, _| {},
        );
        self.all(results).map(|_| ())
    }

    fn missing(&self) -> Vec<u32> {
        let lost = self.members.iter().enumerate();
        lost.filter(|(_, member)| member.lost.is_some())
            .map(|(slot, _)| u32::try_from(slot + 1).unwrap_or(u32::MAX))
            .collect()
    }

    fn fleet(&self) -> Option<FleetRecord> {
        let agents = self.members.iter().enumerate();
        let agents = agents.map(|(slot, member)| member.record(slot));
        Some(FleetRecord {
            on_loss: self.on_loss,
            partial: self.members.iter().any(|member| member.lost.is_some()),
            collected: false,
            bus: self.bus.bus.kind().to_owned(),
            bus_version: self.bus.bus.version(),
            agents: agents.collect(),
        })
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.bus.publish_control(Control::End);
        self.bus.bus.flush();
    }
}

/// The name of an agent in messages.
fn called(member: &Member, slot: usize, count: usize) -> String {
    let name = &member.introduction.name;
    format!("agent {name} ({} of {count})", slot + 1)
}

/// How long one of so many agents pauses between two connections that it opens.
fn opening_gap(plan: &LoadPlan, agents: u32) -> Duration {
    let Some(per_s) = plan.opening_pace() else {
        return Duration::ZERO;
    };
    let seconds = 1_000.0 / per_s.amount().thousandths() as f64;
    Duration::try_from_secs_f64(seconds * f64::from(agents)).unwrap_or(Duration::MAX)
}

fn elsewhere(error: FleetError) -> EngineError {
    EngineError::ForeignCpu(Box::new(error))
}
