//! What is read from the course of a load: when it is warm ([`warm_up`]), whether it
//! stays the same ([`segments`]), and how long slices should be ([`slice_choice`]).

pub mod segments;
pub mod slice_choice;
pub mod warm_up;
