//! What a doctor is asked to do.

use std::path::PathBuf;
use std::time::Duration;

use abx_engine::Stopper;

use crate::measure::running_subjects::Abort;
use crate::records::store::Store;
use crate::run_study::StudyError;

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
