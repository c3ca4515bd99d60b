//! How a study that ended early goes on: start at [`resumption`].

mod difference;
mod identity;
pub mod resumption;
