//! What stays the same from block to block.

use std::path::PathBuf;

use abx_engine::{Engine, EngineError, EnginePlan};
use abx_sys::cpus::Split;
use abx_sys::limits::DescriptorLimit;

use crate::process::subject_process::StartContext;
use crate::study::subject::Source;
use crate::study::{Load, Pin, Study};

/// Descriptors that abx needs beside those of connections.
const DESCRIPTORS_OWN: u64 = 64;

/// Why a study does not begin. Nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
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
    System {
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
pub struct StudyContext<'a> {
    /// What is to be measured.
    pub study: &'a Study,
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

impl<'a> StudyContext<'a> {
    /// Takes processors and descriptors, and starts the engine.
    ///
    /// # Errors
    /// [`PrepareError`]; nothing was started then.
    pub fn prepare(
        study: &'a Study,
        program: PathBuf,
        keeper_arguments: &'a [&'a str],
    ) -> Result<StudyContext<'a>, PrepareError> {
        let prepare = |what| move |source| PrepareError::System { what, source };
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
        Ok(StudyContext {
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
    pub fn start_context<'b>(&'b self, draw: &'b mut dyn FnMut(u32) -> u32) -> StartContext<'b> {
        StartContext {
            program: &self.program,
            keeper_arguments: self.keeper_arguments,
            cpus: &self.split.subjects,
            descriptors: self.descriptors,
            files: &self.study.files,
            seed: self.study.seed,
            draw,
        }
    }
}

/// Looks for every program before the first one is started.
fn check_programs(study: &Study) -> Result<(), PrepareError> {
    for subject in &study.subjects {
        if let Source::Command(launch) = &subject.source
            && let Some(program) = launch.missing_program()
        {
            return Err(PrepareError::Program {
                subject: subject.name.clone(),
                program,
            });
        }
    }
    Ok(())
}
