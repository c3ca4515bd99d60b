//! Reports of runs, of scenarios and of commands.

pub mod course;
pub mod phases;
pub mod run;
pub mod scenario;
pub mod server_times;
pub mod timer;
pub mod websocket;
