//! Owns the life of the servers under test and the conduct of a study.
//!
//! [`conduct()`] takes a [`Study`] through its blocks: every subject is started
//! under a keeper, found ready, verified, loaded in interleaved slices, and
//! stopped. [`run()`] loads one server once. [`keeper::keep`] is the body of the
//! process that keeps a server.
//!
//! Folders by the way of the data, each using only those above it: `study` says
//! what is compared, `process` keeps one server, `setup` has what servers need,
//! `measure` loads servers that run, `records` keeps what was measured,
//! `run_study` puts it together, and `doctor` looks at the machine by the same means.

pub mod doctor;
mod measure;
mod process;
mod records;
mod run_study;
mod setup;
mod study;

pub use measure::running_subjects::Halt;
pub use process::keeper;
pub use process::subject_process::PlaceError;
pub use process::verify::VerifyError;
pub use records::history;
pub use records::store::{Store, StoreError, state_folder, write_text, write_whole};
pub use run_study::context::StageError;
pub use run_study::run::{Run, RunEnd, RunError, run};
pub use run_study::{Conducted, LabError, Progress, Surroundings, conduct};
pub use setup::{catalog, provision};
pub use study::launch::{Filled, Launch, Ready, Template};
pub use study::rates::{Offer, Rate, SHARES, Spacing, Sweep};
pub use study::shape::{
    BROADCAST_BYTES_MIN, HOLD, MESSAGE_BYTES, MESSAGE_BYTES_MAX, SWITCHED, Shape, is_long_enough,
    suits,
};
pub use study::subject::{Scheme, Source, Subject, SubjectError, Target};
pub use study::{
    Ceiling, ExpectBody, Load, MadeFile, Past, PilotCare, Pin, Request, SliceLength, Study,
    study_file, units,
};
