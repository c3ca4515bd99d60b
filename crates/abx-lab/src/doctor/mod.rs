//! What this machine can measure: its limits are read, and the built-in server
//! that does next to nothing (`null`) is compared with itself and loaded by one
//! generator thread. Start at [`doctor`]; what it means is said by
//! [`abx_evidence::doctor::examine`].

mod ceiling;
mod elsewhere;
mod noise;
mod readings;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use abx_engine::Stopper;
use abx_evidence::doctor::{DOCTOR_SCHEMA, DoctorRecord, examine};
use abx_evidence::record::Interleave;
use abx_model::LoadOptions;
use abx_stats::Margin;

use self::elsewhere::Counters;
use crate::measure::host::other_programs::OtherPrograms;
use crate::measure::running_subjects::Abort;
use crate::records::store::Store;
use crate::run_study::StudyError;
use abx_study::launch::Launch;
use abx_study::subject::{Source, Subject};
use abx_study::{Load, PilotEffort, Pin, Study, WaitChoice};

/// The connections of a usual load.
const CONNECTIONS: u32 = 50;

/// What a doctor is asked to do.
pub struct Examination<'a> {
    /// The program of abx itself: it becomes keepers and the server `null`.
    pub program: PathBuf,
    pub keeper_arguments: &'a [&'a str],
    /// What makes the server of it; `{port}` is the port.
    pub null_arguments: &'a [&'a str],
    /// For how long blocks are measured; the pilot comes before.
    pub noise_for: Duration,
    /// For how long each ceiling is measured.
    pub ceiling_for: Duration,
    /// What randomness is drawn from.
    pub seed: u64,
    /// The version of abx, for the record.
    pub version: &'a str,
    /// The command line, for the record of the noise.
    pub command: Vec<String>,
    /// Where the study of noise is kept.
    pub store: &'a mut Store,
    pub watch: &'a mut dyn FnMut(DoctorStep),
    /// Given a handle for each part, before it starts anything, that stops that
    /// part: one that is stopped by then starts nothing.
    pub on_stopper: &'a mut dyn FnMut(Stopper),
}

/// A part of the examination that takes time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoctorStep {
    /// A server is compared with itself.
    Noise,
    /// One generator thread asks for as much as it can.
    Ceiling,
}

/// How a part ended before its end.
enum EndedEarly {
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

/// Looks at this machine. Nothing of it is an error: what it refuses is told by
/// the record, and so is a stop by the person.
#[must_use]
pub fn doctor(mut examination: Examination) -> DoctorRecord {
    let began = Instant::now();
    let started = SystemTime::now().duration_since(UNIX_EPOCH);
    let readings = readings::read();
    let cpus = readings.cpus.clone();
    let mut record = DoctorRecord {
        schema: DOCTOR_SCHEMA.to_owned(),
        abx_version: examination.version.to_owned(),
        started_unix_ms: u64::try_from(started.unwrap_or_default().as_millis()).unwrap_or(u64::MAX),
        elapsed_s: 0.0,
        interrupted: false,
        readings,
        elsewhere: None,
        other_programs: Vec::new(),
        noise: None,
        ceilings: Vec::new(),
        refusal: None,
        checks: Vec::new(),
    };
    let before = Counters::read(&cpus);
    let programs = OtherPrograms::read(std::iter::empty());
    let measured = measure(&mut examination, &mut record);
    record.other_programs = OtherPrograms::read(std::iter::empty()).since(&programs);
    record.elsewhere = Some(Counters::read(&cpus).since(&before));
    match measured {
        Ok(()) => {}
        Err(EndedEarly::Interrupted) => record.interrupted = true,
        Err(EndedEarly::Refused(why)) => record.refusal = Some(why),
    }
    // The parts bind this thread to the generator's processors.
    let _ = abx_sys::cpus::pin_thread(&cpus);
    record.elapsed_s = began.elapsed().as_secs_f64();
    examine(&mut record);
    record
}

/// Noise first: what it finds is not disturbed by what ceilings leave behind.
fn measure(examination: &mut Examination, record: &mut DoctorRecord) -> Result<(), EndedEarly> {
    (examination.watch)(DoctorStep::Noise);
    let (noise, ended) = noise::measure(examination)?;
    record.noise = Some(noise);
    ended.map_or(Ok(()), Err)?;
    // Else the second part would find one processor, that of the generator.
    abx_sys::cpus::pin_thread(&record.readings.cpus)
        .map_err(|error| EndedEarly::Refused(format!("cannot use its own processors: {error}")))?;
    (examination.watch)(DoctorStep::Ceiling);
    ceiling::measure(examination, &mut record.ceilings)
}

/// A study of `null`, to be filled with subjects and loads.
fn study(examination: &Examination, subjects: Vec<Subject>, loads: Vec<Load>) -> Study {
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
        against: None,
        services: Vec::new(),
        skipped: Vec::new(),
        pilot: PilotEffort::Usual,
        interleave: Interleave::Slices,
        files: Vec::new(),
        local_addresses: Vec::new(),
        threads: Some(1),
        pin: Pin::Split,
        wait: WaitChoice::Auto,
        seed: examination.seed,
        command: examination.command.clone(),
    }
}

/// The server that does next to nothing, under this name.
fn null(program: &Path, arguments: &[&str], name: &str) -> Subject {
    let program = program.to_string_lossy().into_owned();
    let arguments = arguments.iter().map(|word| (*word).to_owned());
    Subject {
        name: name.to_owned(),
        source: Source::Command(Launch::new(
            std::iter::once(program).chain(arguments).collect(),
        )),
        stand_in_for: None,
        http2: false,
    }
}

/// The usual load, with or without keep-alive.
fn load(keep_alive: bool) -> Load {
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
