//! What the programs of this folder share: children on a processor of their own, the
//! exchanges of bare loops, and comparisons by abx.

pub mod child;
pub mod exchange;
pub mod study;
