//! The engine's door over epoll.

mod door;

use abx_engine::Backend;
pub(crate) use door::*;

/// What moves the bytes in all of these tests.
pub(crate) const BACKEND: Backend = Backend::Epoll;
