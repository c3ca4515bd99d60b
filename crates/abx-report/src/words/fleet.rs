//! The agents that made the load.

use abx_evidence::record::{AgentRecord, FleetRecord};

use crate::words::units::count;
use crate::words::verdict::name;
use crate::words::wrap::clean_name;

/// The agents, their bus, and the bound of their clocks.
pub(crate) fn agents(fleet: &FleetRecord) -> String {
    let agent_name = |agent: &AgentRecord| match agent.lost {
        Some(_) => format!("{} (lost)", name(&agent.name)),
        None => name(&agent.name),
    };
    let names: Vec<String> = fleet.agents.iter().map(agent_name).collect();
    let version = fleet.bus_version.as_deref().unwrap_or_default();
    let bus = format!("{} {version}", fleet.bus);
    let bounds_ns = fleet.agents.iter().map(|agent| agent.clock_bound_ns);
    let state = match (fleet.partial, fleet.collected) {
        (true, true) => "; partial, and collected from what they had saved",
        (true, false) => "; partial",
        (false, true) => "; collected from what they had saved",
        (false, false) => "",
    };
    format!(
        "{} over {}, clocks known to within {} µs{state}",
        names.join(", "),
        clean_name(bus.trim_end()),
        count(bounds_ns.max().unwrap_or_default().div_ceil(1_000))
    )
}
