//! What is read from loads of rising connections or rates: which subject is ahead where
//! ([`crossing`]), the highest rate that meets a limit ([`capacity`]), and the universal
//! scalability law ([`usl`]).

pub mod capacity;
pub mod crossing;
pub mod sweep;
pub mod usl;
