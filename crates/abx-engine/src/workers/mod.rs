//! The threads that make load, and the handle that commands them.

pub(crate) mod any_pool;
pub(crate) mod engine;
pub(crate) mod error;
pub(crate) mod pool_id;
pub(crate) mod prepared;
pub(crate) mod worker;
