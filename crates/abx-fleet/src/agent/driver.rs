//! The thread that drives an agent's engine, while the agent itself listens.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use abx_engine::schedule::PerSecond;
use abx_engine::{
    AwaitedConnections, AwaitedResponses, Engine, EngineError, EnginePlan, OpenReport, PoolId,
    ReportedInterval, SliceEvent, Stopper,
};
use abx_evidence::{Measured, SliceTally};
use abx_sys::Nanos;

use super::opening_pace::OpeningPace;
use crate::finals::{Author, Counted, Final, save};
use crate::message::{AgentTask, TaskProgress, TaskResult, Working, bytes};

/// The most intervals that one message reports.
const REPORTED_AT_ONCE: usize = 50;
/// The most intervals kept for a controller that has not fetched them for a while.
const INTERVALS_KEPT: usize = 1_000;

/// An engine with a thread that drives it.
pub struct AgentDriver {
    tasks: Option<Sender<AgentTask>>,
    desk: Arc<Desk>,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
    /// The number of the last accepted order.
    number: u64,
}

/// Results and progress that the thread reports.
#[derive(Default)]
struct Desk {
    state: Mutex<DeskState>,
    changed: Condvar,
    /// The files of saved results, or why they were not saved, since the last call of `take_saved`.
    saved: Mutex<Vec<Result<PathBuf, String>>>,
}

#[derive(Default)]
struct DeskState {
    progress: TaskProgress,
    /// Intervals that the controller has not fetched yet, and the number of earlier ones.
    intervals: VecDeque<ReportedInterval>,
    reported_before: u64,
    /// The text of the last result; `None` while the order is executed.
    result: Option<Arc<str>>,
}

/// The state of an order.
pub enum OrderState {
    Working(Working),
    /// The text of the [`TaskResult`].
    Done(Arc<str>),
}

/// The state of the thread.
struct Work {
    engine: Engine,
    pools: HashMap<u64, WorkPool>,
    stopper: Stopper,
    /// The folder for results, and the agent that they belong to.
    finals: Option<(PathBuf, Author)>,
    /// The record of the run whose results are saved.
    record: Option<Box<Measured>>,
    /// The counts to save once the controller can fetch the result.
    to_save: Option<Final>,
    desk: Arc<Desk>,
    /// How far the agent's clock is ahead of this machine's.
    skew_ns: i64,
    openings: OpeningPace,
}

struct WorkPool {
    id: PoolId,
    sha256: String,
}

impl AgentDriver {
    /// Starts an engine and its driver.
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub fn start(
        plan: &EnginePlan,
        skew_ns: i64,
        rate_max: Option<PerSecond>,
        finals: Option<(PathBuf, Author)>,
    ) -> Result<AgentDriver, EngineError> {
        let engine = Engine::start(plan)?;
        let stopper = engine.stopper();
        let (tasks, inbox) = channel();
        let desk: Arc<Desk> = Arc::default();
        let work = Work {
            engine,
            pools: HashMap::new(),
            stopper: stopper.clone(),
            finals,
            record: None,
            to_save: None,
            desk: Arc::clone(&desk),
            skew_ns,
            openings: OpeningPace::new(rate_max),
        };
        let thread = thread::Builder::new()
            .name("abx-driver".to_owned())
            .spawn(move || work.run(&inbox))
            .map_err(EngineError::no_thread)?;
        Ok(AgentDriver {
            tasks: Some(tasks),
            desk,
            stopper,
            thread: Some(thread),
            number: 0,
        })
    }

    /// The number of the last accepted order.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether no order is executed.
    pub fn is_free(&self) -> bool {
        self.number == 0 || self.desk.state().result.is_some()
    }

    /// Begins an order. The driver must be free.
    pub fn begin(&mut self, number: u64, task: AgentTask) {
        self.number = number;
        *self.desk.state() = DeskState::default();
        if let Some(tasks) = &self.tasks {
            // A driver that panicked has reported it; its order is never done.
            let _ = tasks.send(task);
        }
    }

    /// The state of the last order, after a short wait for its result. `reported` is the number of
    /// intervals that the controller has fetched.
    pub fn state(&self, within: Duration, reported: u64) -> OrderState {
        let state = self.desk.state();
        let is_working = |state: &mut DeskState| state.result.is_none();
        let waited = self
            .desk
            .changed
            .wait_timeout_while(state, within, is_working);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if let Some(result) = &state.result {
            return OrderState::Done(Arc::clone(result));
        }
        while state.reported_before < reported && state.intervals.pop_front().is_some() {
            state.reported_before += 1;
        }
        OrderState::Working(Working {
            progress: state.progress,
            first: state.reported_before,
            intervals: state
                .intervals
                .iter()
                .take(REPORTED_AT_ONCE)
                .cloned()
                .collect(),
        })
    }

    /// Ends the running slice, and every later one.
    pub fn stop(&self) {
        self.stopper.stop();
    }

    /// Ends the running slice, and waits until its result is saved. Nothing runs afterwards.
    pub fn finish(&mut self) {
        self.stopper.stop();
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was reported when it happened.
            let _ = thread.join();
        }
    }

    /// The files of saved results, or why they were not saved, since the last call.
    pub fn take_saved(&self) -> Vec<Result<PathBuf, String>> {
        std::mem::take(&mut *self.desk.saved())
    }
}

impl Drop for AgentDriver {
    fn drop(&mut self) {
        self.finish();
    }
}

impl DeskState {
    /// Keeps intervals until they are fetched; a controller that fetches too late misses the
    /// oldest.
    fn keep_intervals(&mut self, intervals: Vec<ReportedInterval>) {
        self.intervals.extend(intervals);
        while self.intervals.len() > INTERVALS_KEPT {
            self.intervals.pop_front();
            self.reported_before += 1;
        }
    }
}

impl Desk {
    fn state(&self) -> MutexGuard<'_, DeskState> {
        // Each change is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn saved(&self) -> MutexGuard<'_, Vec<Result<PathBuf, String>>> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Work {
    fn run(mut self, inbox: &Receiver<AgentTask>) {
        // With the default timer slack, slices would begin about 50 µs late.
        let _ = abx_sys::clock::sharpen_timers();
        while let Ok(task) = inbox.recv() {
            let result = match self.perform(task) {
                Ok(result) => result,
                Err(error) => TaskResult::Failed {
                    why: error.to_string(),
                },
            };
            let text = String::from_utf8(bytes(&result)).expect("JSON is text");
            self.desk.state().result = Some(text.into());
            self.desk.changed.notify_all();
            // Afterwards, so that no controller waits for a disk.
            self.save();
        }
    }

    fn save(&mut self) {
        if let (Some(counted), Some((folder, _))) = (self.to_save.take(), &self.finals) {
            let saved =
                save(folder, &counted).map_err(|error| format!("{}: {error}", folder.display()));
            self.desk.saved().push(saved);
        }
    }

    /// Queues the result of a slice for saving, if the controller requested it and the agent has a
    /// folder.
    fn keep(&mut self, pool: u64, tally: &SliceTally, late_ns: u64) {
        let (Some(record), Some((_, author)), Some(pool)) =
            (&self.record, &self.finals, self.pools.get(&pool))
        else {
            return;
        };
        self.to_save = Some(Final::new(
            author.clone(),
            Counted {
                plan_sha256: pool.sha256.clone(),
                late_ns,
                is_cut: self.stopper.is_stopped(),
                record: record.clone(),
                tally: Box::new(tally.clone()),
            },
        ));
    }

    fn perform(&mut self, task: AgentTask) -> Result<TaskResult, EngineError> {
        let desk = Arc::clone(&self.desk);
        let set_progress = |progress| desk.state().progress = progress;
        let mut on_opening = |awaited| set_progress(opening(&awaited));
        match task {
            AgentTask::Open {
                pool,
                mut plan,
                part,
                sha256,
            } => {
                self.openings.limit(&mut plan, part);
                self.openings.wait(&self.stopper);
                let began = Nanos::now();
                let (id, report) = self.engine.open_part(&plan, part, &mut on_opening)?;
                self.openings.note(began, &report);
                self.pools.insert(pool, WorkPool { id, sha256 });
                Ok(opened(report))
            }
            AgentTask::Keep { record } => {
                self.record = Some(record);
                Ok(TaskResult::Done)
            }
            AgentTask::Refresh { pool } => {
                let Some(id) = self.id(pool) else {
                    return Ok(unknown(pool));
                };
                self.openings.wait(&self.stopper);
                let began = Nanos::now();
                let report = self.engine.refresh_watched(id, &mut on_opening)?;
                self.openings.note(began, &report);
                Ok(opened(report))
            }
            AgentTask::Slice {
                pool,
                plan,
                starts_ns,
            } => {
                let Some(id) = self.id(pool) else {
                    return Ok(unknown(pool));
                };
                let starts = starts_ns.saturating_sub(self.skew_ns);
                let starts = Nanos(u64::try_from(starts).unwrap_or(0));
                thread::sleep(starts.since(Nanos::now()).into());
                let late_ns = Nanos::now().since(starts).0;
                let mut on_event = |event| match event {
                    SliceEvent::Awaits(awaited) => set_progress(responses(&awaited)),
                    SliceEvent::Intervals(intervals) => desk.state().keep_intervals(intervals),
                };
                let tally = self.engine.slice_watched(id, &plan, &mut on_event)?;
                self.keep(pool, &tally, late_ns);
                Ok(TaskResult::Tally {
                    tally: Box::new(tally),
                    late_ns,
                })
            }
            AgentTask::Close { pool } => {
                if let Some(pool) = self.pools.remove(&pool) {
                    self.engine.close(pool.id);
                }
                Ok(TaskResult::Done)
            }
        }
    }

    fn id(&self, pool: u64) -> Option<PoolId> {
        self.pools.get(&pool).map(|pool| pool.id)
    }
}

fn unknown(pool: u64) -> TaskResult {
    TaskResult::Failed {
        why: format!("it has no pool {pool}"),
    }
}

fn opened(report: OpenReport) -> TaskResult {
    TaskResult::Opened {
        standing: report.standing,
        opened: report.opened,
        failures: report.failures,
    }
}

fn opening(awaited: &AwaitedConnections) -> TaskProgress {
    TaskProgress::Opening {
        open: awaited.open,
        asked: awaited.asked,
        silent_ns: Nanos::from(awaited.silent).0,
        at_most_ns: Nanos::from(awaited.at_most).0,
    }
}

fn responses(awaited: &AwaitedResponses) -> TaskProgress {
    TaskProgress::Responses {
        connections: awaited.connections,
        waited_ns: awaited.waited_ns,
        at_most_ns: awaited.at_most_ns,
    }
}
