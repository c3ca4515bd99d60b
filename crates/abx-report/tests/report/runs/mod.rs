//! Reports of runs and of commands.

pub mod course;
pub mod phases;
pub mod run;
pub mod server_times;
pub mod steps;
pub mod timer;
pub mod websocket;
