//! Errors of a load of several machines.

use std::time::Duration;

use abx_engine::EngineError;

use crate::bus::BusError;

/// Why several machines cannot generate a load together.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error("{0}")]
    Bus(#[from] BusError),
    #[error("{0}")]
    Engine(#[from] EngineError),
    #[error(
        "{joined} of {wanted} agents joined within {}{}: start `abx agent` on each machine, with \
         the same bus",
        seconds(.within), refusals(.refused)
    )]
    TooFew {
        joined: usize,
        /// The number of requested agents.
        wanted: usize,
        /// How long the controller waited.
        within: Duration,
        /// The rejected agents, and why.
        refused: Vec<String>,
    },
    #[error("stopped while waiting for agents")]
    Interrupted,
    #[error(
        "{agents} agents cannot share {connections} connection(s): give at least one per agent \
         (`-c`), or use fewer agents"
    )]
    TooFewConnections { connections: u32, agents: usize },
    #[error(
        "{agent} cannot reach the server at {address}: the agent is on another machine, where \
         that address is its own; give the server an address that both machines can reach"
    )]
    Loopback {
        agent: String,
        address: std::net::IpAddr,
    },
    #[error(
        "agents do not replay an access log, whose schedule is for this machine alone: leave \
         `--bus` or `--replay` out"
    )]
    Replay,
    #[error("{agent} refuses: {why}")]
    Refused { agent: String, why: String },
    #[error("{agent} cannot continue: {why}")]
    Failed { agent: String, why: String },
    #[error("{agent} was lost: {how}")]
    Lost { agent: String, how: String },
    #[error("{agent} sent an invalid reply: use the same version of abx everywhere")]
    Nonsense { agent: String },
}

fn seconds(span: &Duration) -> String {
    format!("{} s", span.as_secs_f64())
}

fn refusals(refused: &[String]) -> String {
    match refused {
        [] => String::new(),
        refused => format!(" ({})", refused.join("; ")),
    }
}
