//! The agents that made the load.

use abx_evidence::record::{AgentRecord, FleetRecord};

use crate::words::units::count;
use crate::words::verdict::name;
use crate::words::wrap::clean_name;

/// Which agents there were, over which bus, and how well their clocks were known.
pub(crate) fn agents(fleet: &FleetRecord) -> String {
    let called = |agent: &AgentRecord| match agent.lost {
        Some(_) => format!("{} (lost)", name(&agent.name)),
        None => name(&agent.name),
    };
    let names: Vec<String> = fleet.agents.iter().map(called).collect();
    let version = fleet.bus_version.as_deref().unwrap_or_default();
    let bus = format!("{} {version}", fleet.bus);
    let bounds = fleet
        .agents
        .iter()
        .map(|agent: &AgentRecord| agent.clock_bound_ns);
    let what = match (fleet.partial, fleet.collected) {
        (true, true) => "; partial, and collected from what they had saved",
        (true, false) => "; partial",
        (false, true) => "; collected from what they had saved",
        (false, false) => "",
    };
    format!(
        "{} over {}, clocks known within {} µs{what}",
        names.join(", "),
        clean_name(bus.trim_end()),
        count(bounds.max().unwrap_or_default().div_ceil(1_000))
    )
}
