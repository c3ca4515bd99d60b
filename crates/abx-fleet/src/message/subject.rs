//! Subjects: where on the bus each thing is said.
//!
//! Each has the address of the agent that speaks there or is spoken to, `USER.ID`: whom the
//! bus knows it as, and what tells it from all other processes. So a bus that knows its users
//! can hold each of them to its own subjects, and whoever hears one knows who has spoken. In
//! the place of a word may stand `*`, for any.

/// Where an agent asks for a slot.
pub fn join_subject(agent: &str) -> String {
    format!("abx.v1.join.{agent}")
}

/// Where an agent is given orders.
pub fn agent_subject(agent: &str) -> String {
    format!("abx.v1.agent.{agent}")
}

/// Where a controller speaks to all agents of a run.
pub fn control_subject(run: &str) -> String {
    format!("abx.v1.run.{run}.control")
}

/// Where an agent says that it is there.
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
