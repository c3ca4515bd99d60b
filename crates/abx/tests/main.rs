//! The program `abx` end to end: started as a person starts it, against real
//! servers, with everything that may go wrong gone wrong.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

mod bisect;
mod catalog;
mod classic;
mod compare;
mod fleet;
mod keepers;
mod layers;
mod output;
mod program;
mod protocols;
mod run;
mod support;
