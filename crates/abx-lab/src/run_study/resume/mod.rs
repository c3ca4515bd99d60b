//! Continues a study that ended early: start at [`resumption`].

mod difference;
mod identity;
pub mod resumption;
