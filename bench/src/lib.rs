//! What the programs of this folder share: children on a processor of their own.

pub mod child;
