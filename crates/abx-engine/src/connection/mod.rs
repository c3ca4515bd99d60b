//! One connection of a pool: its slot, the requests in flight on it, and their times.

pub(crate) mod clock;
pub(crate) mod encoded;
pub(crate) mod flights;
pub(crate) mod progress;
pub(crate) mod slot;
pub(crate) mod template;
pub(crate) mod timing;
