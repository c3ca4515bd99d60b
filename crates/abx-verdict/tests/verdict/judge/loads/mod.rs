//! Loads other than a closed one of requests, single runs, and faults.

mod faults;
mod open_loop;
pub(crate) mod runs;
pub(crate) mod scenarios;
mod websocket;
