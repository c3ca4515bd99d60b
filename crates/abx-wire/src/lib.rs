//! abx-wire.
