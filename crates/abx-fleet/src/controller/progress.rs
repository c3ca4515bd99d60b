//! How far all agents are, from how far each of them is.

use std::time::Duration;

use abx_engine::{AwaitedConnections, AwaitedResponses};

use crate::message::TaskProgress;

/// How far all agents are with their connections; `None` while none has reported.
pub fn awaited_connections(task_progresses: &[TaskProgress]) -> Option<AwaitedConnections> {
    let each = task_progresses
        .iter()
        .filter_map(|progress| match progress {
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
    each.reduce(|awaited_connections, other| AwaitedConnections {
        open: awaited_connections.open + other.open,
        asked: awaited_connections.asked + other.asked,
        silent: awaited_connections.silent.min(other.silent),
        at_most: awaited_connections.at_most.max(other.at_most),
    })
}

/// The responses that all agents wait for; `None` while none has reported.
pub fn awaited_responses(task_progresses: &[TaskProgress]) -> Option<AwaitedResponses> {
    let each = task_progresses
        .iter()
        .filter_map(|progress| match progress {
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
    each.reduce(|awaited_responses, other| AwaitedResponses {
        connections: awaited_responses.connections + other.connections,
        waited_ns: awaited_responses.waited_ns.max(other.waited_ns),
        at_most_ns: awaited_responses.at_most_ns.max(other.at_most_ns),
    })
}
