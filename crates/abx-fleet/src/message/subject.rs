//! Subjects: the address on the bus of each kind of message.
//!
//! Each has the address of the agent that sends or receives there, `USER.ID`: the user as which the
//! bus knows it, and the id that distinguishes it from all other processes. So a bus that knows its
//! users can limit each of them to its own subjects, and the receiver of a message knows its
//! sender. `*` may stand in the place of a word, for any.

/// Where an agent requests a slot.
pub fn join_subject(agent: &str) -> String {
    format!("abx.v1.join.{agent}")
}

/// Where an agent is given orders.
pub fn agent_subject(agent: &str) -> String {
    format!("abx.v1.agent.{agent}")
}

/// Where a controller publishes to all agents of a run.
pub fn control_subject(run: &str) -> String {
    format!("abx.v1.run.{run}.control")
}

/// Where an agent reports that it is alive.
pub fn beat_subject(run: &str, agent: &str) -> String {
    format!("abx.v1.run.{run}.beat.{agent}")
}

/// The address of an agent.
pub fn address(user: &str, id: &str) -> String {
    format!("{user}.{id}")
}

/// The addresses of all agents.
pub const ALL_AGENTS: &str = "*.*";

/// In the place of a run: all of them.
pub const ALL_RUNS: &str = "*";
