//! How far all agents are, from how far each of them is.

use std::time::Duration;

use abx_engine::{AwaitedConnections, AwaitedResponses};

use crate::message::TaskProgress;

/// How far all agents are with their connections; `None` while none has told.
pub fn awaited_connections(all: &[TaskProgress]) -> Option<AwaitedConnections> {
    let each = all.iter().filter_map(|one| match one {
        TaskProgress::Opening {
            open,
            asked,
            silent_ns,
            at_most_ns,
        } => Some(AwaitedConnections {
            open: *open,
            asked: *asked,
            silent: Duration::from_nanos(*silent_ns),
            at_most: Duration::from_nanos(*at_most_ns),
        }),
        _ => None,
    });
    each.reduce(|one, other| AwaitedConnections {
        open: one.open + other.open,
        asked: one.asked + other.asked,
        silent: one.silent.min(other.silent),
        at_most: one.at_most.max(other.at_most),
    })
}

/// Whom all agents wait for; `None` while none has told.
pub fn awaited_responses(all: &[TaskProgress]) -> Option<AwaitedResponses> {
    let each = all.iter().filter_map(|one| match one {
        TaskProgress::Responses {
            connections,
            waited_ns,
            at_most_ns,
        } => Some(AwaitedResponses {
            connections: *connections,
            waited_ns: *waited_ns,
            at_most_ns: *at_most_ns,
        }),
        _ => None,
    });
    each.reduce(|one, other| AwaitedResponses {
        connections: one.connections + other.connections,
        waited_ns: one.waited_ns.max(other.waited_ns),
        at_most_ns: one.at_most_ns.max(other.at_most_ns),
    })
}
