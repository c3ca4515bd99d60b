//! The part of a study that stays the same from block to block.

pub mod waiting;
pub mod worker_threads;

use std::path::PathBuf;

use abx_engine::{Engine, EngineError, EnginePlan, LoadGenerator};
use abx_evidence::Waiting;
use abx_evidence::record::Machine;
use abx_model::descriptors_needed;
use abx_sys::Nanos;
use abx_sys::conditions::Conditions;
use abx_sys::cpus::CpuSplit;
use abx_sys::limits::DescriptorLimit;

use crate::measure::host::profiler::Profiler;
use crate::measure::machine;
use crate::measure::running_services::RunningServices;
use crate::process::listener;
use crate::process::pending::{Pending, unwatched};
use crate::process::server_process::StartContext;
use crate::run_study::context::waiting::{CpuAssignment, Obstacle};
use crate::run_study::context::worker_threads::Room;
use abx_study::subject::{Source, Subject};
use abx_study::{Load, Pin, Study};

/// Why a study does not begin. Nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    #[error(
        "{connections} connections on {threads} thread(s) need {needed} file descriptors per \
         thread, and a thread may have {limit}: raise `ulimit -n` to at least {needed}, add \
         threads (`-t`), or use fewer connections"
    )]
    Descriptors {
        connections: u32,
        threads: usize,
        needed: u64,
        limit: u64,
    },
    #[error(
        "{subject}: the program `{program}` is missing or not executable: install it, write its \
         full path, or make it executable (chmod +x)"
    )]
    Program { subject: String, program: String },
    #[error("cannot {what}: {source}")]
    System {
        what: &'static str,
        source: std::io::Error,
    },
    #[error(
        "`--wait awake` is not possible here: {0}; leave it out, or give each side its own CPUs"
    )]
    Awake(#[from] Obstacle),
    #[error(
        "`--why` samples the servers, and this machine forbids it: {0}; run abx as root, or change \
         the settings that `abx doctor` names"
    )]
    Sampling(std::io::Error),
    #[error("`--why` samples only servers on this machine, and none runs here: leave it out")]
    NothingToSample,
    #[error("{0}")]
    Engine(#[from] EngineError),
}

/// The part of a study that stays the same from block to block.
pub struct StudyContext<'a> {
    pub study: &'a Study,
    pub(in crate::run_study) program: PathBuf,
    pub(in crate::run_study) keeper_arguments: &'a [&'a str],
    /// The loads, as far as they are known.
    pub loads: Vec<Load>,
    pub generator: Box<dyn LoadGenerator>,
    /// How its workers wait for responses.
    pub waiting: Waiting,
    pub services: RunningServices,
    pub split: CpuSplit,
    /// The CPUs that abx may use.
    pub cpus: Vec<usize>,
    /// The limit of file descriptors for abx and for each subject.
    pub descriptors: DescriptorLimit,
    /// No slice continues after this moment; `None` if time does not matter.
    pub deadline: Option<Nanos>,
    /// Samples the subjects, if the study requests reasons.
    pub profiler: Option<Profiler>,
    /// Receives the current wait.
    pub on_pending: &'a dyn Fn(Pending),
    _pinned: Pinned,
}

/// Assigns the CPUs. If every server runs elsewhere, the generator gets all of them.
pub(in crate::run_study) fn split(
    cores: &[Vec<usize>],
    pin: Pin,
    is_server_here: bool,
) -> CpuSplit {
    match pin {
        Pin::Split if is_server_here => CpuSplit::of(cores),
        Pin::Split => CpuSplit {
            subjects: Vec::new(),
            generator: cores.concat(),
        },
        Pin::Shared => CpuSplit {
            subjects: cores.concat(),
            generator: cores.concat(),
        },
    }
}

/// Refuses more connections than the limit of descriptors allows. Each worker thread has its own
/// table of descriptors, to which the whole limit applies.
///
/// # Errors
/// [`PrepareError::Descriptors`].
pub fn check_descriptors(connections: u32, threads: usize, limit: u64) -> Result<(), PrepareError> {
    let needed = descriptors_needed(u64::from(connections), threads);
    if needed > limit {
        return Err(PrepareError::Descriptors {
            connections,
            threads,
            needed,
            limit,
        });
    }
    Ok(())
}

/// The resources of this machine for a study.
struct Place {
    descriptors: DescriptorLimit,
    /// The CPUs that abx may use.
    allowed: Vec<usize>,
    split: CpuSplit,
    /// Whether any subject runs on this machine.
    is_server_here: bool,
    pinned: Pinned,
}

/// While it exists, this thread is bound to the generator's CPUs. Afterwards, other studies of this
/// process, and what runs between them, have all of its CPUs again.
struct Pinned {
    allowed: Vec<usize>,
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = abx_sys::cpus::pin_thread(&self.allowed);
    }
}

/// The profiler of the subjects, if the study requests reasons.
fn profiler(study: &Study, place: &Place) -> Result<Option<Profiler>, PrepareError> {
    if !study.why {
        return Ok(None);
    }
    if !place.is_server_here {
        return Err(PrepareError::NothingToSample);
    }
    let is_started = |subject: &Subject| matches!(subject.source, Source::Command(_));
    let mut cpus = place.split.subjects.clone();
    if !study.subjects.iter().all(is_started) {
        let sources: Vec<&Source> = study
            .subjects
            .iter()
            .map(|subject| &subject.source)
            .collect();
        cpus = subject_cpus(&sources, &cpus).unwrap_or_default();
        cpus.extend(&place.allowed);
        cpus.sort_unstable();
        cpus.dedup();
    }
    Profiler::open(&cpus)
        .map(Some)
        .map_err(PrepareError::Sampling)
}

impl Place {
    /// Raises the limit of descriptors, and binds this thread to the generator's CPUs.
    fn of(study: &Study) -> Result<Place, PrepareError> {
        let descriptors = raise_descriptor_limit()?;
        check_programs(study)?;
        let allowed = allowed_cpus()?;
        let is_here = |subject: &Subject| match &subject.source {
            Source::Command(_) => true,
            Source::Address(target) => listener::is_here(target.address),
        };
        let is_server_here = study.subjects.iter().any(is_here);
        let split = split(&abx_sys::cpus::cores(&allowed), study.pin, is_server_here);
        // abx itself stays off the subjects' CPUs.
        abx_sys::cpus::pin_thread(&split.generator).map_err(|source| PrepareError::System {
            what: "bind abx to its own CPUs",
            source,
        })?;
        let pinned = Pinned {
            allowed: allowed.clone(),
        };
        Ok(Place {
            descriptors,
            allowed,
            split,
            is_server_here,
            pinned,
        })
    }

    fn context<'a>(
        self,
        study: &'a Study,
        (program, keeper_arguments): (PathBuf, &'a [&'a str]),
        generator: Box<dyn LoadGenerator>,
        waiting: Waiting,
    ) -> Result<StudyContext<'a>, PrepareError> {
        Ok(StudyContext {
            profiler: profiler(study, &self)?,
            study,
            loads: study.loads.clone(),
            program,
            keeper_arguments,
            generator,
            waiting,
            services: RunningServices::none_of(&study.services),
            split: self.split,
            cpus: self.allowed,
            descriptors: self.descriptors,
            deadline: None,
            on_pending: &unwatched,
            _pinned: self.pinned,
        })
    }
}

impl<'a> StudyContext<'a> {
    /// Prepares this machine for a study, and starts the engine.
    ///
    /// # Errors
    /// [`PrepareError`]; nothing was started then.
    pub fn prepare(
        study: &'a Study,
        program: PathBuf,
        keeper_arguments: &'a [&'a str],
    ) -> Result<StudyContext<'a>, PrepareError> {
        let place = Place::of(study)?;
        let Place {
            descriptors,
            split,
            is_server_here,
            ..
        } = &place;
        let connections = study.loads.iter().map(|load| load.connections as usize);
        let room = Room {
            cpus: split.generator.len(),
            connections: connections.max(),
            quota: Conditions::read(&split.generator).quota,
            is_server_here: *is_server_here,
        };
        let threads = room.threads(study.threads);
        for load in &study.loads {
            check_descriptors(load.connections, threads, descriptors.soft)?;
        }
        let sources: Vec<&Source> = study
            .subjects
            .iter()
            .map(|subject| &subject.source)
            .collect();
        let waiting = waiting::decide(
            study.wait,
            &CpuAssignment {
                threads,
                generator: split.generator.clone(),
                subjects: subject_cpus(&sources, &split.subjects),
            },
        )?;
        let engine = Engine::start(&EnginePlan {
            threads,
            cpus: split.generator.clone(),
            wait: waiting.wait,
        })?;
        let keeper = (program, keeper_arguments);
        place.context(study, keeper, Box::new(engine), waiting)
    }

    /// Prepares this machine for a study whose generator runs elsewhere.
    ///
    /// # Errors
    /// [`PrepareError`]; nothing was started then.
    pub fn prepare_elsewhere(
        study: &'a Study,
        program: PathBuf,
        keeper_arguments: &'a [&'a str],
        generator: Box<dyn LoadGenerator>,
    ) -> Result<StudyContext<'a>, PrepareError> {
        let mut place = Place::of(study)?;
        place.split.generator.clear();
        let waiting = Waiting::default();
        place.context(study, (program, keeper_arguments), generator, waiting)
    }

    /// Whether the study was stopped, or its time is up.
    pub fn is_over(&self) -> bool {
        let is_late = self
            .deadline
            .is_some_and(|deadline| Nanos::now() >= deadline);
        is_late || self.generator.stopper().is_stopped()
    }

    /// The context of starts of servers.
    pub fn start_context<'b>(&'b self, draw: &'b mut dyn FnMut(u32) -> u32) -> StartContext<'b> {
        StartContext {
            program: &self.program,
            keeper_arguments: self.keeper_arguments,
            cpus: &self.split.subjects,
            descriptors: self.descriptors,
            files: &self.study.files,
            seed: self.study.seed,
            services: self.services.words(),
            outlives_main: false,
            stopper: self.generator.stopper(),
            draw,
            on_pending: self.on_pending,
        }
    }
}

/// Properties that this machine reports, before any study on it.
///
/// # Errors
/// [`PrepareError`] if the limit of descriptors cannot be raised, or the machine does not report
/// which CPUs abx may use.
pub fn this_machine() -> Result<Machine, PrepareError> {
    let descriptors = raise_descriptor_limit()?;
    Ok(machine::describe(&allowed_cpus()?, descriptors, []))
}

fn raise_descriptor_limit() -> Result<DescriptorLimit, PrepareError> {
    abx_sys::limits::raise_descriptor_limit().map_err(|source| PrepareError::System {
        what: "raise the limit of file descriptors",
        source,
    })
}

fn allowed_cpus() -> Result<Vec<usize>, PrepareError> {
    abx_sys::cpus::allowed().map_err(|source| PrepareError::System {
        what: "list the CPUs",
        source,
    })
}

/// The CPUs of all subjects: those that abx assigns to servers that it starts, and those of servers
/// that run already; `None` if those of a server are unknown.
fn subject_cpus(sources: &[&Source], assigned: &[usize]) -> Option<Vec<usize>> {
    let running = sources.iter().filter_map(|source| match source {
        Source::Address(target) => Some(target.address),
        Source::Command(_) => None,
    });
    let mut cpus = waiting::cpus_of(running)?;
    let is_started = |source: &&Source| matches!(source, Source::Command(_));
    if sources.iter().any(is_started) {
        cpus.extend(assigned);
    }
    Some(cpus)
}

/// Looks for every program before the first one is started.
fn check_programs(study: &Study) -> Result<(), PrepareError> {
    let services = study
        .services
        .iter()
        .map(|service| (&service.name, &service.source));
    let subjects = study
        .subjects
        .iter()
        .map(|subject| (&subject.name, &subject.source));
    for (name, source) in services.chain(subjects) {
        if let Source::Command(launch) = source
            && let Some(program) = launch.missing_program()
        {
            return Err(PrepareError::Program {
                subject: name.clone(),
                program,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Launch, Target};

    #[test]
    fn a_server_elsewhere_takes_no_cpu() {
        // Method: two cores of two siblings each, with servers here and elsewhere, and shared.
        let cores = [vec![0, 2], vec![1, 3]];
        let cpus = |pin, is_here| {
            let split = split(&cores, pin, is_here);
            (split.subjects, split.generator)
        };
        let every_cpu = vec![0, 2, 1, 3];
        assert_eq!(cpus(Pin::Split, true), (vec![0, 2], vec![1, 3]));
        assert_eq!(cpus(Pin::Split, false), (Vec::new(), every_cpu.clone()));
        assert_eq!(cpus(Pin::Shared, true), (every_cpu.clone(), every_cpu));
    }

    #[test]
    fn a_study_leaves_the_cpus_of_its_thread_as_they_were() {
        // Method: two studies of this process on one thread, each of which binds the thread.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let subject = Subject::new(
            "a".to_owned(),
            Source::Address(Target::parse(&url).unwrap()),
        );
        let study = Study::of_one(subject, Vec::new(), 1, Vec::new());
        let thread = std::thread::spawn(move || {
            let before = allowed_cpus().unwrap();
            for _ in 0..2 {
                let place = Place::of(&study).unwrap();
                assert_eq!(place.allowed, before);
                assert_eq!(allowed_cpus().unwrap(), place.split.generator);
                drop(place);
                assert_eq!(allowed_cpus().unwrap(), before);
            }
        });
        thread.join().unwrap();
    }

    #[test]
    fn only_servers_that_abx_starts_have_the_cpus_that_it_assigns() {
        // Method: this process listens, on the CPUs that it may use. abx assigns another CPU, which
        // only a command takes.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let running = Source::Address(Target::parse(&url).unwrap());
        let allowed = abx_sys::cpus::allowed().unwrap();
        assert_eq!(subject_cpus(&[&running], &[4321]).unwrap(), allowed);
        let launch = Launch::new(vec!["true".to_owned()]);
        let both = subject_cpus(&[&running, &Source::Command(launch)], &[4321]).unwrap();
        assert_eq!(both, [&allowed[..], &[4321]].concat());
    }
}
