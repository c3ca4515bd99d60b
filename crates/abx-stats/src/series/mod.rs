//! The course of a load over time: its warm-up ([`warm_up`]), and changes of its level from slice
//! to slice ([`segments`]), from start to start ([`two_groups`]) and from record to record
//! ([`changes`]).

pub mod changes;
pub mod segments;
pub mod two_groups;
pub mod warm_up;
