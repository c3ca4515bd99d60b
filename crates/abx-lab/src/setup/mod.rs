//! The needs of a study before it can run: the studies that come with abx, and the software that
//! their subjects need on this machine.

pub mod catalog;
pub mod provision;
pub mod trust;
