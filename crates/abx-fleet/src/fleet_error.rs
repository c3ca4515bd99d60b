//! Why several machines make no load together.

use std::time::Duration;

use abx_engine::EngineError;

use crate::bus::BusError;

/// Why several machines make no load together.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The bus does not carry messages.
    #[error("{0}")]
    Bus(#[from] BusError),
    /// An engine of this process does not start.
    #[error("{0}")]
    Engine(#[from] EngineError),
    /// Fewer agents came than were asked for.
    #[error(
        "{joined} of {wanted} agents joined within {}{}: start `abx agent` on each machine, with \
         the same bus",
        seconds(.within), refusals(.refused)
    )]
    TooFew {
        joined: usize,
        /// How many were asked for.
        wanted: usize,
        /// How long they were waited for.
        within: Duration,
        /// Who was not wanted, and why.
        refused: Vec<String>,
    },
    /// The person stopped it while agents were waited for.
    #[error("stopped while waiting for agents")]
    Interrupted,
    /// Each agent needs a connection.
    #[error(
        "{agents} agents cannot share {connections} connection(s): give at least one for each \
         (`-c`), or use fewer agents"
    )]
    TooFewConnections {
        /// How many connections there are.
        connections: u32,
        agents: usize,
    },
    /// The address means another machine to each agent.
    #[error(
        "{agent} does not see the server at {address}: it is on another machine, where that \
         address is its own; give the server an address that both can reach"
    )]
    Loopback {
        agent: String,
        address: std::net::IpAddr,
    },
    /// A load that only one machine makes.
    #[error(
        "agents do not replay an access log, which is one schedule of this machine: leave \
         `--bus` or `--replay` out"
    )]
    Replay,
    /// An agent refuses what it is asked.
    #[error("{agent} refuses: {why}")]
    Refused { agent: String, why: String },
    /// An agent's engine cannot go on.
    #[error("{agent} cannot go on: {why}")]
    Failed {
        agent: String,
        /// Why not.
        why: String,
    },
    /// An agent is not there any more.
    #[error("{agent} was lost: {how}")]
    Lost { agent: String, how: String },
    /// An agent says what has no sense here.
    #[error("{agent} gave an answer that makes no sense: have the same version of abx everywhere")]
    Nonsense { agent: String },
}

fn seconds(span: &Duration) -> String {
    format!("{} s", span.as_secs_f64())
}

fn refusals(refused: &[String]) -> String {
    match refused {
        [] => String::new(),
        some => format!(" ({})", some.join("; ")),
    }
}
