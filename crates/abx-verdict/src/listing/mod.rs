//! Lists of records and studies: [`history`] of the records that are kept,
//! [`catalog`] of the studies that abx carries; [`plan`] derives from those what the next can find,
//! and [`trend`] how the figures of one study change from record to record.

pub mod catalog;
pub(crate) mod fingerprint;
pub mod history;
pub mod plan;
pub mod trend;
