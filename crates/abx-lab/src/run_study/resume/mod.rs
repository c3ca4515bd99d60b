//! Continues a study that ended early. Start at [`resumption`].

mod difference;
mod identity;
pub mod resumption;
