//! What is read from the course of a load: when it is warm ([`warm_up`]), and whether it
//! stays the same ([`segments`]).

pub mod segments;
pub mod warm_up;
