//! The thread that drives an agent's engine, while the agent itself listens.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use abx_engine::{
    AwaitedConnections, AwaitedResponses, Engine, EngineError, EnginePlan, OpenReport, PoolId,
    SliceNews, Stopper,
};
use abx_sys::Nanos;

use crate::message::{AgentTask, TaskProgress, TaskResult, bytes};

/// An engine with a thread that drives it.
pub struct Driver {
    tasks: Option<Sender<AgentTask>>,
    desk: Arc<Desk>,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
    /// The number of the last order that was taken.
    number: u64,
}

/// What the thread tells.
#[derive(Default)]
struct Desk {
    state: Mutex<DeskState>,
    changed: Condvar,
}

#[derive(Default)]
struct DeskState {
    progress: TaskProgress,
    /// The text of the last result; `None` while it is worked at.
    result: Option<Arc<str>>,
}

/// What became of an order by now.
pub enum OrderState {
    /// It is worked at.
    Working(TaskProgress),
    /// The text of its [`TaskResult`].
    Done(Arc<str>),
}

/// What the thread has.
struct Work {
    engine: Engine,
    pools: HashMap<u64, PoolId>,
    desk: Arc<Desk>,
    /// What the agent's clock says beyond this machine's.
    skew_ns: i64,
}

impl Driver {
    /// Starts an engine and its driver.
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub fn start(plan: &EnginePlan, skew_ns: i64) -> Result<Driver, EngineError> {
        let engine = Engine::start(plan)?;
        let stopper = engine.stopper();
        let (tasks, inbox) = channel();
        let desk: Arc<Desk> = Arc::default();
        let work = Work {
            engine,
            pools: HashMap::new(),
            desk: Arc::clone(&desk),
            skew_ns,
        };
        let name = "abx-driver".to_owned();
        let thread = thread::Builder::new().name(name);
        let thread =
            thread
                .spawn(move || work.go_on(&inbox))
                .map_err(|source| EngineError::System {
                    what: "a thread",
                    source,
                })?;
        Ok(Driver {
            tasks: Some(tasks),
            desk,
            stopper,
            thread: Some(thread),
            number: 0,
        })
    }

    /// The number of the last order that was taken.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether it has nothing to do.
    pub fn is_free(&self) -> bool {
        self.number == 0 || self.desk.state().result.is_some()
    }

    /// Takes an order. It must be free.
    pub fn begin(&mut self, number: u64, task: AgentTask) {
        self.number = number;
        *self.desk.state() = DeskState::default();
        if let Some(tasks) = &self.tasks {
            // A driver that panicked has said so; its order is never done.
            let _ = tasks.send(task);
        }
    }

    /// What became of the last order; waits for it for a moment.
    pub fn state(&self, within: Duration) -> OrderState {
        let state = self.desk.state();
        let is_working = |state: &mut DeskState| state.result.is_none();
        let waited = self
            .desk
            .changed
            .wait_timeout_while(state, within, is_working);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match &state.result {
            Some(result) => OrderState::Done(Arc::clone(result)),
            None => OrderState::Working(state.progress),
        }
    }

    /// Ends what runs, and every later slice.
    pub fn stop(&self) {
        self.stopper.stop();
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.stopper.stop();
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl Desk {
    fn state(&self) -> MutexGuard<'_, DeskState> {
        // Each change is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Work {
    fn go_on(mut self, inbox: &Receiver<AgentTask>) {
        // With the usual slack slices would begin some 50 us late.
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
        }
    }

    fn perform(&mut self, task: AgentTask) -> Result<TaskResult, EngineError> {
        let desk = Arc::clone(&self.desk);
        let tell = |progress| desk.state().progress = progress;
        let mut on_opening = |awaited| tell(opening(&awaited));
        match task {
            AgentTask::Open {
                pool, plan, part, ..
            } => {
                let (id, report) = self.engine.open_part(&plan, part, &mut on_opening)?;
                self.pools.insert(pool, id);
                Ok(opened(report))
            }
            AgentTask::Refresh { pool } => {
                let Some(id) = self.pools.get(&pool).copied() else {
                    return Ok(unknown(pool));
                };
                let report = self.engine.refresh_watched(id, &mut on_opening)?;
                Ok(opened(report))
            }
            AgentTask::Slice {
                pool,
                plan,
                starts_ns,
            } => {
                let Some(id) = self.pools.get(&pool).copied() else {
                    return Ok(unknown(pool));
                };
                let starts = starts_ns.saturating_sub(self.skew_ns);
                let starts = Nanos(u64::try_from(starts).unwrap_or(0));
                thread::sleep(starts.since(Nanos::now()).into());
                let late_ns = Nanos::now().since(starts).0;
                let mut on_news = |news| {
                    if let SliceNews::Awaits(awaited) = news {
                        tell(responses(&awaited));
                    }
                };
                let tally = self.engine.slice_watched(id, &plan, &mut on_news)?;
                Ok(TaskResult::Tally {
                    tally: Box::new(tally),
                    late_ns,
                })
            }
            AgentTask::Close { pool } => {
                if let Some(id) = self.pools.remove(&pool) {
                    self.engine.close(id);
                }
                Ok(TaskResult::Done)
            }
        }
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
