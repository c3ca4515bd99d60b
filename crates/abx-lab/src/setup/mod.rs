//! What a study needs before it can run: the studies that come with abx, and what
//! their subjects need on this machine.

pub mod catalog;
pub mod provision;
pub mod trust;
