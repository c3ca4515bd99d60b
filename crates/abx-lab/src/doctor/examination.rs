//! What the parts of an examination share: studies of the server that does next to nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use abx_engine::Stopper;
use abx_evidence::record::Interleave;
use abx_model::LoadOptions;
use abx_stats::Margin;
use abx_study::launch::Launch;
use abx_study::subject::{Source, Subject};
use abx_study::{Load, PilotEffort, Pin, Study, WaitChoice};

use crate::measure::running_subjects::Abort;
use crate::records::store::Store;
use crate::run_study::study_runner::StudyError;

const CONNECTIONS: u32 = 50;

/// The input of an examination.
pub struct Examination<'a> {
    /// The program of abx itself: it becomes keepers and the server `null`.
    pub program: PathBuf,
    pub keeper_arguments: &'a [&'a str],
    /// The arguments that make the program this server; `{port}` is the port.
    pub null_arguments: &'a [&'a str],
    /// How long blocks are measured, after the pilot.
    pub noise_for: Duration,
    /// How long each ceiling is measured.
    pub ceiling_for: Duration,
    /// The seed of all randomness.
    pub seed: u64,
    /// The version of abx, for the record.
    pub version: &'a str,
    /// The command line, for the record of the noise.
    pub command: Vec<String>,
    /// Where the study of noise is kept.
    pub store: &'a mut Store,
    pub watch: &'a mut dyn FnMut(DoctorStep),
    /// Receives a handle that stops a part, before that part starts anything. A part that is
    /// stopped right then starts nothing.
    pub on_stopper: &'a mut dyn FnMut(Stopper),
}

/// A part of the examination that takes time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoctorStep {
    /// A server is compared with itself.
    Noise,
    /// One generator thread sends as many requests as it can.
    Ceiling,
}

/// Why a part ended early.
pub(super) enum EndedEarly {
    Interrupted,
    Refused(String),
}

impl From<StudyError> for EndedEarly {
    fn from(error: StudyError) -> EndedEarly {
        match error {
            StudyError::Abort(Abort::Interrupted) => EndedEarly::Interrupted,
            error => EndedEarly::Refused(error.to_string()),
        }
    }
}

/// A study of these subjects under these loads, by one generator thread.
pub(super) fn study(examination: &Examination, subjects: Vec<Subject>, loads: Vec<Load>) -> Study {
    Study {
        subjects,
        contrasts: Vec::new(),
        loads,
        faults: Vec::new(),
        aa: true,
        margin: Margin::DEFAULT,
        budget: None,
        ordered_time: None,
        blocks: None,
        slice: None,
        rounds: None,
        cold: None,
        ceiling: None,
        services: Vec::new(),
        skipped: Vec::new(),
        pilot: PilotEffort::Usual,
        why: false,
        interleave: Interleave::Slices,
        files: Vec::new(),
        local_addresses: Vec::new(),
        threads: Some(1),
        pin: Pin::Split,
        wait: WaitChoice::Auto,
        seed: examination.seed,
        command: examination.command.clone(),
        name: None,
        label: None,
    }
}

/// The server that does next to nothing, under this name.
pub(super) fn null(program: &Path, arguments: &[&str], name: &str) -> Subject {
    let mut command = vec![program.to_string_lossy().into_owned()];
    command.extend(arguments.iter().map(|word| (*word).to_owned()));
    Subject::new(name.to_owned(), Source::Command(Launch::new(command)))
}

/// Fifty connections, with or without keep-alive.
pub(super) fn load(keep_alive: bool) -> Load {
    Load {
        options: LoadOptions {
            connections: CONNECTIONS,
            keep_alive,
            ..LoadOptions::default()
        },
        name: if keep_alive {
            "kept alive".to_owned()
        } else {
            "one request each".to_owned()
        },
        ..Load::default()
    }
}
