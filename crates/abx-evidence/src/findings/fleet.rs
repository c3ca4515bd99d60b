//! What agents, which make the load together, did to a study.

use crate::record::finding::{Finding, Level};
use crate::record::finding_id::FindingId;
use crate::record::{AgentRecord, Measured};

/// With more late slices than one in so many the load was not the one that was asked for.
const LATE_ONE_IN: u64 = 10;

/// Agents that were lost, and those that were out of step with the others.
pub(super) fn of_fleet(record: &Measured) -> impl Iterator<Item = Finding> {
    let agents = record.fleet.iter().flat_map(|fleet| {
        let count = fleet.agents.len();
        fleet.agents.iter().map(move |agent| (agent, count))
    });
    agents.flat_map(|(agent, count)| {
        let found = [lost(agent, count), late(agent, count)];
        found.into_iter().flatten()
    })
}

fn lost(agent: &AgentRecord, count: usize) -> Option<Finding> {
    let how = agent.lost.as_ref()?;
    let AgentRecord { name, slot, .. } = agent;
    let message = format!(
        "agent {name} ({slot} of {count}) was lost: {how}; from then on the load was not the one \
         that was asked for"
    );
    Some(Finding::new(FindingId::AgentLost, message))
}

fn late(agent: &AgentRecord, count: usize) -> Option<Finding> {
    let AgentRecord {
        name,
        slot,
        slices,
        late_slices,
        ..
    } = agent;
    if *late_slices == 0 {
        return None;
    }
    let level = match *late_slices * LATE_ONE_IN > *slices {
        true => Level::Void,
        false => Level::Note,
    };
    let message = format!(
        "agent {name} ({slot} of {count}) missed more than a tenth of {late_slices} of {slices} \
         slices: it began up to {:.1} ms after the others",
        agent.late_ns_max as f64 / 1e6,
    );
    Some(Finding::new(FindingId::AgentLate, message).at(level))
}
