//! The engine's door over io_uring; on a kernel that refuses it, all of these fail and say why.

mod door;

use abx_engine::Backend;
pub(crate) use door::*;

/// What moves the bytes in all of these tests.
pub(crate) const BACKEND: Backend = Backend::Uring;
