//! One fault of one subject: started for it alone, loaded at a steady rate, struck in the
//! middle of that, looked at, stopped. Nothing that a fault damaged is measured by
//! anything else.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

use abx_engine::{EngineError, LoadPlan, SliceEnd, SlicePlan, Stopper};
use abx_evidence::record::{FaultSlice, StruckProcess, Whom};
use abx_evidence::{TimelinePlan, TimelineTally};
use abx_sys::Nanos;
use abx_sys::limits::DescriptorLimit;
use abx_sys::process::{Process, Signal};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::measure::meter::Meter;
use crate::measure::planned_load::plan_load;
use crate::measure::running_subjects::{Abort, RunningSubjects};
use crate::process::pending::unwatched;
use crate::process::server_process::{ServerProcess, ServerProcessError, StartContext};
use crate::run_study::context::StudyContext;
use abx_study::GeneratedFile;
use abx_study::fault::{Fault, Strike};
use abx_study::launch::Launch;
use abx_study::placeholder::FilledWord;
use abx_study::subject::{Source, Subject};

/// A timeline has buckets of this length, or longer ones where there would be more than so
/// many.
const BUCKET_NS: u64 = 10_000_000;
const BUCKETS_MAX: u64 = 1_000;
/// The discarded start of the slice: this part of the time before the fault.
const DISCARDED: u32 = 2;

/// A fault, and the subject that suffers it.
pub struct FaultCommand<'a> {
    pub fault: &'a Fault,
    pub subject: &'a Subject,
    /// For how long it warms up before.
    pub warm_up_ns: u64,
}

/// The effect of a fault.
pub enum FaultEffect {
    /// It was done, or the process had gone by itself just before.
    Struck(Box<FaultSlice>),
    /// It cannot be done to this subject, and why.
    Impossible(String),
    /// The subject did not start or gave a wrong response, and how.
    Failed(String),
}

impl StudyContext<'_> {
    /// Does a fault to a subject.
    ///
    /// # Errors
    /// [`Abort`]; every process that was started is stopped again.
    pub fn fault_slice(
        &mut self,
        order: &FaultCommand,
        random: &mut ChaCha8Rng,
    ) -> Result<FaultEffect, Abort> {
        let FaultCommand { fault, subject, .. } = order;
        let Source::Command(launch) = &subject.source else {
            return Ok(FaultEffect::Impossible(
                "runs already, and abx ends nothing that it has not started".to_owned(),
            ));
        };
        if fault.strike == Strike::Reload && launch.reload.is_none() {
            return Ok(FaultEffect::Impossible(
                "has no `reload`, the signal that makes it reload its configuration".to_owned(),
            ));
        }
        let mut draw = ChaCha8Rng::seed_from_u64(random.random());
        let process = self.start_alone(subject, &mut draw)?;
        let missing = Victims::of(fault.strike).missing_in(&process, launch);
        if let Some(why) = missing {
            let _ = process.stop();
            return Ok(FaultEffect::Impossible(why));
        }
        let plan = self.plan_alone(order, &process, random.random())?;
        let (slice, process) = self.strike(order, launch, process, &plan, draw)?;
        let end = process.stop().end;
        let is_stopped = self.generator.stopper().is_stopped();
        match (slice, is_stopped) {
            (Some(slice), false) => Ok(FaultEffect::Struck(Box::new(FaultSlice { end, ..slice }))),
            _ => Err(Abort::Interrupted),
        }
    }

    /// Starts one subject, whose processes may outlive its main one, and waits until it is
    /// ready.
    fn start_alone(
        &self,
        subject: &Subject,
        draw: &mut ChaCha8Rng,
    ) -> Result<ServerProcess, Abort> {
        let mut number = |below: u32| draw.random_range(0..below.max(1));
        let mut start = StartContext {
            outlives_main: true,
            ..self.start_context(&mut number)
        };
        let process = ServerProcess::start(&subject.name, &subject.source, &mut start);
        let mut process = process.map_err(|error| Abort::subject(&subject.name, error))?;
        self.wait_ready(subject, &mut process)?;
        Ok(process)
    }

    /// The load's plan for it, whose requests are separated by when they were due.
    fn plan_alone(
        &self,
        order: &FaultCommand,
        process: &ServerProcess,
        seed: u64,
    ) -> Result<LoadPlan, Abort> {
        let fault = order.fault;
        let load = self.loads.iter().find(|load| load.name == fault.load);
        let load = load.expect("a fault is under a load of its study");
        let alone = std::slice::from_ref(order.subject);
        let process = std::slice::from_ref(process);
        let stopper = self.generator.stopper();
        let only = (alone, process);
        let mut planned = plan_load(self.study, load, only, &stopper, self.on_pending, seed)?;
        let within_ns = Nanos::from(fault.within).0;
        let plan = planned.plans.pop().expect("one for the only subject");
        Ok(LoadPlan {
            timeline: Some(TimelinePlan {
                bucket_ns: within_ns.div_ceil(BUCKETS_MAX).max(BUCKET_NS),
                delayed_after_ns: Some(Nanos::from(fault.delayed_after).0),
            }),
            ..plan
        })
    }

    /// Loads it, and does the fault meanwhile. No slice when it was stopped.
    fn strike(
        &mut self,
        order: &FaultCommand,
        launch: &Launch,
        mut process: ServerProcess,
        plan: &LoadPlan,
        draw: ChaCha8Rng,
    ) -> Result<(Option<FaultSlice>, ServerProcess), Abort> {
        let fault = order.fault;
        let victims = Victims::of(fault.strike);
        let restarts = Restarts {
            program: &self.program,
            keeper_arguments: self.keeper_arguments,
            cpus: &self.split.subjects,
            descriptors: self.descriptors,
            files: &self.study.files,
            seed: self.study.seed,
            services: self.services.words(),
            stopper: self.generator.stopper(),
        };
        let meter = Meter::new(vec![process.tree()], &self.split);
        let name = order.subject.name.clone();
        // The process itself belongs to the thread that strikes.
        let mut running = RunningSubjects::new(&mut *self.generator, meter, Vec::new(), vec![name]);
        running.deadline = self.deadline;
        running.on_pending = self.on_pending;
        let within_ns = Nanos::from(fault.within).0;
        running.check_deadline(order.warm_up_ns + within_ns)?;
        let pool = running.open(plan)?.pool;
        let slice = |ns, discard_ns| SlicePlan {
            end: SliceEnd::AfterNs(ns),
            discard_ns,
            course: None,
        };
        if order.warm_up_ns > 0 {
            running.measure(ONLY, pool, &slice(order.warm_up_ns, 0))?;
        }
        running.generator.refresh(pool, &mut |_| {})?;
        let plan = slice(within_ns, Nanos::from(fault.at / DISCARDED).0);
        let (over, until_over) = channel();
        let striker = Striker {
            fault,
            launch,
            process: &mut process,
            restarts,
            draw,
        };
        let joined: std::io::Result<_> = thread::scope(|scope| {
            let strike = move || striker.strike_at(&until_over);
            let striker = thread::Builder::new().spawn_scoped(scope, strike)?;
            let measured = running.measure(ONLY, pool, &plan);
            drop::<std::sync::mpsc::Sender<()>>(over);
            Ok((measured, striker.join()))
        });
        running.generator.close(pool);
        let (measured, blow) = joined.map_err(EngineError::no_thread)?;
        let blow = blow.expect("its panic was reported when it happened");
        let blow = blow.map_err(|error| Abort::subject(&order.subject.name, error))?;
        let timeline = measured?.timeline;
        running.check_load()?;
        let after = victims.count(&process, launch);
        let slice = timeline.map(|kept| slice_of(order, kept, blow, after));
        Ok((slice, process))
    }
}

/// The place of the only subject that runs.
const ONLY: usize = 0;

fn slice_of(order: &FaultCommand, kept: TimelineTally, blow: Blow, after: usize) -> FaultSlice {
    let start = Nanos(kept.start_ns);
    FaultSlice {
        fault: order.fault.name.clone(),
        subject: order.subject.name.clone(),
        struck_ns: blow.at.map(|at| at.since(start).0),
        struck: blow.struck,
        processes_before: blow.before,
        processes_after: after,
        timeline: kept.finish(),
        end: String::new(),
    }
}

/// The processes that a fault is about.
#[derive(Clone, Copy)]
enum Victims {
    Workers,
    Supervisor,
    Main,
    All,
}

impl Victims {
    fn of(strike: Strike) -> Victims {
        match strike {
            Strike::Signal(_, Whom::Worker) => Victims::Workers,
            Strike::Signal(_, Whom::Supervisor) => Victims::Supervisor,
            Strike::Signal(_, Whom::Tree) | Strike::Restart => Victims::All,
            Strike::Reload => Victims::Main,
        }
    }

    /// Those of a subject that run now.
    fn among(self, process: &ServerProcess, launch: &Launch) -> Vec<Process> {
        let Some(roles) = process.roles(launch.worker.as_deref()) else {
            return Vec::new();
        };
        match self {
            Victims::Workers => roles.workers,
            Victims::Supervisor => roles.supervisor.into_iter().collect(),
            Victims::Main => roles.main.into_iter().collect(),
            Victims::All => roles.all,
        }
    }

    fn count(self, process: &ServerProcess, launch: &Launch) -> usize {
        self.among(process, launch).len()
    }

    /// Why it has none of them; `None` when it has.
    fn missing_in(self, process: &ServerProcess, launch: &Launch) -> Option<String> {
        if self.count(process, launch) > 0 {
            return None;
        }
        Some(match (self, &launch.worker) {
            (Victims::Workers, Some(name)) => format!("has no process named `{name}`"),
            (Victims::Workers, None) => "has no worker processes".to_owned(),
            (Victims::Supervisor, _) => "has no process above its workers".to_owned(),
            (Victims::Main | Victims::All, _) => "has no process that can be seen".to_owned(),
        })
    }
}

/// The needs of a start, to be used on another thread.
struct Restarts<'a> {
    program: &'a Path,
    keeper_arguments: &'a [&'a str],
    cpus: &'a [usize],
    descriptors: DescriptorLimit,
    files: &'a [GeneratedFile],
    seed: u64,
    services: &'a [FilledWord],
    stopper: Stopper,
}

/// Does a fault while another thread measures.
struct Striker<'a> {
    fault: &'a Fault,
    launch: &'a Launch,
    process: &'a mut ServerProcess,
    restarts: Restarts<'a>,
    draw: ChaCha8Rng,
}

/// The time of a fault, and the processes that it struck.
#[derive(Default)]
struct Blow {
    /// When; `None` when no process was there.
    at: Option<Nanos>,
    struck: Vec<StruckProcess>,
    /// How many processes that it is about ran until then. At the first correct response a server
    /// may still be starting some of its workers.
    before: usize,
}

impl Striker<'_> {
    /// Waits for its moment, unless the slice is over before.
    fn strike_at(mut self, until_over: &Receiver<()>) -> Result<Blow, ServerProcessError> {
        match until_over.recv_timeout(self.fault.at) {
            Err(RecvTimeoutError::Timeout) => self.strike(),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Ok(Blow::default()),
        }
    }

    fn strike(&mut self) -> Result<Blow, ServerProcessError> {
        let processes = Victims::of(self.fault.strike).among(self.process, self.launch);
        let before = processes.len();
        let blow = match (self.fault.strike, self.launch.reload) {
            (Strike::Restart, _) => self.restart()?,
            (Strike::Signal(signal, Whom::Worker), _) => {
                let worker = self.draw.random_range(0..processes.len().max(1));
                send(signal, processes.get(worker).copied())
            }
            (Strike::Signal(signal, Whom::Supervisor | Whom::Tree), _) => send(signal, processes),
            (Strike::Reload, Some(signal)) => send(signal, processes),
            (Strike::Reload, None) => Blow::default(),
        };
        Ok(Blow { before, ..blow })
    }

    fn restart(&mut self) -> Result<Blow, ServerProcessError> {
        let at = Nanos::now();
        let draw = &mut self.draw;
        let mut number = |below: u32| draw.random_range(0..below.max(1));
        let Restarts {
            program,
            keeper_arguments,
            cpus,
            descriptors,
            files,
            seed,
            services,
            ref stopper,
        } = self.restarts;
        let mut start = StartContext {
            program,
            keeper_arguments,
            cpus,
            descriptors,
            files,
            seed,
            services,
            outlives_main: true,
            stopper: stopper.clone(),
            draw: &mut number,
            on_pending: &unwatched,
        };
        self.process.restart(self.launch, &mut start)?;
        Ok(Blow {
            at: Some(at),
            ..Blow::default()
        })
    }
}

/// Sends a signal to each, and notes the processes that it reached.
fn send(signal: Signal, to: impl IntoIterator<Item = Process>) -> Blow {
    let at = Nanos::now();
    let struck = to.into_iter().filter_map(|process| {
        let name = process.name().unwrap_or_default();
        let is_reached = process.signal(signal).is_ok_and(|there| there);
        is_reached.then_some(StruckProcess {
            process_id: process.pid,
            name,
        })
    });
    let struck: Vec<StruckProcess> = struck.collect();
    Blow {
        at: (!struck.is_empty()).then_some(at),
        struck,
        before: 0,
    }
}
