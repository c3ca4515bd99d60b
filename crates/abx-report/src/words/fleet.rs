//! The agents that made the load.

use abx_evidence::record::{AgentRecord, FleetRecord};

use super::units::count;
use super::verdict::name;
use super::wrap::clean_name;

/// Who they were, over which bus, and how well their clocks were known.
pub(crate) fn agents(fleet: &FleetRecord) -> String {
    let names: Vec<String> = { fleet.agents.iter() }
        .map(|agent| name(&agent.name))
        .collect();
    let version = fleet.bus_version.as_deref().unwrap_or_default();
    let bus = format!("{} {version}", fleet.bus);
    let bounds = fleet
        .agents
        .iter()
        .map(|agent: &AgentRecord| agent.clock_bound_ns);
    format!(
        "{} over {}, clocks known within {} µs",
        names.join(", "),
        clean_name(bus.trim_end()),
        count(bounds.max().unwrap_or_default().div_ceil(1_000))
    )
}
