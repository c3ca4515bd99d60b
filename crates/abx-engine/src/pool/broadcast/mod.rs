//! Broadcasts: one connection sends, and all of them receive.

mod audience;
mod rounds;

pub use rounds::Broadcast;
