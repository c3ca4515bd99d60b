//! The engine over TLS.

mod loads;
mod peer;
mod records;
