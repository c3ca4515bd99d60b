//! A study seen by load, subject and block, added up once. Judges, findings and
//! descriptions read these views: [`StudyView`] holds one for each load, that one for
//! each subject, and that one for each block.

pub(crate) mod ceilings;
pub(crate) mod faults;
mod study;
mod subject;
pub(crate) mod summary;
pub(crate) mod sums;

pub(crate) use study::{OfferView, StudyView, margin};
pub use subject::SubjectView;
pub(crate) use subject::{BlockView, Pick};
