//! Ledgers of real programs, sampled on this machine.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]
#![allow(clippy::disallowed_macros, reason = "skipped tests say why")]

mod planted;
