//! What the programs of this folder share: children on a processor of their own, and
//! the exchanges of bare loops.

pub mod child;
pub mod exchange;
