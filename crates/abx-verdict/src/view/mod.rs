//! A study by load, subject and block, added up once, for the judge, findings and summaries.
//! [`StudyView`] has a view per load, which has one per subject, which has one per block.

pub(crate) mod ceilings;
pub(crate) mod faults;
mod study;
mod subject;
pub(crate) mod summary;
pub(crate) mod sums;

pub(crate) use study::{OfferView, StudyView, margin};
pub use subject::SubjectView;
pub(crate) use subject::{BlockView, Pick};
