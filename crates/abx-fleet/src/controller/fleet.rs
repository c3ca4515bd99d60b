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

/// Agents that generate one load together. Dropping the fleet ends their run.
pub struct Fleet {
    bus: RunBus,
    members: Vec<Member>,
    liveness: Liveness,
    stopper: Stopper,
    /// The number of the last order.
    orders: u64,
    pools: u64,
    /// The loads of open pools.
    loads: HashMap<u64, PoolPlan>,
    /// The action when an agent is lost.
    on_loss: OnLoss,
    notify: FleetListener,
    /// The slice for which agents are ready.
    armed: Option<Armed>,
    /// The time between the order of a slice and its begin.
    lead: Duration,
    /// Why the fleet no longer generates load.
    broken: Option<String>,
}

/// What later orders need to know about the load of a pool.
#[derive(Debug, Clone, Copy)]
struct PoolPlan {
    /// Whether requests follow a schedule.
    is_open: bool,
    timeout: Duration,
    connections: u64,
    /// The time between two connections that an agent opens at a rate.
    opening_gap: Duration,
}

/// A slice for which agents are ready.
struct Armed {
    order: u64,
    pool: PoolId,
    plan: SlicePlan,
    starts: Nanos,
}

/// The results of agents, with their slots.
type Results<T> = Vec<(usize, Result<T, FleetError>)>;

/// A report of an agent's thread.
enum Report<T> {
    Working(usize, Working),
    Ended(usize, Result<T, FleetError>),
}

/// The largest size of an order without its payload, in bytes.
const ORDER_BYTES: usize = 4 << 10;
/// The shortest and the longest time between the order of a slice and its begin.
const LEAD: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(2)];
/// The number of slowest round trips that an order may take.
const ROUND_TRIPS: u32 = 10;
/// The time before the begin of a slice at which everything else is done.
const READY_BEFORE: Nanos = Nanos(500_000);
/// The age at which clocks are read again: good clocks drift by 100 µs in this time.
const CLOCKS_KEEP: Duration = Duration::from_secs(5);

impl Fleet {
    /// Waits for the requested number of agents, and assigns a slot to each.
    ///
    /// # Errors
    /// Mainly [`FleetError::TooFew`] and [`FleetError::Interrupted`].
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
        let liveness = Liveness::begin(&bus.bus, run, agents.collect(), plan.timing, notify)?;
        let bounds = members.iter().map(|member| member.clock.bound_ns);
        let slowest = Duration::from_nanos(bounds.max().unwrap_or_default() * 2);
        let [shortest, longest] = LEAD;
        Ok(Fleet {
            bus,
            members,
            liveness,
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

    /// Calls `request` for every present agent, each on its own thread, and reports their progress.
    /// Returns the results, ordered by slot.
    fn call_each<T: Send>(
        &self,
        request: impl Fn(&AgentLine, &mut dyn FnMut(Working)) -> Result<T, FleetError> + Sync,
        on_progress: &mut dyn FnMut(&[TaskProgress], Vec<ReportedInterval>),
    ) -> Results<T> {
        let mut progress = vec![TaskProgress::Nothing; self.members.len()];
        let mut ended: Results<T> = Vec::with_capacity(self.members.len());
        let (reports, received) = channel();
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
            for report in received {
                match report {
                    Report::Working(slot, working) => {
                        progress[slot] = working.progress;
                        on_progress(&progress, working.intervals);
                    }
                    Report::Ended(slot, result) => {
                        let is_lost = matches!(&result, Err(FleetError::Lost { .. }));
                        is_over |= is_lost && self.on_loss == OnLoss::Abort;
                        // No agent waits for this one any more.
                        progress[slot] = TaskProgress::Nothing;
                        ended.push((slot, result));
                    }
                }
                if is_over {
                    // The load is no longer the requested one, so no agent continues.
                    self.bus.publish_control(Control::Stop);
                }
            }
        });
        ended.sort_by_key(|(slot, _)| *slot);
        ended
    }

    /// The slots of agents that are not lost.
    fn present(&self) -> impl Iterator<Item = usize> {
        let members = self.members.iter().enumerate();
        members
            .filter(|(_, member)| member.lost.is_none())
            .map(|(slot, _)| slot)
    }

    fn line(&self, slot: usize) -> AgentLine<'_> {
        let member = &self.members[slot];
        AgentLine {
            bus: &self.bus,
            liveness: &self.liveness,
            slot,
            id: &member.introduction.id,
            agent: called(member, slot, self.members.len()),
        }
    }

    /// The successful results, or the first error that ends the load.
    fn successes<T>(&mut self, results: Results<T>) -> Result<Vec<(usize, T)>, EngineError> {
        let mut successes = Vec::with_capacity(results.len());
        let mut first_error = None;
        for (slot, result) in results {
            match result {
                Ok(value) => successes.push((slot, value)),
                Err(error) if self.ends_load(slot, &error) => {
                    first_error.get_or_insert(error);
                }
                Err(_) => {}
            }
        }
        match first_error {
            Some(error) => Err(elsewhere(error)),
            None => Ok(successes),
        }
    }

    /// Records an error, and returns whether it ends the load.
    fn ends_load(&mut self, slot: usize, error: &FleetError) -> bool {
        if let FleetError::Lost { how, .. } = error {
            let loss = self.liveness.lost(slot);
            let loss = loss.unwrap_or_else(|| Loss::new(how.clone(), Duration::ZERO));
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

    /// The request timeout of a pool.
    fn timeout(&self, pool: u64) -> Duration {
        self.loads
            .get(&pool)
            .map_or(Duration::ZERO, |load| load.timeout)
    }

    fn next_command(&mut self) -> u64 {
        self.orders += 1;
        self.orders
    }

    /// Has all agents open or reopen connections.
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
        let results = self.call_each(request, &mut |progress, _| {
            if let Some(awaited) = awaited_connections(progress) {
                on_wait(awaited);
            }
        });
        let mut sum = OpenReport::default();
        for (_, report) in self.successes(results)? {
            sum.standing += report.standing;
            sum.opened += report.opened;
            sum.failures.merge(&report.failures);
        }
        Ok(sum)
    }

    /// Reads old clocks again, between slices, while nothing is measured.
    fn read_clocks(&mut self) -> Result<(), EngineError> {
        let is_old =
            |member: &Member| member.lost.is_none() && member.clock.at.elapsed() > CLOCKS_KEEP;
        if !self.members.iter().any(is_old) {
            return Ok(());
        }
        let results = self.call_each(|line, _| line.clock_offset(), &mut |_, _| {});
        let clocks = self.successes(results)?;
        for (slot, clock) in clocks {
            self.members[slot].set_clock(clock);
        }
        Ok(())
    }

    /// Checks that every agent reaches the same machine at the address.
    fn check_address(&self, plan: &LoadPlan) -> Result<(), FleetError> {
        // Agents refuse Unix sockets on any machine.
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

    /// Sends every agent the begin of the slice by its own clock. No agent is ever ordered to begin
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
        let results = self.call_each(request, &mut |_, _| {});
        let armed = self.successes(results);
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
        let is_this_slice = |armed: &Armed| armed.pool == pool && armed.plan == *plan;
        if !self.armed.as_ref().is_some_and(is_this_slice) {
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
        let results = self.call_each(request, &mut |progress, intervals| {
            if let Some(awaited) = awaited_responses(progress) {
                on_event(SliceEvent::Awaits(awaited));
            }
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
                        // In this machine's time, like everything it is compared with.
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
        // If an agent was lost, the results of the others are kept: the record states the loss.
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
        self.loads.remove(&pool);
        let results = self.call_each(
            |line, notify| {
                line.deliver(order, AgentTask::Close { pool })?;
                line.collect(order, &allowance, notify)
            },
            &mut |_, _| {},
        );
        // An agent that is missing here is also missing in the next step, which reports it.
        let _ = self.successes(results);
    }

    /// If the record does not fit into a message, agents keep nothing.
    fn keep(&mut self, record: &Measured) -> Result<(), EngineError> {
        self.check()?;
        let length = bytes(record).len();
        if length + ORDER_BYTES > self.bus.bus.payload_max() {
            (self.notify)(FleetEvent::NotSaved { bytes: length });
            return Ok(());
        }
        let order = self.next_command();
        let allowance = OrderAllowance::new(&self.stopper, Some(Duration::ZERO), Duration::ZERO);
        let results = self.call_each(
            |line, notify| {
                let record = Box::new(record.clone());
                line.deliver(order, AgentTask::Keep { record })?;
                line.collect(order, &allowance, notify)
            },
            &mut |_, _| {},
        );
        self.successes(results).map(|_| ())
    }

    fn missing(&self) -> Vec<u32> {
        let members = self.members.iter().enumerate();
        members
            .filter(|(_, member)| member.lost.is_some())
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

/// How long each of these agents pauses between two connections that it opens.
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
