//! Broadcasts: one connection sends, and all of them receive.

mod audience;
mod rounds;

pub(crate) use rounds::Broadcast;
