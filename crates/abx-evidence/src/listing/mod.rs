//! What lists say of records and studies: [`history`] of the records that are kept,
//! [`catalog`] of the studies that abx carries.

pub mod catalog;
pub mod history;
