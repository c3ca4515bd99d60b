//! What stays the same from block to block, and the raising of a block's subjects.

use std::net::SocketAddr;
use std::path::PathBuf;

use abx_engine::{Asked, Engine, EngineError, EnginePlan, LoadPlan, RequestPlan};
use abx_evidence::record::CEILING;
use abx_sys::Nanos;
use abx_sys::cpus::Split;
use abx_sys::limits::DescriptorLimit;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::bench::{Bench, Cache, Halt};
use crate::ceiling::{self, RaisedCeiling};
use crate::meter::Meter;
use crate::place::{Ground, Place};
use crate::question::Question;
use crate::study::{Load, Pin, Request, Study};
use crate::subject::{Source, Subject, sources};
use crate::verify::{Verified, agree, verify};

/// Descriptors that abx needs beside those of connections.
const DESCRIPTORS_OWN: u64 = 64;

/// Why a study does not begin. Nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// More connections than descriptors.
    #[error(
        "{connections} connections on {threads} thread(s) need {needed} file descriptors for \
         each, and a thread may have {limit}: raise `ulimit -n` to at least {needed}, add threads \
         (`-t`), or use fewer connections"
    )]
    Descriptors {
        /// Connections of the load.
        connections: u32,
        /// Worker threads that share them.
        threads: usize,
        /// Descriptors that they need.
        needed: u64,
        /// Descriptors that may be had.
        limit: u64,
    },
    /// A program that is not there.
    #[error(
        "{subject}: the program `{program}` is not found, or not executable: install it, write \
         its full path, or mark it as a program (chmod +x)"
    )]
    Program {
        /// The subject.
        subject: String,
        /// Its program.
        program: String,
    },
    /// The system does not let abx prepare.
    #[error("cannot prepare {what}: {source}")]
    Prepare {
        /// What.
        what: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// The engine does not start.
    #[error("{0}")]
    Engine(#[from] EngineError),
}

/// What stays the same from block to block.
pub struct Stage<'a> {
    study: &'a Study,
    program: PathBuf,
    keeper_arguments: &'a [&'a str],
    /// What is offered, as far as it is known.
    pub loads: Vec<Load>,
    /// Makes the load.
    pub engine: Engine,
    /// Who uses which processors.
    pub split: Split,
    /// How many processors abx may use.
    pub cpus: usize,
    /// File descriptors that abx and each subject may have.
    pub descriptors: DescriptorLimit,
}

/// A block's subjects, up and verified, with what each load asks of them.
pub struct Raised<'a> {
    /// The subjects.
    pub bench: Bench<'a>,
    /// The order in which they were started.
    pub order: Vec<String>,
    /// The loads in the order of the study.
    pub loads: Vec<RaisedLoad>,
}

/// One load as it will be offered to each subject, in the order of the study.
pub struct RaisedLoad {
    /// The plans.
    pub plans: Vec<LoadPlan>,
    /// What each subject answered to each request.
    pub verified: Vec<Vec<Verified>>,
    /// Whether the bodies of all requests are compared.
    pub bodies_compared: bool,
    /// What its slices find in memory.
    pub cache: Cache,
    /// What a server that does nothing is offered; `None` without one.
    pub ceiling: Option<RaisedCeiling>,
}

/// File descriptors that each worker needs when they share so many connections.
#[must_use]
pub fn descriptors_needed(connections: u64, threads: usize) -> u64 {
    let threads = u64::try_from(threads.max(1)).unwrap_or(u64::MAX);
    connections
        .div_ceil(threads)
        .saturating_add(DESCRIPTORS_OWN)
}

/// Refuses more connections than there can be: each worker thread has a table of
/// descriptors of its own, and each of them the whole limit.
///
/// # Errors
/// [`StageError::Descriptors`].
pub fn check_descriptors(connections: u32, threads: usize, limit: u64) -> Result<(), StageError> {
    let needed = descriptors_needed(u64::from(connections), threads);
    if needed > limit {
        return Err(StageError::Descriptors {
            connections,
            threads,
            needed,
            limit,
        });
    }
    Ok(())
}

impl<'a> Stage<'a> {
    /// Takes processors and descriptors, and starts the engine.
    ///
    /// # Errors
    /// [`StageError`]; nothing was started then.
    pub fn set(
        study: &'a Study,
        program: PathBuf,
        keeper_arguments: &'a [&'a str],
    ) -> Result<Stage<'a>, StageError> {
        let prepare = |what| move |source| StageError::Prepare { what, source };
        let descriptors = abx_sys::limits::raise_descriptor_limit()
            .map_err(prepare("the limit of file descriptors"))?;
        check_programs(study)?;
        let allowed = abx_sys::cpus::allowed().map_err(prepare("the list of processors"))?;
        let split = match study.pin {
            Pin::Split => Split::of(&abx_sys::cpus::cores(&allowed)),
            Pin::Shared => Split {
                subjects: allowed.clone(),
                generator: allowed.clone(),
            },
        };
        // The lab itself stays off the subjects' processors.
        abx_sys::cpus::pin_thread(&split.generator).map_err(prepare("its own processors"))?;
        let threads = study.threads.unwrap_or(split.generator.len());
        for load in &study.loads {
            check_descriptors(load.connections, threads, descriptors.soft)?;
        }
        let engine = Engine::start(&EnginePlan {
            threads,
            cpus: split.generator.clone(),
            backend: study.backend,
        })?;
        Ok(Stage {
            study,
            loads: study.loads.clone(),
            program,
            keeper_arguments,
            engine,
            split,
            cpus: allowed.len(),
            descriptors,
        })
    }

    /// What every start needs beside the subject itself.
    pub fn ground<'b>(&'b self, draw: &'b mut dyn FnMut(u32) -> u32) -> Ground<'b> {
        Ground {
            program: &self.program,
            keeper_arguments: self.keeper_arguments,
            cpus: &self.split.subjects,
            descriptors: self.descriptors,
            files: &self.study.files,
            seed: self.study.seed,
            draw,
        }
    }

    /// Starts every subject, waits until each is ready, and verifies what they answer.
    ///
    /// # Errors
    /// [`Halt`]; whatever was started is stopped again.
    pub fn raise(&mut self, random: &mut ChaCha8Rng) -> Result<Raised<'_>, Halt> {
        let study = self.study;
        let mut order: Vec<usize> = (0..study.subjects.len()).collect();
        order.shuffle(random);
        let mut places: Vec<Option<Place>> = study.subjects.iter().map(|_| None).collect();
        for subject in &order {
            // How many draws a free port takes depends on the machine, and must
            // not change what is drawn afterwards.
            let mut own = ChaCha8Rng::seed_from_u64(random.random());
            let mut draw = |below: u32| own.random_range(0..below.max(1));
            let mut ground = self.ground(&mut draw);
            let one = &study.subjects[*subject];
            let place = Place::start(one, &mut ground).map_err(|error| halt(one, error))?;
            places[*subject] = Some(place);
        }
        let mut places: Vec<Place> = places.into_iter().flatten().collect();
        let stopper = self.engine.stopper();
        for (subject, place) in study.subjects.iter().zip(&mut places) {
            let Some(load) = self.loads.first() else {
                break;
            };
            let Some(request) = load.requests.first() else {
                break;
            };
            let first = question(load, request, subject, place.address, study.seed);
            let question = readiness(subject, first);
            let ready = place.wait_ready(subject, &question, &stopper);
            ready.map_err(|error| halt(subject, error))?;
            if stopper.is_stopped() {
                return Err(Halt::Interrupted);
            }
        }
        let mut loads = { self.loads.iter() }
            .map(|load| raise_load(study, load, &places, random.random()))
            .collect::<Result<Vec<_>, _>>()?;
        let seed = random.random();
        if let Some(ceiling) = &study.ceiling {
            ceiling::raise(self, ceiling, &mut places, &mut loads, seed)?;
        }
        let meter = Meter::new(places.iter().map(Place::tree).collect(), &self.split);
        let mut names: Vec<String> = study.subjects.iter().map(|one| one.name.clone()).collect();
        names.resize(places.len(), CEILING.to_owned());
        Ok(Raised {
            order: order
                .iter()
                .map(|subject| names[*subject].clone())
                .collect(),
            bench: Bench::new(&mut self.engine, meter, places, names),
            loads,
        })
    }
}

/// What tells that a subject is ready: its own question, a plain request, or the
/// load's first.
pub fn readiness(subject: &Subject, usual: Question) -> Question {
    let Source::Command(launch) = &subject.source else {
        return usual;
    };
    let status = match (launch.ready.status, &launch.ready.path) {
        (Some(status), _) => status,
        (None, Some(_)) if usual.is_websocket() => 200,
        (None, _) => usual.status,
    };
    let Some(path) = &launch.ready.path else {
        return Question { status, ..usual };
    };
    let request = RequestPlan {
        method: "GET".to_owned(),
        path: path.clone(),
        headers: Vec::new(),
        body: Vec::new(),
        ..usual.request
    };
    Question {
        request,
        status,
        shape: abx_engine::Shape::Request,
        ..usual
    }
}

/// What a subject is asked of one request of a load.
pub fn question(
    load: &Load,
    request: &Request,
    subject: &Subject,
    address: SocketAddr,
    seed: u64,
) -> Question {
    Question {
        request: request.plan(load.version, &host(subject, address), path(subject)),
        status: load.status,
        shape: load.shape.plan(),
        seed,
    }
}

/// Looks for every program before the first one is started.
fn check_programs(study: &Study) -> Result<(), StageError> {
    for subject in &study.subjects {
        if let Source::Command(launch) = &subject.source
            && let Some(program) = launch.missing_program()
        {
            return Err(StageError::Program {
                subject: subject.name.clone(),
                program,
            });
        }
    }
    Ok(())
}

/// Verifies what all subjects answer to one load, and plans it for each.
fn raise_load(study: &Study, load: &Load, places: &[Place], seed: u64) -> Result<RaisedLoad, Halt> {
    // Messages are drawn from it, and are the same in every block.
    let seed = match load.shape.is_websocket() {
        true => study.seed,
        false => seed,
    };
    let mut plans: Vec<LoadPlan> = places
        .iter()
        .map(|place| LoadPlan {
            address: place.address,
            sources: sources(
                place.address,
                load.connections,
                load.keep_alive,
                &study.local_addresses,
            ),
            connections: load.connections,
            requests: Vec::with_capacity(load.requests.len()),
            keep_alive: load.keep_alive,
            verify_every: load.verify_every,
            shape: load.shape.plan(),
            timeout_ns: Nanos::from(load.timeout).0,
            seed,
            pipeline: load.pipeline,
            pacing: load.pacing.clone(),
        })
        .collect();
    let mut verified: Vec<Vec<Verified>> = places.iter().map(|_| Vec::new()).collect();
    let mut bodies_compared = true;
    for request in &load.requests {
        let answers = ask_all(study, load, request, places, seed)?;
        let named: Vec<(&str, &Verified)> = study
            .subjects
            .iter()
            .map(|subject| subject.name.as_str())
            .zip(answers.iter().map(|(_, answer)| answer))
            .collect();
        let is_compared =
            agree(&named, &load.body).map_err(|error| Halt::Answers(Box::new(error)))?;
        bodies_compared &= is_compared;
        for (subject, (asked, answer)) in answers.into_iter().enumerate() {
            plans[subject].requests.push(Asked {
                request: asked,
                expect: answer.expectation(is_compared),
                weight: request.weight,
            });
            verified[subject].push(answer);
        }
    }
    Ok(RaisedLoad {
        plans,
        verified,
        bodies_compared,
        cache: Cache::of(load),
        ceiling: None,
    })
}

/// What each subject answers to one request.
fn ask_all(
    study: &Study,
    load: &Load,
    request: &Request,
    places: &[Place],
    seed: u64,
) -> Result<Vec<(RequestPlan, Verified)>, Halt> {
    let mut answers = Vec::with_capacity(places.len());
    for (subject, place) in study.subjects.iter().zip(places) {
        let asked = question(load, request, subject, place.address, seed);
        let answer = verify(&subject.name, place.address, &asked, load.timeout)
            .map_err(|error| halt(subject, error.into()))?;
        answers.push((asked.request, answer));
    }
    Ok(answers)
}

/// An error together with the subject that it is about.
pub fn halt(subject: &Subject, error: crate::place::PlaceError) -> Halt {
    Halt::Subject {
        name: subject.name.clone(),
        error: Box::new(error),
    }
}

fn host(subject: &Subject, address: SocketAddr) -> String {
    match &subject.source {
        Source::Address(target) => target.host.clone(),
        Source::Command(_) => address.to_string(),
    }
}

fn path(subject: &Subject) -> Option<&str> {
    match &subject.source {
        Source::Address(target) => Some(&target.path),
        Source::Command(_) => None,
    }
}
