//! What is read from the course of a load: when it is warm ([`warm_up`]), and whether it
//! stays the same ([`segments`]), from slice to slice, from start to start
//! ([`two_groups`]), and from record to record ([`changes`]).

pub mod changes;
pub mod segments;
pub mod two_groups;
pub mod warm_up;
