//! Owns the life of the servers under test and the conduct of a study.
//!
//! [`conduct()`] takes a [`Study`] through its blocks: every subject is started
//! under a keeper, found ready, verified, loaded in interleaved slices, and
//! stopped. [`run()`] loads one server once. [`keeper::keep`] is the body of the
//! process that keeps a server.

mod bench;
mod block;
pub mod catalog;
mod ceiling;
mod conduct;
pub mod doctor;
mod fit;
pub mod history;
mod hold;
pub mod keeper;
mod launch;
mod listener;
mod machine;
mod made_files;
mod meter;
mod offer;
mod pilot;
mod place;
mod placeholder;
pub mod program;
pub mod provision;
mod question;
mod run;
mod scout;
mod shape;
mod short_slices;
mod stage;
mod store;
mod study;
pub mod study_file;
mod subject;
pub mod units;
mod verify;

pub use bench::Halt;
pub use ceiling::Ceiling;
pub use conduct::{Conducted, LabError, Progress, Surroundings, conduct};
pub use launch::{Filled, Launch, Ready, Template};
pub use offer::{Offer, Rate, SHARES, Spacing, Sweep};
pub use place::PlaceError;
pub use run::{Run, RunEnd, RunError, run};
pub use shape::{
    BROADCAST_BYTES_MIN, HOLD, MESSAGE_BYTES, MESSAGE_BYTES_MAX, SWITCHED, Shape, is_long_enough,
    suits,
};
pub use stage::StageError;
pub use store::{Store, StoreError, state_folder, write_text, write_whole};
pub use study::{ExpectBody, Load, MadeFile, Past, PilotCare, Pin, Request, SliceLength, Study};
pub use subject::{Scheme, Source, Subject, SubjectError, Target};
pub use verify::VerifyError;
