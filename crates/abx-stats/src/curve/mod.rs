//! Loads of rising connections or rates: where two subjects change places ([`crossing`]), the
//! highest rate that meets a limit ([`capacity`]), and the universal scalability law ([`usl`]).

pub mod capacity;
pub mod crossing;
pub mod sweep;
pub mod usl;
