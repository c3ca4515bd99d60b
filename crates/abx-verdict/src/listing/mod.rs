//! Lists of records and studies: [`history`] lists the saved records, and [`catalog`] the subjects
//! of the included studies. [`plan`] derives from earlier records which difference the next study
//! can find. [`trend`] shows how the figures of one study change from record to record.

pub mod catalog;
pub(crate) mod fingerprint;
pub mod history;
pub mod plan;
pub mod trend;
