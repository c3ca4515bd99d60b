//! Subjects: the address on the bus of each kind of message.
//!
//! Subjects of agents contain the agent's address, `USER.ID`: its user on the bus, and an id that
//! is unique among all processes. A bus with authentication can therefore limit each user to its
//! own subjects, and the receiver of a message knows its sender. `*` matches any single word.

/// The subject on which an agent requests a slot.
pub fn join_subject(agent: &str) -> String {
    format!("abx.v1.join.{agent}")
}

/// The subject on which an agent receives orders.
pub fn agent_subject(agent: &str) -> String {
    format!("abx.v1.agent.{agent}")
}

/// The subject on which a controller publishes to all agents of a run.
pub fn control_subject(run: &str) -> String {
    format!("abx.v1.run.{run}.control")
}

/// The subject on which an agent reports that it is alive.
pub fn beat_subject(run: &str, agent: &str) -> String {
    format!("abx.v1.run.{run}.beat.{agent}")
}

/// The address of an agent.
pub fn address(user: &str, id: &str) -> String {
    format!("{user}.{id}")
}

/// Matches the addresses of all agents.
pub const ALL_AGENTS: &str = "*.*";

/// Matches all runs.
pub const ALL_RUNS: &str = "*";
