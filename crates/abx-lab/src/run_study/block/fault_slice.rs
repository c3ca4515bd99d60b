//! One fault of one subject: the subject is started for it alone, loaded at a steady rate, struck
//! meanwhile, and stopped. No other measurement uses a subject that a fault has damaged.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

use abx_engine::{EngineError, LoadPlan, PoolId, SliceEnd, SlicePlan, Stopper};
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

/// The buckets of a timeline have this length, or a longer one if there would be too many.
const BUCKET_NS: u64 = 10_000_000;
const BUCKETS_MAX: u64 = 1_000;
/// The slice discards its start: the time before the fault, divided by this.
const DISCARDED_PART: u32 = 2;

/// A fault, and the subject to strike.
pub struct FaultCommand<'a> {
    pub fault: &'a Fault,
    pub subject: &'a Subject,
    /// How long the subject warms up before.
    pub warm_up_ns: u64,
}

/// The effect of a fault.
pub enum FaultEffect {
    /// The fault struck, or the process had gone by itself just before.
    Struck(Box<FaultSlice>),
    /// The fault cannot strike this subject, and this is why.
    Impossible(String),
    /// The subject did not start or gave a wrong response.
    Failed(String),
}

impl StudyContext<'_> {
    /// Strikes a subject with a fault.
    ///
    /// # Errors
    /// [`Abort`]; every process that was started is stopped again.
    pub fn fault_slice(
        &mut self,
        command: &FaultCommand,
        random: &mut ChaCha8Rng,
    ) -> Result<FaultEffect, Abort> {
        let FaultCommand { fault, subject, .. } = command;
        let Source::Command(launch) = &subject.source else {
            return Ok(FaultEffect::Impossible(
                "is already running, and abx stops only what it has started".to_owned(),
            ));
        };
        if fault.strike == Strike::Reload && launch.reload.is_none() {
            return Ok(FaultEffect::Impossible(
                "has no `reload`, the signal that makes it reload its configuration".to_owned(),
            ));
        }
        let mut subject_random = ChaCha8Rng::seed_from_u64(random.random());
        let process = self.start_alone(subject, &mut subject_random)?;
        let missing = Victims::of(fault.strike).missing_in(&process, launch);
        if let Some(why) = missing {
            let _ = process.stop();
            return Ok(FaultEffect::Impossible(why));
        }
        let plan = self.plan_alone(command, &process, random.random())?;
        let (slice, process) = self.strike(command, launch, process, &plan, subject_random)?;
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
        random: &mut ChaCha8Rng,
    ) -> Result<ServerProcess, Abort> {
        let mut draw = |below: u32| random.random_range(0..below.max(1));
        let mut start = StartContext {
            outlives_main: true,
            ..self.start_context(&mut draw)
        };
        let process = ServerProcess::start(&subject.name, &subject.source, &mut start);
        let mut process = process.map_err(|error| Abort::subject(&subject.name, error))?;
        self.wait_ready(subject, &mut process)?;
        Ok(process)
    }

    /// The plan of the load for the subject, with a timeline by the times when requests are due.
    fn plan_alone(
        &self,
        command: &FaultCommand,
        process: &ServerProcess,
        seed: u64,
    ) -> Result<LoadPlan, Abort> {
        let fault = command.fault;
        let load = self.loads.iter().find(|load| load.name == fault.load);
        let load = load.expect("a fault is under a load of its study");
        let subject = (
            std::slice::from_ref(command.subject),
            std::slice::from_ref(process),
        );
        let stopper = self.generator.stopper();
        let mut planned = plan_load(self.study, load, subject, &stopper, self.on_pending, seed)?;
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

    /// Loads the subject and strikes it meanwhile. There is no slice if the study was stopped.
    fn strike(
        &mut self,
        command: &FaultCommand,
        launch: &Launch,
        mut process: ServerProcess,
        plan: &LoadPlan,
        random: ChaCha8Rng,
    ) -> Result<(Option<FaultSlice>, ServerProcess), Abort> {
        let fault = command.fault;
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
        let name = command.subject.name.clone();
        // The process itself belongs to the thread that strikes.
        let mut running = RunningSubjects::new(&mut *self.generator, meter, Vec::new(), vec![name]);
        running.deadline = self.deadline;
        running.on_pending = self.on_pending;
        let within_ns = Nanos::from(fault.within).0;
        running.check_deadline(command.warm_up_ns + within_ns)?;
        let pool = running.open(plan)?.pool;
        let slice = |ns, discard_ns| SlicePlan {
            end: SliceEnd::AfterNs(ns),
            discard_ns,
            course: None,
        };
        warm_up(&mut running, pool, &slice(command.warm_up_ns, 0))
            .inspect_err(|_| running.close(pool))?;
        let plan = slice(within_ns, Nanos::from(fault.at / DISCARDED_PART).0);
        let (over, until_over) = channel();
        let striker = Striker {
            fault,
            launch,
            process: &mut process,
            restarts,
            random,
        };
        let joined: std::io::Result<_> = thread::scope(|scope| {
            let strike = move || striker.strike_at(&until_over);
            let striker = thread::Builder::new().spawn_scoped(scope, strike)?;
            let measured = running.measure(ONLY, pool, &plan);
            drop::<std::sync::mpsc::Sender<()>>(over);
            Ok((measured, striker.join()))
        });
        running.close(pool);
        let (measured, blow) = joined.map_err(EngineError::no_thread)?;
        let blow = blow.expect("its panic was reported when it happened");
        let blow = blow.map_err(|error| Abort::subject(&command.subject.name, error))?;
        let timeline = measured?.timeline;
        running.check_load()?;
        let after = victims.count(&process, launch);
        let slice = timeline.map(|timeline| slice_of(command, timeline, blow, after));
        Ok((slice, process))
    }
}

/// The place of the only subject that runs.
const ONLY: usize = 0;

/// Loads the subject before its fault, and opens connections again that it closed.
fn warm_up(running: &mut RunningSubjects, pool: PoolId, slice: &SlicePlan) -> Result<(), Abort> {
    if !matches!(slice.end, SliceEnd::AfterNs(0)) {
        running.measure(ONLY, pool, slice)?;
    }
    running.generator.refresh(pool, &mut |_| {})?;
    Ok(())
}

fn slice_of(
    command: &FaultCommand,
    timeline: TimelineTally,
    blow: Blow,
    after: usize,
) -> FaultSlice {
    let start = Nanos(timeline.start_ns);
    FaultSlice {
        fault: command.fault.name.clone(),
        subject: command.subject.name.clone(),
        struck_ns: blow.at.map(|at| at.since(start).0),
        struck: blow.struck,
        processes_before: blow.before,
        processes_after: after,
        timeline: timeline.finish(),
        end: String::new(),
    }
}

/// The processes that a fault strikes.
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

    /// The victims of a subject that run now.
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

    /// Why a subject has no victims; `None` if it has some.
    fn missing_in(self, process: &ServerProcess, launch: &Launch) -> Option<String> {
        if self.count(process, launch) > 0 {
            return None;
        }
        Some(match (self, &launch.worker) {
            (Victims::Workers, Some(name)) => format!("has no process named `{name}`"),
            (Victims::Workers, None) => "has no worker processes".to_owned(),
            (Victims::Supervisor, _) => "has no supervisor process".to_owned(),
            (Victims::Main | Victims::All, _) => "has no process that can be seen".to_owned(),
        })
    }
}

/// What restarts on another thread need.
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

/// Strikes a subject while another thread measures.
struct Striker<'a> {
    fault: &'a Fault,
    launch: &'a Launch,
    process: &'a mut ServerProcess,
    restarts: Restarts<'a>,
    random: ChaCha8Rng,
}

/// The time of a fault, and the processes that it struck.
#[derive(Default)]
struct Blow {
    /// When; `None` if there was no process.
    at: Option<Nanos>,
    struck: Vec<StruckProcess>,
    /// How many victims ran until then. The count is taken this late because a server may still be
    /// starting workers at its first correct response.
    before: usize,
}

impl Striker<'_> {
    /// Waits for the moment of the fault, unless the slice ends before.
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
                let worker = self.random.random_range(0..processes.len().max(1));
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
        let random = &mut self.random;
        let mut draw = |below: u32| random.random_range(0..below.max(1));
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
            draw: &mut draw,
            on_pending: &unwatched,
        };
        self.process.restart(self.launch, &mut start)?;
        Ok(Blow {
            at: Some(at),
            ..Blow::default()
        })
    }
}

/// Sends a signal to processes, and notes which it reached.
fn send(signal: Signal, to: impl IntoIterator<Item = Process>) -> Blow {
    let at = Nanos::now();
    let struck = to.into_iter().filter_map(|process| {
        let name = process.name().unwrap_or_default();
        let is_reached = process.signal(signal).unwrap_or(false);
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
