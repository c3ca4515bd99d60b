//! The progress of all agents together.

use std::time::Duration;

use abx_engine::{AwaitedConnections, AwaitedResponses};

use crate::message::TaskProgress;

/// The connections that all agents wait for; `None` while no agent has reported.
pub fn awaited_connections(progress: &[TaskProgress]) -> Option<AwaitedConnections> {
    let awaited = progress.iter().filter_map(|progress| match progress {
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
    awaited.reduce(|sum, next| AwaitedConnections {
        open: sum.open + next.open,
        asked: sum.asked + next.asked,
        silent: sum.silent.min(next.silent),
        at_most: sum.at_most.max(next.at_most),
    })
}

/// The responses that all agents wait for; `None` while no agent has reported.
pub fn awaited_responses(progress: &[TaskProgress]) -> Option<AwaitedResponses> {
    let awaited = progress.iter().filter_map(|progress| match progress {
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
    awaited.reduce(|sum, next| AwaitedResponses {
        connections: sum.connections + next.connections,
        waited_ns: sum.waited_ns.max(next.waited_ns),
        at_most_ns: sum.at_most_ns.max(next.at_most_ns),
    })
}
