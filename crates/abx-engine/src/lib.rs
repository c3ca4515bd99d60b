//! abx-engine.
