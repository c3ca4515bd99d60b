//! Prepares a study: the studies that come with abx, whether the user trusts a study, and the
//! software that its subjects need on this machine.

pub mod catalog;
pub mod provision;
pub mod trust;
