//! What connections carry: the shape of a load, and which of a load's keys mean
//! something for it.

use std::time::Duration;

use abx_engine::{LoadPlan, MessagePlan};
use abx_evidence::{LoadShape, Message, MessageKind};

/// The payload of a message when nothing else is said, in bytes: as long as the
/// page of the built-in server.
pub const MESSAGE_BYTES: u32 = 87;
/// The longest payload that can be asked for, in bytes.
pub const MESSAGE_BYTES_MAX: u32 = 16 << 20;
/// The shortest payload of a broadcast, in bytes: it carries its number.
pub const BROADCAST_BYTES_MIN: u32 = 16;
/// How long connections are held when nothing else is said.
pub const HOLD: Duration = Duration::from_secs(1);
/// The status that opens a WebSocket.
pub const SWITCHED: u16 = 101;

/// What connections carry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shape {
    /// Requests and answers of HTTP.
    #[default]
    Request,
    /// WebSocket messages, each of which its connection gets back.
    Echo(MessagePlan),
    /// WebSocket messages of one connection, each of which all get.
    Broadcast(MessagePlan),
    /// Nothing: WebSocket connections that are held for so long.
    Connections(Duration),
}

impl Shape {
    /// This kind of load with its message, or its time.
    #[must_use]
    pub fn of(kind: LoadShape, message: MessagePlan, hold: Duration) -> Shape {
        match kind {
            LoadShape::Request => Shape::Request,
            LoadShape::Echo => Shape::Echo(message),
            LoadShape::Broadcast => Shape::Broadcast(message),
            LoadShape::Connections => Shape::Connections(hold),
        }
    }

    /// Which kind it is, for the record.
    #[must_use]
    pub fn kind(self) -> LoadShape {
        match self {
            Shape::Request => LoadShape::Request,
            Shape::Echo(_) => LoadShape::Echo,
            Shape::Broadcast(_) => LoadShape::Broadcast,
            Shape::Connections(_) => LoadShape::Connections,
        }
    }

    /// Whether it speaks WebSocket.
    #[must_use]
    pub fn is_websocket(self) -> bool {
        self != Shape::Request
    }

    /// What the engine makes of it.
    #[must_use]
    pub fn plan(self) -> abx_engine::Shape {
        match self {
            Shape::Request => abx_engine::Shape::Request,
            Shape::Echo(message) => abx_engine::Shape::Echo(message),
            Shape::Broadcast(message) => abx_engine::Shape::Broadcast(message),
            Shape::Connections(_) => abx_engine::Shape::Hold,
        }
    }

    /// What the record says of its message; `None` when it has none.
    #[must_use]
    pub fn message(self) -> Option<Message> {
        match self {
            Shape::Echo(plan) | Shape::Broadcast(plan) => Some(Message {
                bytes: plan.bytes,
                kind: match plan.is_text {
                    true => MessageKind::Text,
                    false => MessageKind::Binary,
                },
            }),
            Shape::Request | Shape::Connections(_) => None,
        }
    }

    /// For how long its connections say nothing; `None` when they do.
    #[must_use]
    pub fn hold(self) -> Option<Duration> {
        match self {
            Shape::Connections(hold) => Some(hold),
            _ => None,
        }
    }
}

/// How many connections of a plan send.
#[must_use]
pub fn senders(plan: &LoadPlan) -> u32 {
    match plan.shape {
        abx_engine::Shape::Request | abx_engine::Shape::Echo(_) => plan.connections,
        abx_engine::Shape::Broadcast(_) => 1,
        abx_engine::Shape::Hold => 0,
    }
}

/// Whether messages of this length can be sent in loads of this shape.
#[must_use]
pub fn is_long_enough(shape: LoadShape, bytes: u32) -> bool {
    shape != LoadShape::Broadcast || bytes >= BROADCAST_BYTES_MIN
}

/// Whether a key of a load says something of loads of this shape: as a study file
/// names it, and `connection_stages`, which only a run has. Where a key says nothing, it is refused rather than passed over.
#[must_use]
pub fn suits(shape: LoadShape, key: &str) -> bool {
    let is_sent = shape != LoadShape::Connections;
    let is_answered = matches!(shape, LoadShape::Request | LoadShape::Echo);
    match key {
        "think" | "calls" | "cold_cache" | "protocol" | "keep_alive" | "expect"
        | "expect.status" | "expect.body" | "requests.method" | "requests.body"
        | "requests.count" | "requests.weight" => shape == LoadShape::Request,
        "message" => is_sent && shape != LoadShape::Request,
        "hold" => !is_sent,
        "rate" | "slo" | "arrivals" | "pipeline" => is_sent,
        "verify_every" | "connection_stages" => is_answered,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_for_the_shapes_that_they_say_something_of() {
        // Method: for each key the shapes that take it, in their order.
        let all = [
            LoadShape::Request,
            LoadShape::Echo,
            LoadShape::Broadcast,
            LoadShape::Connections,
        ];
        let takers = |key| all.map(|shape| u8::from(suits(shape, key)));
        assert_eq!(takers("keep_alive"), [1, 0, 0, 0]);
        assert_eq!(takers("message"), [0, 1, 1, 0]);
        assert_eq!(takers("hold"), [0, 0, 0, 1]);
        assert_eq!(takers("rate"), [1, 1, 1, 0]);
        assert_eq!(takers("pipeline"), [1, 1, 1, 0]);
        assert_eq!(takers("verify_every"), [1, 1, 0, 0]);
        assert_eq!(takers("connections"), [1, 1, 1, 1]);
    }
}
